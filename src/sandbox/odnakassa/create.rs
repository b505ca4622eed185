//! `POST /v1/payments`: one payment for one Idempotency-Key and for one order id, whatever is repeated.

use std::sync::Arc;

use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::OdnaKassa;
use super::keys::Reserved;
use super::object::{self, Problem};
use crate::sandbox::fault::{OrderEffects, Then};
use crate::sandbox::order::{NewOrder, Protocol};
use crate::sandbox::reply::SimulatedReply;

pub const PROTOCOL: Protocol = Protocol("odnakassa");

const DEFAULT_LIFE_MS: i64 = 20 * MINUTE_MS;
const MINUTE_MS: i64 = 60 * 1000;
const LONGEST_LIFE_MS: i64 = 7 * 24 * 60 * MINUTE_MS;

/// The body, checked, with the times still as they were written.
#[derive(Debug)]
pub struct Asked {
    order_id: String,
    amount: i64,
    capture: bool,
    description: String,
    return_url: String,
    expires_at_ms: Option<i64>,
    metadata: Vec<(String, String)>,
}

/// Takes the key on arrival, so that a repeat during a delay finds it in progress; the decision comes later.
pub fn arrive(
    kassa: &Arc<OdnaKassa>,
    key: &str,
    body: &Value,
) -> Result<(Asked, Reserved), Problem> {
    let asked = Asked::parse(body)?;
    let reserved = kassa.reserve(key, asked.fingerprint())?;
    Ok((asked, reserved))
}

/// Commits, or replays what the key stands for.
pub fn decide(
    kassa: &OdnaKassa,
    asked: Asked,
    reserved: Reserved,
    then: &Then,
    request_id: &str,
) -> SimulatedReply {
    let base = &kassa.public_url;
    let in_use = match reserved {
        Reserved::Replay(index) => {
            return kassa.bank.work(|ledger, _| object::replayed(ledger.order(index), base)).0;
        }
        Reserved::Fresh(in_use) => in_use,
    };
    let (reply, receipts) = kassa.bank.work(|ledger, now_ms| {
        let new = asked.into_order(&then.order, now_ms, kassa.bank.ahead_ms())?;
        match ledger.commit(new, now_ms) {
            Ok(index) => {
                in_use.settle(ledger, index);
                Ok(object::created(ledger.order(index), base))
            }
            Err(taken) => {
                let conflict = "a payment for this order_id exists under another key";
                let problem =
                    Problem::new(http::StatusCode::CONFLICT, "order_id_conflict", conflict);
                Err(Problem { payment_id: Some(ledger.order(taken.0).id.clone()), ..problem })
            }
        }
    });
    // Gives the key back if the order was refused: here, because that takes the ledger's lock.
    drop(in_use);
    match reply {
        Ok(reply) => reply.committed(receipts),
        Err(problem) => problem.reply(request_id),
    }
}

impl Asked {
    fn parse(body: &Value) -> Result<Self, Problem> {
        let order_id = body
            .get("order_id")
            .and_then(Value::as_str)
            .filter(|id| is_name(id))
            .ok_or(Problem::invalid("order_id must be 1 to 64 of [A-Za-z0-9_-]"))?;
        let amount = body
            .get("amount")
            .and_then(object::kopecks)
            .ok_or(Problem::invalid("amount is not money"))?;
        let capture = match body.get("capture") {
            None | Some(Value::Null) => true,
            Some(capture) => {
                capture.as_bool().ok_or(Problem::invalid("capture must be a boolean"))?
            }
        };
        let description = match body.get("description") {
            None | Some(Value::Null) => "",
            Some(text) => text
                .as_str()
                .filter(|text| text.chars().count() <= 128)
                .ok_or(Problem::invalid("description"))?,
        };
        // https in earnest; the sandbox also takes a service without TLS on the same machine.
        let is_url = |url: &&str| {
            url.len() <= 2048 && (url.starts_with("https://") || url.starts_with("http://"))
        };
        let return_url = body.get("return_url").and_then(Value::as_str).filter(is_url);
        Ok(Self {
            order_id: order_id.to_owned(),
            amount,
            capture,
            description: description.to_owned(),
            return_url: return_url
                .ok_or(Problem::invalid("return_url must be an https URL"))?
                .to_owned(),
            expires_at_ms: body
                .get("expires_at")
                .filter(|value| !value.is_null())
                .map(unix_ms)
                .transpose()?,
            metadata: metadata(body.get("metadata"))?,
        })
    }

    /// Unknown members and the order of members do not make another body.
    fn fingerprint(&self) -> String {
        format!("{self:?}")
    }

    fn into_order(
        self,
        effects: &OrderEffects,
        now_ms: i64,
        ahead_ms: i64,
    ) -> Result<NewOrder, Problem> {
        let expires_at_ms = match self.expires_at_ms.map(|at| at + ahead_ms) {
            None => now_ms + DEFAULT_LIFE_MS,
            // A little less than promised, because the caller's clock may be behind.
            Some(at) if (now_ms + 4 * MINUTE_MS..=now_ms + LONGEST_LIFE_MS).contains(&at) => at,
            Some(_) => {
                return Err(Problem::invalid("expires_at must be 5 minutes to 7 days ahead"));
            }
        };
        Ok(NewOrder {
            protocol: PROTOCOL,
            number: self.order_id,
            amount: self.amount,
            two_stage: !self.capture,
            description: self.description,
            return_url: self.return_url,
            fail_url: None,
            params: self.metadata,
            expires_at_ms,
            effects: effects.clone(),
        })
    }
}

/// 1 to 64 of `[A-Za-z0-9_-]`.
pub fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(allowed)
}

fn unix_ms(value: &Value) -> Result<i64, Problem> {
    let time = value.as_str().and_then(|text| OffsetDateTime::parse(text, &Rfc3339).ok());
    time.map(|time| time.unix_timestamp() * 1000)
        .ok_or(Problem::invalid("expires_at must be an RFC 3339 time"))
}

fn metadata(value: Option<&Value>) -> Result<Vec<(String, String)>, Problem> {
    let invalid = || Problem::invalid("metadata must be at most 16 pairs of texts");
    let none = Map::new();
    let members = match value {
        None | Some(Value::Null) => &none,
        Some(value) => {
            value.as_object().filter(|members| members.len() <= 16).ok_or_else(invalid)?
        }
    };
    let pair = |(name, value): (&String, &Value)| {
        let value = value
            .as_str()
            .filter(|value| name.chars().count() <= 32 && value.chars().count() <= 256);
        value.map(|value| (name.clone(), value.to_owned())).ok_or_else(invalid)
    };
    members.iter().map(pair).collect()
}
