//! Money: whole minor units and a currency, checked at every step. Never a float.

use std::fmt;

/// An ISO 4217 alphabetic code.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    /// Roubles; a minor unit is a kopeck.
    pub const RUB: Self = Self(*b"RUB");

    /// # Errors
    /// Anything but three capital Latin letters.
    pub fn parse(code: &str) -> Result<Self, MoneyError> {
        match code.as_bytes() {
            &[a, b, c] if [a, b, c].iter().all(u8::is_ascii_uppercase) => Ok(Self([a, b, c])),
            _ => Err(MoneyError::BadCurrency),
        }
    }

    /// Three capital letters.
    #[must_use]
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).expect("only capital Latin letters are let in")
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// An amount that is not negative, in minor units (kopecks).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Money {
    minor: i64,
    currency: Currency,
}

/// Why an amount is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// The text is not three capital Latin letters.
    #[error("not an ISO 4217 code")]
    BadCurrency,
    /// Less than nothing.
    #[error("negative amount")]
    Negative,
    /// Kopecks and cents were to be added.
    #[error("amounts in different currencies")]
    CurrencyMismatch,
    /// Beyond `i64`.
    #[error("amount out of range")]
    Overflow,
}

impl Money {
    /// # Errors
    /// A negative amount.
    pub const fn new(minor: i64, currency: Currency) -> Result<Self, MoneyError> {
        if minor < 0 { Err(MoneyError::Negative) } else { Ok(Self { minor, currency }) }
    }

    /// # Errors
    /// A negative amount.
    pub const fn rub(kopecks: i64) -> Result<Self, MoneyError> {
        Self::new(kopecks, Currency::RUB)
    }

    /// Nothing, of a currency.
    #[must_use]
    pub const fn zero(currency: Currency) -> Self {
        Self { minor: 0, currency }
    }

    /// Minor units: 19900 is 199 roubles.
    #[must_use]
    pub const fn minor(self) -> i64 {
        self.minor
    }

    /// Of what it is an amount.
    #[must_use]
    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// Whether it is nothing.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.minor == 0
    }

    /// # Errors
    /// Another currency, or a sum beyond `i64`.
    pub fn plus(self, other: Self) -> Result<Self, MoneyError> {
        self.same_currency(other)?;
        let minor = self.minor.checked_add(other.minor).ok_or(MoneyError::Overflow)?;
        Ok(Self { minor, ..self })
    }

    /// # Errors
    /// Another currency, or more taken than there is.
    pub fn minus(self, other: Self) -> Result<Self, MoneyError> {
        self.same_currency(other)?;
        Self::new(self.minor - other.minor, self.currency)
    }

    /// # Errors
    /// A product beyond `i64`.
    pub fn times(self, quantity: u32) -> Result<Self, MoneyError> {
        let minor = self.minor.checked_mul(i64::from(quantity)).ok_or(MoneyError::Overflow)?;
        Ok(Self { minor, ..self })
    }

    fn same_currency(self, other: Self) -> Result<(), MoneyError> {
        if self.currency == other.currency { Ok(()) } else { Err(MoneyError::CurrencyMismatch) }
    }
}

impl fmt::Debug for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.minor, self.currency.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn currencies_do_not_mix() {
        let usd = Money::new(1, Currency::parse("USD").unwrap()).unwrap();
        assert_eq!(Money::rub(1).unwrap().plus(usd), Err(MoneyError::CurrencyMismatch));
        assert_eq!(Currency::parse("rub"), Err(MoneyError::BadCurrency));
    }

    proptest! {
        #[test]
        fn arithmetic_is_exact_or_an_error(a in 0..=i64::MAX, b in 0..=i64::MAX, n in 0..=u32::MAX) {
            let (x, y) = (Money::rub(a).unwrap(), Money::rub(b).unwrap());
            prop_assert_eq!(x.plus(y).map(Money::minor).ok(), a.checked_add(b));
            prop_assert_eq!(x.times(n).map(Money::minor).ok(), a.checked_mul(i64::from(n)));
            prop_assert_eq!(x.minus(y).is_ok(), a >= b);
        }
    }
}
