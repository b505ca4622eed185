//! The payment systems, and the numbers by which they know an order.

use crate::core::domain::ids::OrderId;
use crate::core::domain::unavailable::System;
use std::fmt;

/// A payment system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Provider {
    Sber,
    OdnaKassa,
}

impl Provider {
    pub const ALL: [Self; 2] = [Self::Sber, Self::OdnaKassa];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sber => "sber",
            Self::OdnaKassa => "odnakassa",
        }
    }

    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.as_str() == word)
    }
}

impl From<Provider> for System {
    fn from(provider: Provider) -> Self {
        match provider {
            Provider::Sber => Self::Sber,
            Provider::OdnaKassa => Self::OdnaKassa,
        }
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
    #[must_use]
    pub fn new(prefix: &str, order: OrderId, sequence: u8) -> Self {
        Self(format!("{prefix}{}-{sequence:02}", order.to_base32()).into())
    }

    /// A number as a provider tells it: only ever compared with ours.
    #[must_use]
    pub fn told(text: &str) -> Self {
        Self(text.into())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
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

    #[test]
    fn a_number_fits_every_provider() {
        let id = OrderId::from_uuid(uuid::Uuid::from_u128(u128::MAX));
        let number = ProviderNumber::new("STG", id, 99);
        assert_eq!(number.as_str(), "STG7ZZZZZZZZZZZZZZZZZZZZZZZZZ-99");
        assert_eq!(number.as_str().len(), 32);
    }
}
