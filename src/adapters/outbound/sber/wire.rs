//! Sber's words, both ways: requests in the encoding of either generation, and replies in all the
//! shapes in which they have been seen. Nothing here decides what a word means for an order.

use super::{Credentials, Protocol};
use crate::adapters::outbound::http_client::Url;
use crate::core::domain::money::{Currency, Money};
use crate::core::domain::provider::ProviderNumber;
use crate::core::payment::registration::Ending;
use crate::core::ports::payment::{PaymentReport, RegisterOrder, Registered, ReportedStatus};
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

/// ISO 4217's number for the rouble, the only currency that the gateway takes.
const ROUBLE: i64 = 643;

/// The life of the order was over before anybody paid.
const ACTION_EXPIRED: i64 = -2007;

/// The bank's processing timed out: before it was sent on, or after, without an answer.
const ACTION_TIMED_OUT: [i64; 2] = [1018, 1019];

/// Named values of a request, without the login.
pub(super) type Fields = Map<String, Value>;

/// `None` for an amount that the gateway cannot express.
pub(super) fn register(order: &RegisterOrder) -> Option<Fields> {
    let mut fields = by_number(&order.number);
    fields.insert("amount".into(), kopecks(order.amount)?.into());
    fields.insert("currency".into(), ROUBLE.to_string().into());
    fields.insert("returnUrl".into(), order.return_url.as_str().into());
    fields.insert("description".into(), format!("Заказ {}", order.number).into());
    fields.insert("language".into(), "ru".into());
    Some(fields)
}

pub(super) fn by_number(number: &ProviderNumber) -> Fields {
    one("orderNumber", number.as_str())
}

pub(super) fn by_id(order_id: &str) -> Fields {
    one("orderId", order_id)
}

/// `key` makes repeats of the same refund one refund, where the generation knows such keys.
pub(super) fn refund(
    protocol: Protocol,
    order_id: &str,
    amount: Money,
    key: &str,
) -> Option<Fields> {
    let mut fields = by_id(order_id);
    fields.insert("amount".into(), kopecks(amount)?.into());
    match protocol {
        Protocol::Classic => {}
        Protocol::Json => {
            fields.insert("jsonParams".into(), json!({ "externalRefundId": key }));
        }
    }
    Some(fields)
}

fn one(name: &str, value: &str) -> Fields {
    Map::from_iter([(name.to_owned(), value.into())])
}

fn kopecks(amount: Money) -> Option<i64> {
    (amount.currency() == Currency::RUB).then(|| amount.minor())
}

impl Protocol {
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Classic => "application/x-www-form-urlencoded",
            Self::Json => "application/json",
        }
    }

    /// The body with the login in it: never in a URL, which proxies log.
    pub(super) fn encode(self, credentials: &Credentials, mut fields: Fields) -> String {
        let mut log_in = |name: &str, value: &str| fields.insert(name.to_owned(), value.into());
        match credentials {
            Credentials::Login { username, password } => {
                log_in("userName", username);
                log_in("password", password.expose_secret());
            }
            Credentials::Token(token) => {
                log_in("token", token.expose_secret());
            }
        }
        match self {
            Self::Classic => form_urlencoded::Serializer::new(String::new())
                .extend_pairs(fields.iter().map(|(name, value)| (name, flat(value))))
                .finish(),
            Self::Json => Value::Object(fields).to_string(),
        }
    }
}

/// A form has texts only: nested values travel as JSON in one field.
fn flat(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A reply of either generation.
#[derive(Debug)]
pub(super) struct Reply(Map<String, Value>);

impl Reply {
    /// `None` for anything but a JSON object, whatever the content type says.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok().map(Self)
    }

    /// The error code, 0 when there is none; `None` when it says that there is one and not which.
    pub(super) fn code(&self) -> Option<i64> {
        let plain = self.get("errorCode").or_else(|| self.get("ErrorCode"));
        match (plain, self.get("error")) {
            (Some(code), _) => integer(code),
            (None, Some(nested)) => integer(nested.get("code")?),
            (None, None) => (self.get("success") != Some(&Value::Bool(false))).then_some(0),
        }
    }

    /// `None` unless both halves of the promise are there.
    pub(super) fn registered(&self) -> Option<Registered> {
        let external_id = self.gateway_id("orderId")?;
        let form_url = self.get("formUrl")?.as_str().filter(|url| is_page(url))?.to_owned();
        Some(Registered { external_id, form_url, expires_at: None })
    }

    /// `None` unless it names an order and a state.
    pub(super) fn report(&self) -> Option<PaymentReport> {
        let info = |name| self.get("paymentAmountInfo").and_then(|info| info.get(name));
        Some(PaymentReport {
            number: ProviderNumber::told(self.get("orderNumber")?.as_str()?),
            external_id: self.md_order(),
            amount: self.money(self.get("amount")),
            status: self.status()?,
            refunded: self.money(info("refundedAmount")),
            form_url: None,
            expires_at: None,
        })
    }

    fn status(&self) -> Option<ReportedStatus> {
        let action = self.get("actionCode").and_then(integer);
        Some(match integer(self.get("orderStatus")?)? {
            // 1 is a hold, which we never ask for; 5 is the payer at the issuer's page: not final.
            0 | 1 | 5 => ReportedStatus::Pending,
            // 4 is a refund, whole or in part: `refunded` tells.
            2 | 4 => ReportedStatus::Paid,
            3 => ReportedStatus::Over(Ending::Cancelled),
            6 => match action {
                Some(ACTION_EXPIRED) => ReportedStatus::Over(Ending::Expired),
                // The bank does not know what became of the money: nor do we.
                Some(code) if ACTION_TIMED_OUT.contains(&code) => ReportedStatus::Strange,
                Some(_) | None => ReportedStatus::Over(Ending::Declined),
            },
            _ => ReportedStatus::Strange,
        })
    }

    /// The only place where the gateway's id comes back when it was asked by our number.
    fn md_order(&self) -> Option<String> {
        let attributes = self.get("attributes")?.as_array()?;
        let md_order = attributes.iter().find(|pair| pair["name"] == "mdOrder")?;
        gateway_id(&md_order["value"])
    }

    fn gateway_id(&self, name: &str) -> Option<String> {
        gateway_id(self.get(name)?)
    }

    fn money(&self, amount: Option<&Value>) -> Option<Money> {
        let rouble = self.get("currency").and_then(integer) == Some(ROUBLE);
        let kopecks = amount.and_then(integer).filter(|_| rouble)?;
        Money::rub(kopecks).ok()
    }

    /// A member that is there and not null.
    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }
}

