//! Sber's words, both ways: requests in the encoding of either generation, and replies in all the
//! shapes in which they have been seen. Nothing here decides what a word means for an order.

use super::config::{Credentials, Protocol};
use super::fields::Fields;
use super::sums::{ROUBLE, Sums};
use super::{basket, decline};
use crate::adapters::outbound::payment_page::payment_page;
use crate::adapters::outbound::told::{Told, shown};
use crate::core::domain::money::{Currency, Money};
use crate::core::domain::provider::ProviderNumber;
use crate::core::payment::registration::Ending;
use crate::core::ports::payment::{
    Checkout, PaymentReport, RegisterOrder, Registered, ReportedStatus,
};
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

/// The life of the order was over before anybody paid.
const ACTION_EXPIRED: i64 = -2007;

/// Of a declined order: the bank's processing timed out, before it was sent on or after, without an
/// answer (in either spelling); it is still under way; it has to be asked about; it is paid already.
const ACTION_IN_DOUBT: [i64; 7] = [1018, 1019, 151_018, 151_019, -99, 94, 2007];

/// `None` for an amount that the gateway cannot express.
pub(super) fn register(protocol: Protocol, order: &RegisterOrder) -> Option<Fields> {
    let Checkout { return_url, lifetime, expires_at: _, description, receipt } = &order.checkout;
    let mut fields = by_number(&order.number);
    fields.insert("amount".into(), kopecks(order.amount)?.into());
    fields.insert("currency".into(), ROUBLE.to_string().into());
    fields.insert("returnUrl".into(), return_url.as_str().into());
    let description = description.as_deref().map(plain);
    let description = description.unwrap_or_else(|| format!("Заказ {}", order.number));
    fields.insert("description".into(), description.into());
    fields.insert("language".into(), "ru".into());
    if let Some(lifetime) = lifetime {
        fields.insert("sessionTimeoutSecs".into(), lifetime.as_secs().into());
    }
    if let Some(receipt) = receipt {
        basket::tell(protocol, receipt, &mut fields);
    }
    Some(fields)
}

