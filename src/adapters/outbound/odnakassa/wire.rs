//! OdnaKassa's words, both ways. Money is text with two decimals there and whole kopecks here; the
//! way between is exact or an error, and never a float.

use crate::adapters::outbound::http_client::Url;
use crate::core::domain::money::{Currency, Money};
use crate::core::domain::provider::ProviderNumber;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::registration::Ending;
use crate::core::ports::payment::{PaymentReport, RefundOrder, RegisterOrder, ReportedStatus};
use serde::Deserialize;
use serde_json::{Value, json};

/// `None` for an amount that the protocol cannot express.
pub(super) fn create(order: &RegisterOrder) -> Option<Value> {
    Some(json!({
        "order_id": order.number.as_str(),
        "amount": money(order.amount)?,
        "capture": true,
        "description": format!("Заказ {}", order.number),
        "return_url": order.return_url,
    }))
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

#[derive(Debug, Clone, Deserialize)]
struct Sum {
    value: String,
    currency: String,
}

impl Sum {
    /// `^\d{1,10}\.\d{2}$`, in roubles.
    fn read(&self) -> Option<Money> {
        let (whole, part) = self.value.split_once('.')?;
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let formed = (1..=10).contains(&whole.len()) && part.len() == 2;
        if !formed || !digits(whole) || !digits(part) || self.currency != "RUB" {
            return None;
        }
        Money::rub(whole.parse::<i64>().ok()? * 100 + part.parse::<i64>().ok()?).ok()
    }
}

/// A payment object; members that we do not know are ignored.
#[derive(Debug, Deserialize)]
pub(super) struct Payment {
    id: String,
    order_id: String,
    status: String,
    amount: Option<Sum>,
    refunded: Option<Sum>,
    confirmation: Option<Confirmation>,
    expires_at: Option<String>,
    canceled: Option<Canceled>,
}

#[derive(Debug, Deserialize)]
struct Confirmation {
    confirmation_url: String,
}

#[derive(Debug, Deserialize)]
struct Canceled {
    reason: String,
}

impl Payment {
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(body).ok().filter(|payment| is_name(&payment.id))
    }

    pub(super) fn report(self) -> PaymentReport {
        PaymentReport {
            status: self.reported_status(),
            number: ProviderNumber::told(&self.order_id),
            external_id: Some(self.id),
            amount: self.amount.and_then(|sum| sum.read()),
            refunded: self.refunded.and_then(|sum| sum.read()),
            form_url: self
                .confirmation
                .map(|page| page.confirmation_url)
                .filter(|url| is_page(url)),
            expires_at: self.expires_at.and_then(|text| Timestamp::parse_rfc3339(&text)),
        }
    }

    fn reported_status(&self) -> ReportedStatus {
        match self.status.as_str() {
            "pending" | "authorized" => ReportedStatus::Pending,
            "succeeded" => ReportedStatus::Paid,
            "canceled" => match self.canceled.as_ref().map(|canceled| canceled.reason.as_str()) {
                Some("expired") => ReportedStatus::Over(Ending::Expired),
                Some("merchant") => ReportedStatus::Over(Ending::Cancelled),
                // Over without money in any case; a new reason changes nothing about that.
                Some(_) | None => ReportedStatus::Over(Ending::Declined),
            },
            _ => ReportedStatus::Strange,
        }
    }
}

/// The answer to a query by our number: no payment or one; `None` for anything else.
pub(super) fn parse_list(body: &[u8]) -> Option<Option<Payment>> {
    #[derive(Deserialize)]
    struct List {
        items: Vec<Payment>,
    }
    let mut items = serde_json::from_slice::<List>(body).ok()?.items;
    let first = items.pop();
    let sound = items.is_empty() && first.as_ref().is_none_or(|payment| is_name(&payment.id));
    sound.then_some(first)
}

/// The word in an error's body.
pub(super) fn error_code(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Envelope {
        error: Problem,
    }
    #[derive(Deserialize)]
    struct Problem {
        code: String,
    }
    let code = serde_json::from_slice::<Envelope>(body).ok()?.error.code;
    is_name(&code).then_some(code)
}

/// 1 to 64 of `[A-Za-z0-9_-]`: what may stand in a path, a header and a log.
pub(super) fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(allowed)
}

/// Whether a payer can be sent there.
fn is_page(text: &str) -> bool {
    text.len() <= 2048 && Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(value: &str, currency: &str) -> Option<i64> {
        Sum { value: value.to_owned(), currency: currency.to_owned() }.read().map(Money::minor)
    }

    proptest! {
        #[test]
        fn money_goes_there_and_back_exactly(kopecks in 1..=999_999_999_999_i64) {
            let told = money(Money::rub(kopecks).unwrap()).unwrap();
            let sum: Sum = serde_json::from_value(told).unwrap();
            prop_assert_eq!(sum.read().map(Money::minor), Some(kopecks));
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
        use ReportedStatus::{Over, Paid, Pending, Strange};
        assert_eq!((told("pending", None), told("authorized", None)), (Pending, Pending));
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
