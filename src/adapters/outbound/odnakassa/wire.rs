//! OdnaKassa's words, both ways. Money is text with two decimals there and whole kopecks here; the
//! way between is exact or an error, and never a float.

use crate::adapters::outbound::payment_page::payment_page;
use crate::adapters::outbound::told::{Told, shown};
use crate::core::domain::money::{Currency, Money};
use crate::core::domain::provider::ProviderNumber;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::registration::{Decline, Ending};
use crate::core::ports::payment::{PaymentReport, RefundOrder, RegisterOrder, ReportedStatus};
use serde_json::{Value, json};

/// `None` for an amount that the protocol cannot express.
pub(super) fn create(order: &RegisterOrder) -> Option<Value> {
    let checkout = &order.checkout;
    let description = checkout.description.as_deref().map(str::to_owned);
    let mut body = json!({
        "order_id": order.number.as_str(),
        "amount": money(order.amount)?,
        "capture": true,
        "description": description.unwrap_or_else(|| format!("Заказ {}", order.number)),
        "return_url": checkout.return_url,
    });
    if let Some(expires_at) = checkout.expires_at {
        body["expires_at"] = expires_at.to_rfc3339().into();
    }
    Some(body)
}

pub(super) fn refund(refund: &RefundOrder) -> Option<Value> {
    Some(json!({ "refund_id": refund.refund_id, "amount": money(refund.amount)? }))
}

pub(super) fn nothing() -> Value {
    json!({})
}

/// More than zero, ten digits before the point, in roubles (whose minor unit is a hundredth).
fn money(amount: Money) -> Option<Value> {
    const MOST: i64 = 999_999_999_999;
    let minor = amount.minor();
    let fits = (1..=MOST).contains(&minor) && amount.currency() == Currency::RUB;
    fits.then(
        || json!({ "value": format!("{}.{:02}", minor / 100, minor % 100), "currency": "RUB" }),
    )
}

/// `^\d{1,10}\.\d{2}$`, in roubles.
fn kopecks(value: &str, currency: &str) -> Option<Money> {
    let (whole, part) = value.split_once('.')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let formed = (1..=10).contains(&whole.len()) && part.len() == 2;
    if !formed || !digits(whole) || !digits(part) || currency != "RUB" {
        return None;
    }
    Money::rub(whole.parse::<i64>().ok()? * 100 + part.parse::<i64>().ok()?).ok()
}

/// What is read of a payment object; members that OdnaKassa adds are its own affair.
const NEEDED: &[&str] =
    &["id", "order_id", "status", "amount", "refunded", "confirmation", "expires_at", "canceled"];

/// A payment object.
#[derive(Debug)]
pub(super) struct Payment {
    id: String,
    order_id: String,
    status: String,
    rest: Told,
}

impl Payment {
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        Self::of(Told::read(body, NEEDED)?)
    }

    /// `None` unless it names itself, our order and a state.
    fn of(told: Told) -> Option<Self> {
        let id = told.text("id").filter(|id| is_name(id))?;
        let (order_id, status) = (told.text("order_id")?, told.text("status")?);
        Some(Self { id, order_id, status, rest: told })
    }

    pub(super) fn report(self) -> PaymentReport {
        PaymentReport {
            status: self.reported_status(),
            decline: self.decline(),
            number: ProviderNumber::told(&shown(&self.order_id)),
            amount: self.money("amount"),
            taken: None,
            refunded: self.money("refunded"),
            form_url: self
                .text_in("confirmation", &["confirmation_url"])
                .as_deref()
                .and_then(payment_page),
            expires_at: self
                .rest
                .text("expires_at")
                .and_then(|text| Timestamp::parse_rfc3339(&text)),
            external_id: Some(self.id),
        }
    }

    fn reported_status(&self) -> ReportedStatus {
        match self.status.as_str() {
            "pending" => ReportedStatus::Pending,
            "authorized" => ReportedStatus::Held,
            "succeeded" => ReportedStatus::Paid,
            "canceled" => match self.text_in("canceled", &["reason"]).as_deref() {
                Some("expired") => ReportedStatus::Over(Ending::Expired),
                Some("merchant") => ReportedStatus::Over(Ending::Cancelled),
                // Over without money in any case; a new reason changes nothing about that.
                Some(_) | None => ReportedStatus::Over(Ending::Declined),
            },
            _ => ReportedStatus::Strange,
        }
    }

    /// Why it was declined, where it was.
    fn decline(&self) -> Option<Decline> {
        if self.reported_status() != ReportedStatus::Over(Ending::Declined) {
            return None;
        }
        Some(match self.text_in("canceled", &["details"]).as_deref() {
            Some("insufficient_funds") => Decline::InsufficientFunds,
            Some("3d_secure_failed") => Decline::AuthenticationFailed,
            Some("limit_exceeded") => Decline::LimitExceeded,
            Some("fraud_suspected") => Decline::FraudSuspected,
            Some(_) | None => Decline::Other,
        })
    }

    fn money(&self, name: &str) -> Option<Money> {
        let sum = self.rest.object(name, &["value", "currency"])?;
        kopecks(&sum.text("value")?, &sum.text("currency")?)
    }

    /// The one member of an object that is needed.
    fn text_in(&self, name: &str, member: &'static [&'static str; 1]) -> Option<String> {
        self.rest.object(name, member)?.text(member[0])
    }
}

