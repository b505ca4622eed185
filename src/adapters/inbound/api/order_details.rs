//! What a shop may say of an order beside what is bought, as it is read from the body of
//! `POST /v1/orders`.

use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::core::domain::details::{
    Buyer, ExternalId, MAX_DESCRIPTION, MAX_METADATA, MAX_METADATA_KEY, MAX_METADATA_VALUE,
    OrderDetails, ShopReference, Vat,
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use utoipa::ToSchema;

pub const BAD_EXTERNAL_ID: Text = Text::new(
    "must be 1 to 64 visible ASCII characters",
    "должно быть от 1 до 64 видимых символов ASCII",
);
const BAD_DESCRIPTION: Text = Text::new(
    "must be 1 to 128 characters without line breaks",
    "должно быть от 1 до 128 символов без переносов строки",
);
const BAD_METADATA: Text =
    Text::new("must hold at most 20 pairs", "должно содержать не больше 20 пар");
const BAD_METADATA_KEY: Text = Text::new(
    "must have a key of 1 to 40 of A-Z a-z 0-9 _ . -",
    "ключ должен содержать от 1 до 40 символов из A-Z a-z 0-9 _ . -",
);
const BAD_METADATA_VALUE: Text = Text::new(
    "must be a string of at most 255 characters without control characters",
    "должно быть строкой не длиннее 255 символов без управляющих символов",
);
const BAD_BUYER: Text =
    Text::new("must have an email or a phone", "должно содержать email или phone");
const BAD_EMAIL: Text = Text::new("must be an e-mail address", "должно быть адресом почты");
const BAD_PHONE: Text = Text::new(
    "must be 7 to 15 digits, with or without + before them",
    "должно содержать от 7 до 15 цифр, перед ними может стоять +",
);
const BAD_VAT: Text = Text::new(
    "must be none, vat0, vat5, vat7, vat10, vat20 or vat22",
    "должно быть none, vat0, vat5, vat7, vat10, vat20 или vat22",
);

/// The members of the body that are read here.
pub const MEMBERS: [&str; 4] = ["external_id", "description", "metadata", "buyer"];

// How it is read: `details`.
/// Where the receipt goes. Told to the payment system if its protocol takes it, to nobody else, and erased
/// after `BUYER_RETENTION`: no answer ever shows it.
#[expect(dead_code, reason = "only its schema is used: bodies are read by hand")]
#[derive(Debug, ToSchema)]
#[schema(as = Buyer)]
pub struct BuyerBody {
    #[schema(required = false, max_length = 128, example = "buyer@example.com")]
    email: String,
    /// As in E.164.
    #[schema(required = false, pattern = "^\\+?[0-9]{7,15}$", example = "+79991234567")]
    phone: String,
}

/// `owner` is whose external ids these are.
pub fn details(
    members: &Map<String, Value>,
    owner: &str,
    violations: &mut Violations,
) -> OrderDetails {
    let root = JsonPointer::Root;
    let mut text = |name, parse: fn(&str) -> bool, otherwise| {
        let at = root.member(name);
        let text = violations.string(members.get(name)?, at)?;
        violations.parsed(parse(text).then_some(text), at, otherwise)
    };
    let external_id =
        text("external_id", |text| ExternalId::parse(text).is_some(), BAD_EXTERNAL_ID);
    let description = text("description", |text| is_line(text, MAX_DESCRIPTION), BAD_DESCRIPTION);
    let description = description.map(Into::into);
    let metadata = members.get("metadata").map(|value| metadata(value, violations));
    let buyer = members.get("buyer").and_then(|value| buyer(value, violations));
    let reference = external_id
        .and_then(ExternalId::parse)
        .map(|external_id| ShopReference { owner: owner.into(), external_id });
    OrderDetails { reference, description, metadata: metadata.unwrap_or_default(), buyer }
}

/// The rate of a line, if it is told.
pub fn vat(
    members: &Map<String, Value>,
    at: JsonPointer<'_>,
    violations: &mut Violations,
) -> Option<Vat> {
    let at = at.member("vat");
    let word = violations.string(members.get("vat")?, at)?;
    violations.parsed(Vat::parse(word), at, BAD_VAT)
}

fn is_line(text: &str, longest: usize) -> bool {
    let length = text.chars().count();
    (1..=longest).contains(&length) && !text.chars().any(char::is_control)
}

fn metadata(value: &Value, violations: &mut Violations) -> BTreeMap<String, String> {
    let at = JsonPointer::Root.member("metadata");
    let Some(pairs) = value.as_object().filter(|pairs| pairs.len() <= MAX_METADATA) else {
        violations.add(at, BAD_METADATA);
        return BTreeMap::new();
    };
    let key_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let mut read = BTreeMap::new();
    for (key, value) in pairs {
        if !(1..=MAX_METADATA_KEY).contains(&key.len()) || !key.bytes().all(key_byte) {
            violations.add(at.member(key), BAD_METADATA_KEY);
        }
        let fits = |text: &&str| text.is_empty() || is_line(text, MAX_METADATA_VALUE);
        match value.as_str().filter(fits) {
            Some(text) => drop(read.insert(key.clone(), text.to_owned())),
            None => violations.add(at.member(key), BAD_METADATA_VALUE),
        }
    }
    read
}

fn buyer(value: &Value, violations: &mut Violations) -> Option<Buyer> {
    let at = JsonPointer::Root.member("buyer");
    let members = violations.object(value, at, &["email", "phone"])?;
    if members.is_empty() {
        violations.add(at, BAD_BUYER);
    }
    let mut text = |name, parse: fn(&str) -> bool, otherwise| {
        let at = at.member(name);
        let text = violations.string(members.get(name)?, at)?;
        violations.parsed(parse(text).then(|| text.into()), at, otherwise)
    };
    let email = text("email", Buyer::is_email, BAD_EMAIL);
    let phone = text("phone", Buyer::is_phone, BAD_PHONE);
    Some(Buyer { email, phone })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::inbound::http_kit::lang::Lang;
    use crate::adapters::inbound::http_kit::problem_body::ProblemContext;
    use serde_json::json;

    fn read(body: &Value) -> Result<OrderDetails, Vec<String>> {
        let mut violations = Violations::default();
        let read = details(body.as_object().unwrap(), "shop", &mut violations);
        violations.into_result(Some(read)).map_err(|problem| {
            let context = ProblemContext { lang: Lang::En, instance: None, trace_id: None };
            let shown: Value = serde_json::from_slice(&problem.body(context)).unwrap();
            let errors = shown["errors"].as_array().unwrap();
            errors.iter().map(|error| error["pointer"].as_str().unwrap().to_owned()).collect()
        })
    }

    #[test]
    fn what_a_shop_says_is_kept_as_it_came() {
        let body = json!({
            "external_id": "A-1/2", "description": "Чай и печенье",
            "metadata": {"utm": "", "basket_id": "7"}, "buyer": {"phone": "+79991234567"},
        });
        let details = read(&body).unwrap();
        assert_eq!(details.external_id().unwrap().as_str(), "A-1/2");
        assert_eq!(details.description.as_deref(), Some("Чай и печенье"));
        assert_eq!(details.metadata["basket_id"], "7");
        assert_eq!(details.buyer.unwrap().phone.as_deref(), Some("+79991234567"));
        assert_eq!(read(&json!({})), Ok(OrderDetails::default()));
    }

    #[test]
    fn everything_that_is_wrong_is_named() {
        let pairs: Map<String, Value> = (0..21).map(|n| (format!("k{n}"), json!("v"))).collect();
        for (body, pointers) in [
            (json!({"external_id": ""}), vec!["/external_id"]),
            (
                json!({"external_id": 7, "description": "a\nb"}),
                vec!["/external_id", "/description"],
            ),
            (json!({"description": "x".repeat(129)}), vec!["/description"]),
            (json!({"metadata": pairs}), vec!["/metadata"]),
            (json!({"metadata": []}), vec!["/metadata"]),
            (json!({"metadata": {"a b": "x", "n": 7}}), vec!["/metadata/a b", "/metadata/n"]),
            (json!({"metadata": {"n": "x".repeat(256)}}), vec!["/metadata/n"]),
            (json!({"buyer": {}}), vec!["/buyer"]),
            (json!({"buyer": {"email": "x", "phone": 7}}), vec!["/buyer/email", "/buyer/phone"]),
            (json!({"buyer": {"name": "x"}}), vec!["/buyer/name"]),
        ] {
            assert_eq!(
                read(&body),
                Err(pointers.iter().map(ToString::to_string).collect()),
                "{body}"
            );
        }
    }
}
