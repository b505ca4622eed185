//! Sber's answers: codes, texts, and the shape of each reply. All business errors are HTTP 200.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::params::Generation;
use crate::sandbox::order::{Order, State};
use crate::sandbox::reply::SimulatedReply;

const MOSCOW_MS: i64 = 3 * 60 * 60 * 1000;

/// A business error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    pub code: u16,
    /// The parameter it is about, if it is about one.
    pub about: &'static str,
}

impl Refused {
    pub const fn with(code: u16) -> Self {
        Self { code, about: "" }
    }

    /// A parameter is missing or empty.
    pub const fn missing(about: &'static str) -> Self {
        Self { code: 4, about }
    }

    /// A parameter has a value that is not allowed.
    pub const fn bad(about: &'static str) -> Self {
        Self { code: 5, about }
    }

    pub const fn access_denied() -> Self {
        Self::with(5)
    }

    /// The text is for people and comes in their language: nothing may depend on it.
    fn message(self, language: &str) -> String {
        let (russian, english) = match self.code {
            1 => (
                "Заказ с таким номером уже обработан",
                "Order with this number was already processed",
            ),
            3 => ("Неизвестная валюта", "Unknown currency"),
            4 => ("Отсутствует обязательный параметр", "A required parameter is missing"),
            5 if self.about.is_empty() => ("Доступ запрещён", "Access denied"),
            5 => ("Неверное значение параметра", "Parameter value is invalid"),
            6 => ("Заказ не найден", "No such order"),
            8 => ("Неверная корзина", "The basket is invalid"),
            13 => ("Мерчант не имеет привилегии", "The merchant lacks a privilege"),
            14 => ("Некорректные features", "Features are invalid"),
            _ => ("Системная ошибка", "System error"),
        };
        let text = if language == "en" { english } else { russian };
        if self.about.is_empty() { text.into() } else { format!("{text} [{}]", self.about) }
    }
}

/// A reply in the generation's own content type.
pub fn reply(generation: Generation, body: Value, said: impl Into<String>) -> SimulatedReply {
    let mut reply = SimulatedReply::json(StatusCode::OK, body, said);
    if generation == Generation::Classic {
        reply.content_type = "text/plain;charset=UTF-8";
    }
    reply
}

pub fn refused(generation: Generation, refused: Refused, language: &str) -> SimulatedReply {
    let body =
        json!({"errorCode": refused.code.to_string(), "errorMessage": refused.message(language)});
    reply(generation, body, format!("errorCode {}", refused.code))
}

/// A status query for what the bank does not know: recorded with two empty arrays.
pub fn not_found(generation: Generation, language: &str) -> SimulatedReply {
    let refusal = Refused::with(6);
    let body = match generation {
        Generation::Classic => json!({
            "errorCode": "6", "errorMessage": refusal.message(language),
            "merchantOrderParams": [], "attributes": [],
        }),
        Generation::Json => json!({"errorCode": "6", "errorMessage": refusal.message(language)}),
    };
    reply(generation, body, "errorCode 6")
}

pub fn registered(generation: Generation, order_id: &str, form_url: &str) -> SimulatedReply {
    let body = match generation {
        // A recorded success has no errorCode at all.
        Generation::Classic => json!({"orderId": order_id, "formUrl": form_url}),
        Generation::Json => json!({
            "errorCode": "0", "orderId": order_id, "formUrl": form_url,
            "externalParams": {"sbolBankInvoiceId": order_id},
        }),
    };
    reply(generation, body, "ok")
}

/// The answer of deposit, reverse, refund and decline; the manual's samples differ in the code's type.
pub fn done(generation: Generation, code_is_a_number: bool) -> SimulatedReply {
    let code =
        if code_is_a_number && generation == Generation::Classic { json!(0) } else { json!("0") };
    reply(generation, json!({"errorCode": code, "errorMessage": "Успешно"}), "ok")
}

