//! An order as the API shows it.

use crate::adapters::inbound::resources::wire::{
    MoneyBody, TimestampBody, as_text, order_status_schema, payment_status_schema, provider_schema,
};
use crate::core::domain::details::{ExternalId, Vat};
use crate::core::domain::ids::{CustomerId, OrderId};
use crate::core::domain::order::{Item, Order};
use crate::core::payment::OrderAggregate;
use crate::core::payment::registration::{Ending, Registration, RegistrationState};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Order)]
pub struct OrderBody<'a> {
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = uuid::Uuid)]
    id: OrderId,
    /// Null for a guest.
    #[schema(required, example = "c-42")]
    customer_id: Option<&'a str>,
    /// The shop's own number for it.
    #[schema(required, example = "A-1001")]
    external_id: Option<&'a str>,
    #[schema(schema_with = order_status_schema)]
    status: &'static str,
    items: Vec<ItemBody<'a>>,
    /// The sum of all lines, computed here.
    total: MoneyBody,
    /// What the payer reads on the payment system's page.
    #[schema(required)]
    description: Option<&'a str>,
    /// The shop's own words.
    metadata: &'a BTreeMap<String, String>,
    /// What the payment system knows of it: the registration that counts now; null before any.
    #[schema(required)]
    payment: Option<PaymentBody<'a>>,
    /// The task to wait for: the one that registers the payment until that ends, then its cancel or a refund.
    #[schema(required, example = 4_503_599_627_370_496_i64)]
    task_id: Option<i64>,
    created_at: TimestampBody,
    updated_at: TimestampBody,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OrderItem)]
pub struct ItemBody<'a> {
    #[schema(example = "p-1")]
    product_id: &'a str,
    #[schema(example = "Tea")]
    name: &'a str,
    #[schema(minimum = 1, maximum = 10_000, example = 2)]
    quantity: u32,
    /// As the catalog gave it when the order was placed.
    unit_price: MoneyBody,
    /// The price came from the cache, young enough for money, while the catalog could not answer.
    price_stale: bool,
    /// What the shop said for the receipt.
    #[schema(required, example = "vat20")]
    vat: Option<&'static str>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Payment)]
pub struct PaymentBody<'a> {
    #[schema(schema_with = provider_schema)]
    provider: &'static str,
    /// `registered` waits for the payer; `refunded` means that all of it was given back.
    #[schema(schema_with = payment_status_schema)]
    status: &'static str,
    /// Where the payer pays; null as soon as that is no longer possible.
    #[schema(required)]
    form_url: Option<&'a str>,
    #[schema(required)]
    registered_at: Option<TimestampBody>,
    #[schema(required)]
    paid_at: Option<TimestampBody>,
    /// What was given back so far.
    refunded: MoneyBody,
    /// What the payer sees on the payment system's page.
    number: &'a str,
    /// When the form can no longer be paid, if the payment system told.
    #[schema(required)]
    expires_at: Option<TimestampBody>,
    /// Why it was not paid: nobody paid in time, or what the payer's bank said.
    #[schema(
        required,
        pattern = "^(insufficient_funds|authentication_failed|limit_exceeded|fraud_suspected|expired|other)$",
        example = "insufficient_funds"
    )]
    decline_code: Option<&'static str>,
    /// Every registration that a payment system knew, this one among them, the earliest first.
    attempts: Vec<AttemptBody<'a>>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PaymentAttempt)]
pub struct AttemptBody<'a> {
    number: &'a str,
    #[schema(schema_with = provider_schema)]
    provider: &'static str,
    #[schema(schema_with = payment_status_schema)]
    status: &'static str,
    #[schema(required)]
    decline_code: Option<&'static str>,
    #[schema(required)]
    registered_at: Option<TimestampBody>,
}

impl<'a> OrderBody<'a> {
    /// An order that was just placed.
    pub fn placed(order: &'a Order) -> Self {
        Self {
            id: order.id,
            customer_id: order.customer_id.as_ref().map(CustomerId::as_str),
            external_id: order.details.external_id().map(ExternalId::as_str),
            status: order.status.as_str(),
            items: order.items.iter().map(ItemBody::of).collect(),
            total: MoneyBody(order.total),
            description: order.details.description.as_deref(),
            metadata: &order.details.metadata,
            payment: None,
            task_id: None,
            created_at: TimestampBody(order.created_at),
            updated_at: TimestampBody(order.updated_at),
        }
    }

    /// As a refund answers that is done: what another one does meanwhile is not its matter.
    pub fn refunded(aggregate: &'a OrderAggregate) -> Self {
        Self { task_id: None, ..Self::of(aggregate) }
    }

    pub fn of(aggregate: &'a OrderAggregate) -> Self {
        Self {
            payment: payment(&aggregate.registrations),
            task_id: aggregate.awaited_task().map(|task| task.id.get()),
            ..Self::placed(&aggregate.order)
        }
    }
}

