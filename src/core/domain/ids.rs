//! Names of things, valid by their type: parsed where they come in, trusted inside.

use crate::core::domain::timestamp::Timestamp;
use std::fmt;
use uuid::Uuid;

/// Why a text is not an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 64 of A-Z a-z 0-9 _ . - and not dots alone")]
pub struct BadId;

macro_rules! outside_id {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Box<str>);

        impl $name {
            /// # Errors
            /// Anything but `[A-Za-z0-9_.-]{1,64}`, or dots alone (which a URL path would swallow).
            pub fn parse(text: &str) -> Result<Self, BadId> {
                let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
                let valid = (1..=64).contains(&text.len())
                    && text.bytes().all(allowed)
                    && text.bytes().any(|b| b != b'.');
                if valid { Ok(Self(text.into())) } else { Err(BadId) }
            }

            /// As it came.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

outside_id!(CustomerId, "Whose order it is: the shop's word.");
outside_id!(ProductId, "The catalog's word for a product.");

/// Crockford's, which has no letter that a person takes for another.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A UUID version 7, so that newer orders sort after older ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrderId(Uuid);

impl OrderId {
    /// From the moment of placing and 74 random bits.
    #[must_use]
    pub fn new(now: Timestamp, random: u128) -> Self {
        let millis = u64::try_from(now.micros() / 1_000).unwrap_or(0);
        let bytes = random.to_be_bytes();
        let tail = [
            bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
            bytes[8], bytes[9],
        ];
        Self(uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid())
    }

    /// `None` unless it is written as we write it: hyphenated, in small letters.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let id = Uuid::try_parse(text).ok()?;
        (id.hyphenated().to_string() == text).then_some(Self(id))
    }

    /// Of an id that a database has.
    #[must_use]
    pub const fn from_uuid(id: Uuid) -> Self {
        Self(id)
    }

    /// For a database.
    #[must_use]
    pub const fn uuid(self) -> Uuid {
        self.0
    }

    /// 26 characters of Crockford's base 32: what fits into a provider's order number.
    #[must_use]
    pub fn to_base32(self) -> String {
        let bits = self.0.as_u128();
        (0..26u32)
            .rev()
            .map(|place| {
                let digit = (bits >> (place * 5)) & 31;
                char::from(ALPHABET[usize::try_from(digit).expect("five bits")])
            })
            .collect()
    }

    /// The id that [`Self::to_base32`] wrote so, and in no other spelling.
    #[must_use]
    pub fn from_base32(text: &str) -> Option<Self> {
        let digit = |byte| ALPHABET.iter().position(|known| *known == byte);
        let bits = text.bytes().try_fold(0_u128, |bits, byte| {
            bits.checked_mul(32)?.checked_add(u128::try_from(digit(byte)?).ok()?)
        })?;
        let id = Self(Uuid::from_u128(bits));
        (id.to_base32() == text).then_some(id)
    }
}

impl fmt::Display for OrderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// An order's event: the same in every list and at every delivery of it. A webhook signs it beside other things, with
/// full stops between them, so that it has none itself (Standard Webhooks, "Signature scheme").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventId {
    /// Whose event it is.
    pub order: OrderId,
    /// 1 for the order's first.
    pub sequence: u64,
}

impl EventId {
    /// `None` unless it is written as we write it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (order, sequence) = text.split_once('_')?;
        let id = Self { order: OrderId::parse(order)?, sequence: sequence.parse().ok()? };
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.order, self.sequence)
    }
}

/// Where a shop wants to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WebhookEndpointId(Uuid);

impl WebhookEndpointId {
    /// From 128 random bits.
    #[must_use]
    pub fn new(random: u128) -> Self {
        Self(uuid::Builder::from_random_bytes(random.to_be_bytes()).into_uuid())
    }

