//! `register.do` and `registerPreAuth.do`: what the bank demands of a new order.

use serde_json::Value;
use time::PrimitiveDateTime;
use time::macros::format_description;

use super::params::{Generation, Params};
use super::words::{self, Refused};
use crate::sandbox::bank::Bank;
use crate::sandbox::fault::OrderEffects;
use crate::sandbox::order::NewOrder;
use crate::sandbox::reply::SimulatedReply;

const DEFAULT_LIFE_SECS: i64 = 1200;
const RUBLES: &str = "643";
const KNOWN_FEATURES: [&str; 4] = ["AUTO_PAYMENT", "FORCE_TDS", "FORCE_SSL", "FORCE_FULL_TDS"];

pub fn register(
    bank: &Bank,
    public_url: &str,
    params: &Params,
    two_stage: bool,
    effects: &OrderEffects,
) -> SimulatedReply {
    let generation = params.generation;
    let language = params.text("language").unwrap_or("ru");
    let (registered, receipts) = bank.work(|ledger, now_ms| {
        let asked = draft(params, two_stage, effects, now_ms, bank.ahead_ms())?;
        let index = ledger.commit(asked, now_ms).map_err(|_taken| Refused::with(1))?;
        Ok(ledger.order(index).id.clone())
    });
    match registered {
        Ok(id) => words::registered(generation, &id, &format!("{public_url}/pay/sber/{id}"))
            .committed(receipts),
        Err(refused) => words::refused(generation, refused, language),
    }
}

fn draft(
    params: &Params,
    two_stage: bool,
    effects: &OrderEffects,
    now_ms: i64,
    ahead_ms: i64,
) -> Result<NewOrder, Refused> {
    let number = order_number(params)?;
    let amount = params.whole("amount")?.ok_or(Refused::missing("amount"))?;
    if amount == 0 || amount > 999_999_999_999 {
        return Err(Refused::bad("amount"));
    }
    if params.text("currency").is_some_and(|currency| currency != RUBLES) {
        return Err(Refused::with(3));
    }
    let return_url = url(params, "returnUrl")?.ok_or(Refused::missing("returnUrl"))?;
    let fail_url = url(params, "failUrl")?;
    features(params)?;
    basket(params, amount)?;
    if params.text("language").is_some_and(|language| language.len() != 2) {
        return Err(Refused::bad("language"));
    }
    Ok(NewOrder {
        protocol: match params.generation {
            Generation::Classic => super::CLASSIC,
            Generation::Json => super::JSON,
        },
        number,
        amount,
        two_stage,
        description: description(params)?,
        return_url,
        fail_url,
        params: json_params(params)?,
        expires_at_ms: expiry(params, now_ms, ahead_ms)?,
        effects: effects.clone(),
    })
}

fn order_number(params: &Params) -> Result<String, Refused> {
    let number = params.text("orderNumber").ok_or(Refused::missing("orderNumber"))?;
    let (limit, refusal) = match params.generation {
        // Code 1 also says that the number itself is not acceptable.
        Generation::Classic => (32, Refused::with(1)),
        Generation::Json => (36, Refused::missing("orderNumber")),
    };
    let printable = number.chars().all(|letter| letter.is_ascii_graphic() && letter != ';');
    if number.len() > limit || !printable { Err(refusal) } else { Ok(number.to_owned()) }
}

fn url(params: &Params, name: &'static str) -> Result<Option<String>, Refused> {
    let Some(url) = params.text(name) else { return Ok(None) };
    let (shortest, longest) = match params.generation {
        Generation::Classic => (1, 512),
        Generation::Json => (12, 2048),
    };
    let fits = (shortest..=longest).contains(&url.len())
        && url.chars().all(|letter| letter.is_ascii_graphic());
    if fits { Ok(Some(url.to_owned())) } else { Err(Refused::bad(name)) }
}

fn description(params: &Params) -> Result<String, Refused> {
    let text = params.text("description").unwrap_or_default();
    let allowed = match params.generation {
        Generation::Classic => {
            !text.chars().take(24).any(|letter| matches!(letter, '%' | '+' | '\r' | '\n'))
        }
        Generation::Json => text.chars().all(|letter| {
            letter == ' '
                || letter.is_ascii_graphic()
                || matches!(letter, 'а'..='я' | 'А'..='Я' | 'ё' | 'Ё' | '№' | '«' | '»')
        }),
    };
    if allowed && text.chars().count() <= 512 {
        Ok(text.to_owned())
    } else {
        Err(Refused::bad("description"))
    }
}

fn features(params: &Params) -> Result<(), Refused> {
    for feature in params.text("features").into_iter().flat_map(|features| features.split(';')) {
        if feature == "VERIFY" {
            return Err(Refused::with(13));
        }
        if !KNOWN_FEATURES.contains(&feature) {
            return Err(Refused::with(14));
        }
    }
    Ok(())
}

/// Positions must sum to the order.
fn basket(params: &Params, amount: i64) -> Result<(), Refused> {
    let Some(bundle) = params.object("orderBundle")? else { return Ok(()) };
    let items =
        bundle.get("cartItems").and_then(|cart| cart.get("items")).and_then(Value::as_array);
    let items = items.ok_or(Refused::with(8))?;
    let amounts: Option<i64> =
        items.iter().map(|item| item.get("itemAmount").and_then(Value::as_i64)).sum();
    if amounts == Some(amount) { Ok(()) } else { Err(Refused::with(8)) }
}

fn json_params(params: &Params) -> Result<Vec<(String, String)>, Refused> {
    const NAME: &str = "jsonParams";
    let members = params.object(NAME)?.unwrap_or_default();
    if members.len() > 99 {
        return Err(Refused::bad(NAME));
    }
    let pair = |(name, value): (String, Value)| match value {
        Value::String(text) => Ok((name, text)),
        Value::Bool(_) | Value::Number(_) => Ok((name, value.to_string())),
        // A nested object has been refused unless it is itself a text.
        Value::Null | Value::Array(_) | Value::Object(_) => Err(Refused::bad(NAME)),
    };
    members.into_iter().map(pair).collect()
}

fn expiry(params: &Params, now_ms: i64, ahead_ms: i64) -> Result<i64, Refused> {
    let local = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
    if let Some(text) = params.text("expirationDate") {
        let local =
            PrimitiveDateTime::parse(text, local).map_err(|_| Refused::bad("expirationDate"))?;
        return Ok(words::from_moscow(local) + ahead_ms);
    }
    let life = params.whole("sessionTimeoutSecs")?.unwrap_or(DEFAULT_LIFE_SECS);
    if life > 999_999_999 {
        Err(Refused::bad("sessionTimeoutSecs"))
    } else {
        Ok(now_ms + life * 1000)
    }
}
