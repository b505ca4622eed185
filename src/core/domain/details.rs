//! What a shop says of an order beside what was bought: nothing of it decides anything about money.

use std::collections::BTreeMap;
use std::fmt;

/// Pairs of metadata that an order may carry.
pub const MAX_METADATA: usize = 20;
/// Characters of a key of metadata.
pub const MAX_METADATA_KEY: usize = 40;
/// Characters of a value of metadata.
pub const MAX_METADATA_VALUE: usize = 255;
/// Characters of a description: what the strictest payment system takes.
pub const MAX_DESCRIPTION: usize = 128;

/// The shop's own number for an order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ExternalId(Box<str>);

impl ExternalId {
    /// `None` for anything but 1 to 64 visible ASCII characters: what fits into an address and a label.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        ((1..=64).contains(&text.len()) && visible).then(|| Self(text.into()))
    }

    /// As it came.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As it stands in an address: whatever could mean something else there is percent-encoded.
    #[must_use]
    pub fn percent_encoded(&self) -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let encoded = self.0.bytes().map(|byte| match byte {
            byte if plain(byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        });
        encoded.collect()
    }
}

/// An external id and who gave it: the same number of two shops names two orders.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ShopReference {
    /// The token's subject, or everybody where there are no tokens.
    pub owner: Box<str>,
    /// The shop's own number, one order for each.
    pub external_id: ExternalId,
}

/// Where a receipt goes. It is told to nobody but the payment system, and erased after
/// `BUYER_RETENTION`; so it has no `Debug` that shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Buyer {
    /// Where the receipt is mailed to.
    pub email: Option<Box<str>>,
    /// Where the receipt is sent to, in the form of E.164.
    pub phone: Option<Box<str>>,
}

impl Buyer {
    /// Whether it looks like an address that mail can be sent to; whether it exists only mail can tell.
    #[must_use]
    pub fn is_email(text: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"(),:;<>@[\\]".contains(&byte);
        let dotted = |name: &str| name.split('.').all(|label| !label.is_empty());
        text.len() <= 128
            && text.split_once('@').is_some_and(|(local, domain)| {
                let parts = !local.is_empty() && domain.contains('.') && dotted(domain);
                parts && local.bytes().chain(domain.bytes()).all(plain)
            })
    }

    /// 7 to 15 digits, with or without `+` before them (E.164).
    #[must_use]
    pub fn is_phone(text: &str) -> bool {
        let digits = text.strip_prefix('+').unwrap_or(text);
        (7..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    }
}

impl fmt::Debug for Buyer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Buyer(..)")
    }
}

/// The rate of value added tax in a price: the words of the receipt services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vat {
    /// Not subject to it.
    None,
    /// 0 %, as for exports: subject to it all the same.
    Zero,
    /// 5 %.
    Five,
    /// 7 %.
    Seven,
    /// 10 %.
    Ten,
    /// 20 %.
    Twenty,
    /// 22 %.
    TwentyTwo,
}

impl Vat {
    /// From none to the highest.
    pub const ALL: [Self; 7] =
        [Self::None, Self::Zero, Self::Five, Self::Seven, Self::Ten, Self::Twenty, Self::TwentyTwo];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zero => "vat0",
            Self::Five => "vat5",
            Self::Seven => "vat7",
            Self::Ten => "vat10",
            Self::Twenty => "vat20",
            Self::TwentyTwo => "vat22",
        }
    }

    /// By its word; `None` for one that this version does not know.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|vat| vat.as_str() == word)
    }
}

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderDetails {
    /// The shop's own number, with who gave it.
    pub reference: Option<ShopReference>,
    /// What the payer reads on the payment system's page.
    pub description: Option<Box<str>>,
    /// The shop's own words, given back as they came.
    pub metadata: BTreeMap<String, String>,
    /// Where the receipt goes, until it is erased.
    pub buyer: Option<Buyer>,
}

impl OrderDetails {
    /// The shop's own number.
    #[must_use]
    pub fn external_id(&self) -> Option<&ExternalId> {
        self.reference.as_ref().map(|reference| &reference.external_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_external_id_is_short_and_visible() {
        for good in ["1001", "A-2024/15#2", &"x".repeat(64)] {
            assert!(ExternalId::parse(good).is_some(), "{good}");
        }
        for bad in ["", "a b", "№1", "a\n", &"x".repeat(65)] {
            assert!(ExternalId::parse(bad).is_none(), "{bad}");
        }
        let encoded = ExternalId::parse("A-1/2?x=%").unwrap().percent_encoded();
        assert_eq!(encoded, "A-1%2F2%3Fx%3D%25");
    }

    #[test]
    fn what_looks_like_an_address_is_one() {
        for good in ["a@b.ru", "first.last+tag@mail.example.com"] {
            assert!(Buyer::is_email(good), "{good}");
        }
        let long = format!("{}@b.ru", "x".repeat(128));
        for bad in
            ["", "a", "a@b", "@b.ru", "a@", "a@b..ru", "a@.ru", "a b@c.ru", "a@b@c.ru", &long]
        {
            assert!(!Buyer::is_email(bad), "{bad}");
        }
        for good in ["+79991234567", "79991234567", "1234567"] {
            assert!(Buyer::is_phone(good), "{good}");
        }
        for bad in ["", "+", "123456", "8 999 123-45-67", "++79991234567", "1234567890123456"] {
            assert!(!Buyer::is_phone(bad), "{bad}");
        }
    }

    #[test]
    fn who_buys_is_not_shown_by_debug() {
        let buyer = Buyer { email: Some("a@b.ru".into()), phone: Some("+79991234567".into()) };
        let details = OrderDetails { buyer: Some(buyer), ..OrderDetails::default() };
        let shown = format!("{details:?}");
        assert!(shown.contains("Buyer(..)") && !shown.contains("a@b") && !shown.contains("7999"));
    }
}