/// The answer to a query by our number: no payment or one; `None` for anything else.
pub(super) fn parse_list(body: &[u8]) -> Option<Option<Payment>> {
    let mut items = Told::read(body, &["items"])?.list("items", NEEDED)?;
    let Some(first) = items.pop() else { return Some(None) };
    items.is_empty().then(|| Payment::of(first?)).flatten().map(Some)
}

/// An error's body.
#[derive(Debug, Default)]
pub(super) struct Refusal {
    /// The word for it.
    pub(super) code: Option<String>,
    /// It names a payment.
    pub(super) names_a_payment: bool,
}

impl Refusal {
    pub(super) fn parse(body: &[u8]) -> Self {
        let Some(told) = Told::read(body, &["error", "id", "payment_id"]) else {
            return Self::default();
        };
        let error = told.object("error", &["code", "payment_id"]);
        let code = error.as_ref().and_then(|error| error.text("code"));
        let names_a_payment = told.has("id")
            || told.has("payment_id")
            || error.is_some_and(|error| error.has("payment_id"));
        Self { code: code.filter(|code| is_name(code)), names_a_payment }
    }
}

/// 1 to 64 of `[A-Za-z0-9_-]`: what may stand in a path, a header and a log.
pub(super) fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(value: &str, currency: &str) -> Option<i64> {
        kopecks(value, currency).map(Money::minor)
    }

    proptest! {
        #[test]
        fn money_goes_there_and_back_exactly(kopecks in 1..=999_999_999_999_i64) {
            let told = money(Money::rub(kopecks).unwrap()).unwrap();
            let back = read(told["value"].as_str().unwrap(), told["currency"].as_str().unwrap());
            prop_assert_eq!(back, Some(kopecks));
        }
    }

    #[test]
    fn money_that_the_protocol_cannot_express_is_not_sent() {
        let dollar = Money::new(1, Currency::parse("USD").unwrap()).unwrap();
        for amount in [Money::rub(0).unwrap(), Money::rub(1_000_000_000_000).unwrap(), dollar] {
            assert_eq!(money(amount), None);
        }
    }

    #[test]
    fn money_is_read_in_its_one_spelling() {
        assert_eq!((read("199.00", "RUB"), read("0.00", "RUB")), (Some(19900), Some(0)));
        for bad in
            ["199", "199.0", "199.000", "-1.00", "+1.00", "1e3.00", ".50", "12345678901.00", "1,00"]
        {
            assert_eq!(read(bad, "RUB"), None, "{bad}");
        }
        assert_eq!(read("199.00", "USD"), None);
    }

    #[test]
    fn every_status_has_its_meaning() {
        let told = |status: &str, reason: Option<&str>| {
            let canceled = reason.map(|reason| json!({ "reason": reason }));
            let body =
                json!({"id": "pay_1", "order_id": "N", "status": status, "canceled": canceled});
            Payment::parse(body.to_string().as_bytes()).unwrap().report().status
        };
        use ReportedStatus::{Held, Over, Paid, Pending, Strange};
        assert_eq!((told("pending", None), told("authorized", None)), (Pending, Held));
        assert_eq!(told("succeeded", None), Paid);
        assert_eq!(told("canceled", Some("expired")), Over(Ending::Expired));
        assert_eq!(told("canceled", Some("merchant")), Over(Ending::Cancelled));
        assert_eq!(told("canceled", Some("declined")), Over(Ending::Declined));
        assert_eq!(told("canceled", None), Over(Ending::Declined));
        assert_eq!(told("paused", None), Strange);
    }

    #[test]
    fn a_list_has_no_payment_or_one() {
        let payment = json!({"id": "pay_1", "order_id": "N", "status": "pending"});
        let parse = |body: Value| parse_list(body.to_string().as_bytes());
        assert!(parse(json!({"items": []})).unwrap().is_none());
        assert!(parse(json!({"items": [payment]})).unwrap().is_some());
        for bad in
            [json!({"items": [payment, payment]}), json!({"items": [7]}), json!({}), json!([])]
        {
            assert!(parse(bad.clone()).is_none(), "{bad}");
        }
    }

    #[test]
    fn an_id_that_could_climb_a_path_is_no_id() {
        let body = json!({"id": "../refunds", "order_id": "N", "status": "pending"});
        assert!(Payment::parse(body.to_string().as_bytes()).is_none());
    }
}