/// `getOrderStatusExtended.do` of an order; `shown` is the status, which a fault may have changed.
pub fn status(generation: Generation, order: &Order, shown: u8) -> SimulatedReply {
    let state = payment_state(shown);
    let mut body = json!({
        "errorCode": "0",
        "errorMessage": "Успешно",
        "orderNumber": order.asked.number,
        "orderStatus": shown,
        "actionCode": action_code(order),
        "actionCodeDescription": "",
        "amount": order.amount,
        "currency": "643",
        "date": order.created_at_ms,
        "orderDescription": order.asked.description,
        "merchantOrderParams": name_values(&order.asked.params),
        "attributes": [{"name": "mdOrder", "value": order.id}],
        "paymentAmountInfo": {
            "paymentState": state,
            "approvedAmount": approved(order),
            "depositedAmount": order.deposited,
            "refundedAmount": order.refunded,
            "feeAmount": 0,
        },
    });
    if let Value::Object(members) = &mut body {
        decorate(members, generation, order);
    }
    reply(generation, body, format!("orderStatus {shown}"))
}

/// What is there only when somebody has paid.
fn decorate(members: &mut Map<String, Value>, generation: Generation, order: &Order) {
    let Some(paid_at_ms) = order.paid_at_ms else { return };
    members.insert(
        "cardAuthInfo".into(),
        json!({"maskedPan": "220000**0000", "expiration": "203012", "approvalCode": "123456", "paymentSystem": "MIR"}),
    );
    if generation == Generation::Classic {
        return;
    }
    members.insert("authDateTime".into(), paid_at_ms.into());
    members.insert("depositedDate".into(), paid_at_ms.into());
    let mut operations =
        vec![json!({"date": paid_at_ms, "type": "AUTHORIZATION", "amount": order.deposited})];
    operations.extend(order.refunds.iter().map(|refund| {
        json!({"date": refund.at_ms, "type": "REFUND", "amount": refund.amount, "externalRefundId": refund.key})
    }));
    members.insert("operations".into(), operations.into());
    if let Some(last) = order.refunds.last() {
        members.insert("refundedDate".into(), crate::sandbox::clock::rfc3339(last.at_ms).into());
    }
}

pub fn order_status(order: &Order) -> u8 {
    match order.state {
        State::Created => 0,
        State::Held => 1,
        State::Paid if order.refunded > 0 => 4,
        State::Paid => 2,
        State::Reversed => 3,
        State::InDoubt | State::Declined | State::Expired | State::Cancelled => 6,
    }
}

fn payment_state(order_status: u8) -> &'static str {
    match order_status {
        1 => "APPROVED",
        2 => "DEPOSITED",
        3 => "REVERSED",
        4 => "REFUNDED",
        6 => "DECLINED",
        _ => "CREATED",
    }
}

fn action_code(order: &Order) -> i32 {
    match order.state {
        State::Created | State::Cancelled if order.attempts_failed == 0 => -100,
        State::Created | State::Cancelled => 116,
        State::Held | State::Paid => 0,
        State::InDoubt => 1019,
        State::Reversed => 400,
        State::Declined => -2013,
        State::Expired => -2007,
    }
}

fn approved(order: &Order) -> i64 {
    match order.state {
        State::Held | State::Paid => order.amount,
        State::Created
        | State::InDoubt
        | State::Declined
        | State::Expired
        | State::Cancelled
        | State::Reversed => 0,
    }
}

fn name_values(pairs: &[(String, String)]) -> Vec<Value> {
    pairs.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
}

/// The calendar day in the bank's time zone.
pub fn moscow_day(unix_ms: i64) -> i64 {
    (unix_ms + MOSCOW_MS).div_euclid(24 * 60 * 60 * 1000)
}

/// A bank-local time without a zone, as Unix milliseconds.
pub fn from_moscow(local: time::PrimitiveDateTime) -> i64 {
    local.assume_utc().unix_timestamp() * 1000 - MOSCOW_MS
}