/// A whole number, written as one or as a text: the generations differ.
fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// Gateway ids are UUID texts; what is no such word is no id.
fn gateway_id(value: &Value) -> Option<String> {
    let id = value.as_str()?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    ((1..=64).contains(&id.len()) && id.bytes().all(allowed)).then(|| id.to_owned())
}

/// Whether a payer can be sent there.
fn is_page(text: &str) -> bool {
    text.len() <= 2048 && Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(json: &Value) -> Reply {
        Reply::parse(json.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn the_error_code_is_read_in_every_shape() {
        for (body, code) in [
            (json!({}), Some(0)),
            (json!({"errorCode": null}), Some(0)),
            (json!({"errorCode": "0"}), Some(0)),
            (json!({"errorCode": 0}), Some(0)),
            (json!({"errorCode": "7"}), Some(7)),
            (json!({"ErrorCode": "6", "ErrorMessage": "?"}), Some(6)),
            (json!({"error": {"code": 5}, "success": false}), Some(5)),
            (json!({"success": true}), Some(0)),
            (json!({"success": false}), None),
            (json!({"error": "oops"}), None),
            (json!({"errorCode": "seven"}), None),
            (json!({"errorCode": 1.5}), None),
        ] {
            assert_eq!(reply(&body).code(), code, "{body}");
        }
    }

    #[test]
    fn a_reply_is_a_json_object_or_nothing() {
        for body in ["", "[]", "7", "<html>", "{\"errorCode\":", "{} {}", &"[".repeat(9999)] {
            assert!(Reply::parse(body.as_bytes()).is_none(), "{body}");
        }
    }

    #[test]
    fn a_registration_needs_an_id_and_a_page() {
        let good = json!({"orderId": "6f0c1f0e", "formUrl": "https://bank.example/pay?o=1"});
        assert!(reply(&good).registered().is_some());
        for (name, bad) in [
            ("orderId", json!("")),
            ("orderId", json!(7)),
            ("orderId", json!("a/b")),
            ("formUrl", json!(null)),
            ("formUrl", json!("javascript:alert(1)")),
            ("formUrl", json!("/payment/page")),
        ] {
            let mut body = good.clone();
            body[name] = bad;
            assert_eq!(reply(&body).registered(), None, "{body}");
        }
    }

    #[test]
    fn money_is_told_exactly_or_not_at_all() {
        let told = |amount: Value, currency: Value| {
            let body = json!({"orderNumber": "N", "orderStatus": 2, "amount": amount, "currency": currency});
            reply(&body).report().unwrap().amount.map(Money::minor)
        };
        assert_eq!(told(json!(19900), json!("643")), Some(19900));
        assert_eq!(told(json!(19900), json!(643)), Some(19900));
        for (amount, currency) in [
            (json!(19900), json!("810")),
            (json!(19900), json!(null)),
            (json!(199.5), json!("643")),
            (json!("199.00"), json!("643")),
            (json!(-1), json!("643")),
            (json!(null), json!("643")),
        ] {
            assert_eq!(told(amount.clone(), currency.clone()), None, "{amount} {currency}");
        }
    }

    #[test]
    fn every_state_has_its_meaning() {
        let told = |status: i64, action: i64| {
            let body = json!({"orderNumber": "N", "orderStatus": status, "actionCode": action});
            reply(&body).report().unwrap().status
        };
        use ReportedStatus::{Over, Paid, Pending, Strange};
        for pending in [0, 1, 5] {
            assert_eq!(told(pending, -100), Pending);
        }
        assert_eq!((told(2, 0), told(4, 0)), (Paid, Paid));
        assert_eq!(told(3, 0), Over(Ending::Cancelled));
        assert_eq!(told(6, -2007), Over(Ending::Expired));
        assert_eq!(told(6, 116), Over(Ending::Declined));
        assert_eq!((told(6, 1018), told(6, 1019)), (Strange, Strange));
        assert_eq!((told(7, 0), told(-1, 0)), (Strange, Strange));
    }
}
