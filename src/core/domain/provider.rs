//! The payment systems, and the numbers by which they know an order.

use crate::core::domain::ids::OrderId;
use std::fmt;

/// Writes a payment system down once, so that nothing that goes through [`Provider::ALL`] can forget it.
macro_rules! payment_systems {
    ($($(#[$doc:meta])* $variant:ident $profile:tt)+) => {
        /// A payment system. Its row in this file is all that the rest of the service is told of it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Provider {
            $($(#[$doc])* $variant),+
        }

        impl Provider {
            /// All of them, in the order of their rows.
            pub const ALL: [Self; [$(stringify!($variant)),+].len()] = [$(Self::$variant),+];

            /// Its row.
            #[must_use]
            pub const fn profile(self) -> &'static Profile {
                match self {
                    $(Self::$variant => &Profile $profile),+
                }
            }
        }
    };
}

payment_systems! {
    /// The bank's acquiring, in either of its two protocols.
    Sber {
        word: "sber",
        name: "Sber",
        webhook: Webhook { by_get: true, signature: None, receipt: "" },
    }
    /// The aggregator: one protocol, idempotency keys, signed callbacks.
    OdnaKassa {
        word: "odnakassa",
        name: "OdnaKassa",
        webhook: Webhook { by_get: false, signature: Some("OdnaKassa-Signature"), receipt: "" },
    }
}

/// What is fixed about a payment system, whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// The one word for rows, variables (`SBER_…`), labels and routes. Released, it is never changed.
    pub word: &'static str,
    /// As people write it.
    pub name: &'static str,
    /// How it tells us of news.
    pub webhook: Webhook,
}

/// How it tells us that something has happened: at `/v1/webhooks/{word}`, by POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Webhook {
    /// By GET, too.
    pub by_get: bool,
    /// The header with its signature, where that is not in the request itself.
    pub signature: Option<&'static str>,
    /// The body beside a 200 without which it would send the same again.
    pub receipt: &'static str,
}

impl Provider {
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.profile().word
    }

    /// By its word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.as_str() == word)
    }
}

/// Payment systems in order of preference: at least one, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preference {
    first: Provider,
    others: Vec<Provider>,
}

impl Preference {
    /// `None` for nobody, or for somebody named twice.
    #[must_use]
    pub fn new(providers: impl IntoIterator<Item = Provider>) -> Option<Self> {
        let mut others = providers.into_iter();
        let mut preference = Self { first: others.next()?, others: Vec::new() };
        for provider in others {
            if preference.contains(provider) {
                return None;
            }
            preference.others.push(provider);
        }
        Some(preference)
    }

    /// Who is asked before all others.
    #[must_use]
    pub const fn first(&self) -> Provider {
        self.first
    }

    /// In order of preference.
    pub fn iter(&self) -> impl Iterator<Item = Provider> + '_ {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// Whether it is used at all.
    #[must_use]
    pub fn contains(&self, provider: Provider) -> bool {
        self.iter().any(|preferred| preferred == provider)
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The order's number at a provider: prefix, order id in base 32, `-`, two digits of the sequence.
/// At most 32 of `[A-Z0-9-]`, unique per provider for ever, never reused for another meaning.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProviderNumber(Box<str>);

impl ProviderNumber {
    /// The number of a registration of an order: the same each time it is asked for.
    #[must_use]
    pub fn new(prefix: &str, order: OrderId, sequence: u8) -> Self {
        Self(format!("{prefix}{}-{sequence:02}", order.to_base32()).into())
    }

    /// A number as a provider tells it: only ever compared with ours.
    #[must_use]
    pub fn told(text: &str) -> Self {
        Self(text.into())
    }

    /// As the provider is told it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The order and the sequence that [`Self::new`] makes this number of; `None` for any other number.
    #[must_use]
    pub fn derived_from(&self, prefix: &str) -> Option<(OrderId, u8)> {
        let (order, sequence) = self.0.strip_prefix(prefix)?.split_once('-')?;
        let (order, sequence) = (OrderId::from_base32(order)?, sequence.parse().ok()?);
        let is_ours = (1..=99).contains(&sequence) && Self::new(prefix, order, sequence) == *self;
        is_ours.then_some((order, sequence))
    }
}

impl fmt::Display for ProviderNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::domain::unavailable::System;

    /// The word stands in rows, in the names of variables and series, and in paths.
    #[test]
    fn a_word_is_of_small_letters_and_nobody_elses() {
        for provider in Provider::ALL {
            let word = provider.as_str();
            assert!(!word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase()), "{word}");
            assert_eq!(Provider::parse(word), Some(provider));
            let systems = System::ALL.into_iter().filter(|system| system.as_str() == word);
            assert!(systems.eq([provider.into()]), "{word}");
        }
        assert_eq!(Provider::parse("Sber"), None);
    }

    #[test]
    fn a_preference_names_somebody_and_nobody_twice() {
        let [first, second] = [Provider::Sber, Provider::OdnaKassa];
        assert_eq!(Preference::new([]), None);
        assert_eq!(Preference::new([first, second, first]), None);
        let preference = Preference::new([second, first]).unwrap();
        assert_eq!(preference.first(), second);
        assert!(preference.iter().eq([second, first]));
    }

    #[test]
    fn a_number_fits_every_provider() {
        let id = OrderId::from_uuid(uuid::Uuid::from_u128(u128::MAX));
        let number = ProviderNumber::new("STG", id, 99);
        assert_eq!(number.as_str(), "STG7ZZZZZZZZZZZZZZZZZZZZZZZZZ-99");
        assert_eq!(number.as_str().len(), 32);
    }

    #[test]
    fn a_number_leads_back_to_its_order_and_no_other_text_does() {
        let id = OrderId::from_uuid(uuid::Uuid::from_u128(0x0190_1234_5678_7abc_8def_0123));
        for (prefix, sequence) in [("", 1), ("T", 7), ("STG", 99)] {
            let number = ProviderNumber::new(prefix, id, sequence);
            assert_eq!(number.derived_from(prefix), Some((id, sequence)));
            assert_eq!(number.derived_from("X"), None, "another environment's");
        }
        let id = id.to_base32();
        for told in [
            format!("{id}-00"),
            format!("{id}-1"),
            format!("{id}-001"),
            format!("{id}-+1"),
            format!("{id}-01-01"),
            id.clone(),
            format!("{}-01", id.to_lowercase()),
            "-01".to_owned(),
        ] {
            assert_eq!(ProviderNumber::told(&told).derived_from(""), None, "{told}");
        }
    }
}