    /// `None` unless it is written as we write it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let id = Uuid::try_parse(text).ok()?;
        (id.to_string() == text).then_some(Self(id))
    }

    /// For a database.
    #[must_use]
    pub const fn uuid(self) -> Uuid {
        self.0
    }

    /// Of an id that a database has.
    #[must_use]
    pub const fn from_uuid(id: Uuid) -> Self {
        Self(id)
    }
}

impl fmt::Display for WebhookEndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A random integer below 2^53: exact in every JSON client, and not guessable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(i64);

impl TaskId {
    /// From at least 53 random bits.
    #[must_use]
    pub fn new(random: u128) -> Self {
        let id = i64::try_from(random & ((1 << 53) - 1)).expect("53 bits");
        Self(id.max(1))
    }

    /// `None` outside 1 to 2^53 - 1.
    #[must_use]
    pub const fn from_i64(id: i64) -> Option<Self> {
        if id >= 1 && id < (1 << 53) { Some(Self(id)) } else { None }
    }

    /// For a database and for JSON.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Proof that a lease is still held: new at every claim, so that a holder who lost it cannot decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeaseToken(Uuid);

impl LeaseToken {
    /// From 128 random bits.
    #[must_use]
    pub const fn new(random: u128) -> Self {
        Self(Uuid::from_u128(random))
    }

    /// For a database.
    #[must_use]
    pub const fn uuid(self) -> Uuid {
        self.0
    }
}

/// Which instance of the service holds a lease.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InstanceId(Box<str>);

impl InstanceId {
    /// `INSTANCE_ID`, or the host's name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// For rows, logs and metrics.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_from_outside_are_bounded_and_cannot_climb_a_path() {
        assert!(ProductId::parse("p-1_A.z").is_ok());
        assert!(ProductId::parse("...a").is_ok());
        for bad in ["", ".", "..", "a/b", "a b", "é", &"x".repeat(65)] {
            assert_eq!(ProductId::parse(bad), Err(BadId), "{bad}");
        }
    }

    #[test]
    fn an_order_id_has_one_spelling() {
        let id = OrderId::new(Timestamp::from_micros(1_764_500_000_000_000), 42 << 64);
        assert_eq!(OrderId::parse(&id.to_string()), Some(id));
        assert_eq!(OrderId::parse(&id.to_string().to_uppercase()), None);
        assert_eq!(OrderId::parse(&id.uuid().simple().to_string()), None);
        assert_eq!(id.uuid().get_version_num(), 7);
    }

    #[test]
    fn an_events_id_has_one_spelling_and_no_full_stop() {
        let order = OrderId::new(Timestamp::from_micros(1_764_500_000_000_000), 42 << 64);
        let id = EventId { order, sequence: 7 };
        assert_eq!(id.to_string(), format!("{order}_7"));
        assert_eq!(EventId::parse(&id.to_string()), Some(id));
        for other in [
            format!("{order}.7"),
            format!("{order}_07"),
            format!("{order}_+7"),
            format!("{order}_"),
        ] {
            assert_eq!(EventId::parse(&other), None, "{other}");
        }
    }

    #[test]
    fn base32_keeps_all_bits() {
        let id = OrderId::from_uuid(Uuid::from_u128(u128::MAX));
        assert_eq!(id.to_base32(), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
        for id in [id, OrderId::from_uuid(Uuid::from_u128(0x0190_1234_5678_7abc_8def_0123))] {
            assert_eq!(OrderId::from_base32(&id.to_base32()), Some(id));
        }
        for other in ["", "7", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "7zzzzzzzzzzzzzzzzzzzzzzzzz"] {
            assert_eq!(OrderId::from_base32(other), None, "{other}");
        }
        let long = format!("0{}", id.to_base32());
        assert_eq!(OrderId::from_base32(&long), None);
    }

    #[test]
    fn a_task_id_is_exact_in_a_double() {
        assert_eq!(TaskId::new(u128::MAX).get(), (1 << 53) - 1);
        assert_eq!(TaskId::new(0).get(), 1);
        assert_eq!(TaskId::from_i64(1 << 53), None);
        assert_eq!(TaskId::from_i64(0), None);
    }
}
