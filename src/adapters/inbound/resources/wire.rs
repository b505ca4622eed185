//! How values are written in replies: money, times, and the words of the closed sets, whose schemas
//! are made from the core's own lists.

use crate::core::domain::money::Money;
use crate::core::domain::order::OrderStatus;
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::order_event::OrderEvent;
use crate::core::payment::refund::RefundOrigin;
use crate::core::payment::task::{Reason, TaskKind, TaskState};
use serde::{Serialize, Serializer};
use std::fmt;
use utoipa::openapi::schema::{KnownFormat, SchemaType, Type};
use utoipa::openapi::{ObjectBuilder, Schema, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

/// An amount in minor units (kopecks) with its ISO 4217 code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoneyBody(pub Money);

#[derive(Serialize, ToSchema)]
#[schema(as = Money)]
struct MoneyFields<'a> {
    /// Minor units: 19900 is 199 roubles.
    #[schema(example = 19900, minimum = 0)]
    amount: i64,
    /// ISO 4217.
    #[schema(example = "RUB")]
    currency: &'a str,
}

impl Serialize for MoneyBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let currency = self.0.currency();
        let fields = MoneyFields { amount: self.0.minor(), currency: currency.code() };
        fields.serialize(serializer)
    }
}

impl PartialSchema for MoneyBody {
    fn schema() -> utoipa::openapi::RefOr<Schema> {
        MoneyFields::schema()
    }
}

impl ToSchema for MoneyBody {
    fn name() -> std::borrow::Cow<'static, str> {
        "Money".into()
    }
}

/// RFC 3339, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimestampBody(pub Timestamp);

impl Serialize for TimestampBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_rfc3339())
    }
}

impl PartialSchema for TimestampBody {
    fn schema() -> utoipa::openapi::RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::new(Type::String))
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .examples(["2026-11-30T10:53:20.123456Z"])
            .into()
    }
}

impl ToSchema for TimestampBody {
    fn name() -> std::borrow::Cow<'static, str> {
        "Moment".into()
    }
}

/// An id, as it is written everywhere.
pub fn as_text<T: fmt::Display, S: Serializer>(id: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

/// A schema of one of these words.
fn one_of<const N: usize>(words: [&'static str; N]) -> Schema {
    let object = ObjectBuilder::new().schema_type(SchemaType::new(Type::String));
    object.enum_values(Some(words)).into()
}

pub fn provider_schema() -> Schema {
    one_of(Provider::ALL.map(Provider::as_str))
}

pub fn order_status_schema() -> Schema {
    one_of(OrderStatus::ALL.map(OrderStatus::as_str))
}

pub fn task_kind_schema() -> Schema {
    one_of(TaskKind::ALL.map(TaskKind::as_str))
}

pub fn task_status_schema() -> Schema {
    one_of(TaskState::ALL.map(TaskState::as_str))
}

pub fn reason_schema() -> Schema {
    let object =
        ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::String, Type::Null]));
    let words = Reason::ALL.map(|reason| Some(reason.as_str()));
    object.enum_values(Some(words.into_iter().chain([None]))).into()
}

pub fn refund_reason_schema() -> Schema {
    one_of(RefundOrigin::ALL.map(RefundOrigin::as_str))
}

pub fn refund_state_schema() -> Schema {
    one_of(["pending", "succeeded", "failed", "cancelled", "review"])
}

pub fn event_type_schema() -> Schema {
    one_of(OrderEvent::ALL.map(OrderEvent::as_str))
}

pub fn payment_status_schema() -> Schema {
    one_of(["registered", "paid", "refunded", "declined", "expired", "cancelled"])
}