/// In the alphabet that both generations take, also where only its beginning is looked at.
fn plain(description: &str) -> String {
    let taken = |letter: char| match letter {
        '%' | '+' => false,
        'а'..='я' | 'А'..='Я' | 'ё' | 'Ё' | '№' | '«' | '»' | ' ' => true,
        other => other.is_ascii_graphic(),
    };
    description.chars().map(|letter| if taken(letter) { letter } else { ' ' }).collect()
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

/// What is read of a reply; members that the bank adds are its own affair.
const NEEDED: &[&str] = &[
    "errorCode",
    "ErrorCode",
    "error",
    "success",
    "orderId",
    "formUrl",
    "orderNumber",
    "orderStatus",
    "actionCode",
    "attributes",
    "amount",
    "currency",
    "paymentAmountInfo",
];

/// A reply of either generation.
#[derive(Debug)]
pub(super) struct BankReply(Told);

impl BankReply {
    /// `None` for anything but a JSON object, whatever the content type says.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        Told::read(body, NEEDED).map(Self)
    }

    /// The error code, 0 when there is none; `None` when it says that there is one and not which.
    pub(super) fn code(&self) -> Option<i64> {
        let told = &self.0;
        let plain = ["errorCode", "ErrorCode"].into_iter().find(|name| told.has(name));
        match plain {
            Some(name) => told.integer(name),
            None if told.has("error") => told.object("error", &["code"])?.integer("code"),
            None => (told.flag("success") != Some(false)).then_some(0),
        }
    }

    /// `None` unless both halves of the promise are there.
    pub(super) fn registered(&self) -> Option<Registered> {
        let external_id = gateway_id(self.0.text("orderId")?)?;
        let form_url = payment_page(&self.0.text("formUrl")?)?;
        Some(Registered { external_id, form_url, expires_at: None })
    }

    /// Whether it names an order of the bank, as only a success should.
    pub(super) fn names_an_order(&self) -> bool {
        self.0.has("orderId") && self.0.text("orderId").is_none_or(|id| !id.is_empty())
    }

    /// `None` unless it names an order and a state.
    pub(super) fn report(&self) -> Option<PaymentReport> {
        let sums = Sums::of(&self.0);
        let status = self.status(&sums)?;
        Some(PaymentReport {
            number: ProviderNumber::told(&shown(&self.0.text("orderNumber")?)),
            external_id: self.md_order(),
            amount: sums.amount(),
            taken: sums.taken(status),
            status,
            refunded: sums.refunded.exact(),
            form_url: None,
            expires_at: None,
            decline: (status == ReportedStatus::Over(Ending::Declined))
                .then(|| decline::reason(self.0.integer("actionCode"))),
        })
    }

    fn status(&self, sums: &Sums) -> Option<ReportedStatus> {
        let action = self.0.integer("actionCode");
        let status = match self.0.integer("orderStatus")? {
            // 5 is the payer at the issuer's page: not final.
            0 | 5 => ReportedStatus::Pending,
            1 => ReportedStatus::Held,
            // 4 is a refund, whole or in part: `refunded` tells.
            2 | 4 => ReportedStatus::Paid,
            3 => ReportedStatus::Over(Ending::Cancelled),
            6 => match action {
                Some(ACTION_EXPIRED) => ReportedStatus::Over(Ending::Expired),
                // The bank does not know what became of the money: nor do we.
                Some(code) if ACTION_IN_DOUBT.contains(&code) => ReportedStatus::Strange,
                Some(_) | None => ReportedStatus::Over(Ending::Declined),
            },
            _ => ReportedStatus::Strange,
        };
        // Nobody has paid, and there is money.
        let contradictory = match status {
            ReportedStatus::Pending | ReportedStatus::Over(Ending::Declined | Ending::Expired) => {
                sums.deposited.exact().is_some_and(|money| !money.is_zero())
            }
            ReportedStatus::Held
            | ReportedStatus::Paid
            | ReportedStatus::Over(Ending::Cancelled | Ending::Refused)
            | ReportedStatus::Strange => false,
        };
        Some(if contradictory { ReportedStatus::Strange } else { status })
    }

    /// The only place where the gateway's id comes back when it was asked by our number.
    fn md_order(&self) -> Option<String> {
        let attributes = self.0.list("attributes", &["name", "value"])?;
        let mut attributes = attributes.into_iter().flatten();
        let md_order = attributes.find(|pair| pair.text("name").as_deref() == Some("mdOrder"))?;
        gateway_id(md_order.text("value")?)
    }
}

/// Gateway ids are UUID texts; what is no such word is no id.
fn gateway_id(id: String) -> Option<String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    ((1..=64).contains(&id.len()) && id.bytes().all(allowed)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(json: &Value) -> BankReply {
        BankReply::parse(json.to_string().as_bytes()).unwrap()
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
            assert!(BankReply::parse(body.as_bytes()).is_none(), "{body}");
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
    fn every_state_has_its_meaning() {
        let told = |status: i64, action: i64| {
            let body = json!({"orderNumber": "N", "orderStatus": status, "actionCode": action});
            reply(&body).report().unwrap().status
        };
        use ReportedStatus::{Held, Over, Paid, Pending, Strange};
        assert_eq!(told(1, 0), Held);
        for pending in [0, 5] {
            assert_eq!(told(pending, -100), Pending);
        }
        assert_eq!((told(2, 0), told(4, 0)), (Paid, Paid));
        assert_eq!(told(3, 0), Over(Ending::Cancelled));
        assert_eq!(told(6, -2007), Over(Ending::Expired));
        assert_eq!(told(6, 116), Over(Ending::Declined));
        for in_doubt in ACTION_IN_DOUBT {
            assert_eq!(told(6, in_doubt), Strange, "{in_doubt}");
        }
        assert_eq!((told(7, 0), told(-1, 0)), (Strange, Strange));
    }
}
