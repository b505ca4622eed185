//! OdnaKassa's words: money, the payment object, errors.

use http::{HeaderName, StatusCode};
use serde_json::{Map, Value, json};

use crate::sandbox::clock::rfc3339;
use crate::sandbox::order::{Order, State};
use crate::sandbox::reply::SimulatedReply;

/// A refusal with its HTTP status.
#[derive(Debug, Clone)]
pub struct Problem {
    pub status: StatusCode,
    pub code: &'static str,
    pub message: &'static str,
    pub payment_id: Option<String>,
    pub retry_after: Option<&'static str>,
}

impl Problem {
    pub fn new(status: StatusCode, code: &'static str, message: &'static str) -> Self {
        Self { status, code, message, payment_id: None, retry_after: None }
    }

    pub fn invalid(message: &'static str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "no such payment")
    }

    pub fn invalid_state() -> Self {
        Self::new(StatusCode::CONFLICT, "invalid_state", "the payment's status does not allow this")
    }

    pub fn in_progress() -> Self {
        let problem = Self::new(
            StatusCode::CONFLICT,
            "request_in_progress",
            "a request with this Idempotency-Key is still being worked on",
        );
        Self { retry_after: Some("1"), ..problem }
    }

    pub fn mismatch() -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "idempotency_mismatch",
            "this Idempotency-Key was used with another body",
        )
    }

    pub fn reply(&self, request_id: &str) -> SimulatedReply {
        let mut error =
            json!({"code": self.code, "message": self.message, "request_id": request_id});
        if let Some(id) = &self.payment_id {
            error["payment_id"] = id.as_str().into();
        }
        let reply = SimulatedReply::json(self.status, json!({"error": error}), self.code);
        match self.retry_after {
            Some(seconds) => reply.with_header(http::header::RETRY_AFTER, seconds),
            None => reply,
        }
    }
}

pub fn created(order: &Order, confirmation_base: &str) -> SimulatedReply {
    SimulatedReply::json(StatusCode::CREATED, payment(order, confirmation_base), "created")
}

pub fn replayed(order: &Order, confirmation_base: &str) -> SimulatedReply {
    SimulatedReply::json(StatusCode::OK, payment(order, confirmation_base), "replayed")
        .with_header(HeaderName::from_static("idempotent-replayed"), "true")
}

pub fn payment(order: &Order, confirmation_base: &str) -> Value {
    let (status, canceled) = match order.state {
        State::Created => ("pending", None),
        State::Held => ("authorized", None),
        // No word of the protocol: its readers keep what they do not know.
        State::InDoubt => ("uncertain", None),
        State::Paid => ("succeeded", None),
        State::Declined => ("canceled", Some("declined")),
        State::Expired => ("canceled", Some("expired")),
        State::Cancelled | State::Reversed => ("canceled", Some("merchant")),
    };
    let metadata: Map<String, Value> = order
        .asked
        .params
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().into()))
        .collect();
    let mut payment = json!({
        "id": order.id,
        "order_id": order.asked.number,
        "status": status,
        "amount": money(order.amount),
        "refunded": money(order.refunded),
        "description": order.asked.description,
        "created_at": rfc3339(order.created_at_ms),
        "expires_at": rfc3339(order.asked.expires_at_ms),
        "version": order.version,
        "metadata": metadata,
    });
    if order.state == State::Created {
        let url = format!("{confirmation_base}/pay/odnakassa/{}", order.id);
        payment["confirmation"] = json!({"type": "redirect", "confirmation_url": url});
    }
    if let Some(reason) = canceled {
        payment["canceled"] = json!({"reason": reason});
    }
    payment
}

pub fn money(kopecks: i64) -> Value {
    json!({"value": format!("{}.{:02}", kopecks / 100, kopecks % 100), "currency": "RUB"})
}

/// Kopecks of `{"value":"199.00","currency":"RUB"}`: exactly two decimals, more than nothing.
pub fn kopecks(money: &Value) -> Option<i64> {
    let value = money.get("value")?.as_str()?;
    let (whole, part) = value.split_once('.')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let well_formed =
        (1..=10).contains(&whole.len()) && part.len() == 2 && digits(whole) && digits(part);
    if !well_formed || money.get("currency")?.as_str()? != "RUB" {
        return None;
    }
    let kopecks = whole.parse::<i64>().ok()? * 100 + part.parse::<i64>().ok()?;
    (kopecks > 0).then_some(kopecks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_exactly_two_decimals() {
        let kopecks = |value: &str| kopecks(&json!({"value": value, "currency": "RUB"}));
        assert_eq!(kopecks("199.00"), Some(19900));
        assert_eq!(kopecks("0.01"), Some(1));
        for wrong in
            ["199", "199.0", "199.000", "0.00", "-1.00", "+1.00", "1e3.00", ".50", "12345678901.00"]
        {
            assert_eq!(kopecks(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn money_in_another_currency_is_none() {
        assert_eq!(kopecks(&json!({"value": "1.00", "currency": "USD"})), None);
    }
}