impl<'a> ItemBody<'a> {
    fn of(item: &'a Item) -> Self {
        Self {
            product_id: item.product_id.as_str(),
            name: &item.name,
            quantity: item.quantity,
            unit_price: MoneyBody(item.unit_price),
            price_stale: item.price_stale,
            vat: item.vat.map(Vat::as_str),
        }
    }
}

/// The registration that counts: the paid one, else the one that waits for the payer, else the
/// latest that the provider ever knew.
fn payment(registrations: &[Registration]) -> Option<PaymentBody<'_>> {
    let of = |state| registrations.iter().find(|registration| registration.state == state);
    let over = || {
        let ended =
            registrations.iter().filter(|registration| registration.registered_at.is_some());
        ended.filter(|registration| status(registration).is_some()).max_by_key(|r| r.registered_at)
    };
    let counts =
        of(RegistrationState::Paid).or_else(|| of(RegistrationState::Live)).or_else(over)?;
    Some(PaymentBody {
        provider: counts.provider.as_str(),
        status: status(counts)?,
        form_url: counts.open_form(),
        registered_at: counts.registered_at.map(TimestampBody),
        paid_at: counts.paid_at.map(TimestampBody),
        refunded: MoneyBody(counts.refunded),
        number: counts.number.as_str(),
        expires_at: counts.expires_at.map(TimestampBody),
        decline_code: counts.decline_code(),
        attempts: attempts(registrations),
    })
}

fn attempts(registrations: &[Registration]) -> Vec<AttemptBody<'_>> {
    let mut known: Vec<_> = registrations.iter().filter(|r| r.registered_at.is_some()).collect();
    known.sort_by_key(|registration| registration.registered_at);
    known
        .into_iter()
        .filter_map(|registration| {
            Some(AttemptBody {
                number: registration.number.as_str(),
                provider: registration.provider.as_str(),
                status: status(registration)?,
                decline_code: registration.decline_code(),
                registered_at: registration.registered_at.map(TimestampBody),
            })
        })
        .collect()
}

/// `None` while it is not known whether the provider has it.
fn status(registration: &Registration) -> Option<&'static str> {
    match registration.state {
        RegistrationState::Live => Some("registered"),
        RegistrationState::Paid | RegistrationState::Surplus => {
            let all_back = registration.refunded.minor() >= registration.amount.minor();
            Some(if all_back { "refunded" } else { "paid" })
        }
        RegistrationState::Dead => Some(match registration.ending {
            Some(Ending::Expired) => "expired",
            Some(Ending::Cancelled) => "cancelled",
            Some(Ending::Refused | Ending::Declined) | None => "declined",
        }),
        RegistrationState::Intent | RegistrationState::Unknown | RegistrationState::Absent => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::domain::money::Money;
    use crate::core::domain::provider::{Provider, ProviderNumber};
    use crate::core::domain::timestamp::Timestamp;

    fn registration(sequence: u8, state: RegistrationState) -> Registration {
        let now = Timestamp::from_micros(i64::from(sequence));
        let number = ProviderNumber::told("X");
        let amount = Money::rub(100).unwrap();
        let mut registration = Registration::intent(Provider::Sber, sequence, number, amount, now);
        registration.state = state;
        registration.form_url = Some(format!("https://pay/{sequence}"));
        registration.registered_at = Some(now);
        registration
    }

    #[test]
    fn the_paid_registration_counts_before_the_live_and_that_before_the_dead() {
        use RegistrationState::{Dead, Live, Paid, Surplus};
        let shown = |states: &[RegistrationState]| {
            let all: Vec<_> = (1..).zip(states).map(|(n, s)| registration(n, *s)).collect();
            payment(&all).map(|payment| payment.status)
        };
        assert_eq!(shown(&[Dead, Paid, Surplus]), Some("paid"));
        assert_eq!(shown(&[Dead, Live]), Some("registered"));
        assert_eq!(shown(&[Dead]), Some("declined"));
        assert_eq!(shown(&[]), None);
    }

    #[test]
    fn what_the_provider_may_not_have_is_not_shown() {
        for state in
            [RegistrationState::Intent, RegistrationState::Unknown, RegistrationState::Absent]
        {
            assert!(payment(&[registration(1, state)]).is_none(), "{state:?}");
        }
        let mut refused = registration(1, RegistrationState::Dead);
        refused.registered_at = None;
        assert!(payment(&[refused]).is_none());
    }

    #[test]
    fn a_form_is_shown_only_while_it_can_be_paid() {
        let live = [registration(1, RegistrationState::Live)];
        assert_eq!(payment(&live).unwrap().form_url, Some("https://pay/1"));
        let paid = [registration(1, RegistrationState::Paid)];
        assert_eq!(payment(&paid).unwrap().form_url, None);
    }

    #[test]
    fn a_payment_is_refunded_when_all_of_it_went_back() {
        let mut paid = registration(1, RegistrationState::Paid);
        paid.refunded = Money::rub(99).unwrap();
        assert_eq!(status(&paid), Some("paid"));
        paid.refunded = Money::rub(100).unwrap();
        assert_eq!(status(&paid), Some("refunded"));
    }
}
