//! How money is read from a body.

use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::core::domain::money::{Currency, Money};
use serde_json::Value;

const BAD_AMOUNT: Text = Text::new(
    "must be whole minor units, at least 1",
    "должно быть целым числом копеек, не меньше 1",
);
const BAD_CURRENCY: Text =
    Text::new("must be an ISO 4217 code", "должно быть кодом валюты ISO 4217");

pub fn money(value: &Value, at: JsonPointer<'_>, violations: &mut Violations) -> Option<Money> {
    let members = violations.object(value, at, &["amount", "currency"])?;
    let minor = violations.member(members, at, "amount").and_then(|value| {
        let minor = value.as_i64().filter(|minor| *minor > 0);
        violations.parsed(minor, at.member("amount"), BAD_AMOUNT)
    });
    let currency = violations.member(members, at, "currency").and_then(|value| {
        let at = at.member("currency");
        let code = violations.string(value, at)?;
        violations.parsed(Currency::parse(code).ok(), at, BAD_CURRENCY)
    });
    Money::new(minor?, currency?).ok()
}
