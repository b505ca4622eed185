//! The body of `POST /v1/orders`, read with all its violations at once.

use crate::adapters::inbound::api::idempotency::fingerprint;
use crate::adapters::inbound::api::money::money;
use crate::adapters::inbound::api::order_details::{BuyerBody, MEMBERS, details, vat};
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::adapters::inbound::resources::ids::BAD_ID;
use crate::adapters::inbound::resources::wire::MoneyBody;
use crate::core::domain::details::{ExternalId, OrderDetails, Vat};
use crate::core::domain::ids::{CustomerId, ProductId};
use crate::core::domain::money::Money;
use crate::core::domain::order::{MAX_ITEMS, MAX_QUANTITY};
use crate::core::ports::idempotency::Fingerprint;
use crate::core::use_cases::place_order::NewLine;
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::ToSchema;

const BAD_COUNT: Text =
    Text::new("must hold 1 to 100 items", "должно содержать от 1 до 100 позиций");
const BAD_QUANTITY: Text =
    Text::new("must be a whole number, 1 to 10000", "должно быть целым числом от 1 до 10000");

// How it is read, with all violations at once: `OrderRequest`.
/// What a customer wants to buy.
#[expect(dead_code, reason = "only its schema is used: bodies are read by hand")]
#[derive(Debug, ToSchema)]
#[schema(as = NewOrder)]
pub struct NewOrderBody {
    /// Null for a guest, whom only who may order for anybody can order for. Who may order for one customer
    /// alone may leave it out.
    #[schema(pattern = "^[A-Za-z0-9_.-]{1,64}$", required, example = "c-42")]
    customer_id: Option<String>,
    /// The shop's own number for the order: one order of its owner has it, a second one is 409
    /// `external_id_taken`.
    #[schema(pattern = "^[!-~]{1,64}$", required = false, example = "A-1001")]
    external_id: String,
    /// What the payer reads on the payment system's page.
    #[schema(min_length = 1, max_length = 128, required = false, example = "Tea for two")]
    description: String,
    /// Up to 20 pairs of the shop's own words, given back as they came: keys of 1 to 40 of
    /// `A-Za-z0-9_.-`, values of at most 255 characters.
    #[schema(required = false)]
    metadata: BTreeMap<String, String>,
    #[schema(required = false)]
    buyer: BuyerBody,
    #[schema(min_items = 1, max_items = 100)]
    items: Vec<NewItemBody>,
    /// What the customer was shown: if the total differs, the order is not placed (409 `price_changed`).
    #[schema(required = false)]
    expected_total: MoneyBody,
}

#[expect(dead_code, reason = "only its schema is used: bodies are read by hand")]
#[derive(Debug, ToSchema)]
#[schema(as = NewOrderItem)]
pub struct NewItemBody {
    /// Once in an order.
    #[schema(pattern = "^[A-Za-z0-9_.-]{1,64}$", example = "p-1")]
    product_id: String,
    #[schema(minimum = 1, maximum = 10_000, example = 2)]
    quantity: u32,
    /// The rate of value added tax, for the receipt.
    #[schema(
        pattern = "^(none|vat0|vat5|vat7|vat10|vat20|vat22)$",
        required = false,
        example = "vat20"
    )]
    vat: String,
}

#[derive(Debug)]
pub struct OrderRequest {
    pub customer_id: Option<CustomerId>,
    pub lines: Vec<NewLine>,
    pub details: OrderDetails,
    pub expected_total: Option<Money>,
}

impl OrderRequest {
    /// `owner` is whose external ids these are, `own` the only customer for whom it may be: that one need not
    /// be named.
    pub fn read(body: &Value, owner: &str, own: Option<&CustomerId>) -> Result<Self, Problem> {
        let mut violations = Violations::default();
        let request = Self::from_object(body, (owner, own), &mut violations);
        violations.into_result(request)
    }

    fn from_object(
        body: &Value,
        (owner, own): (&str, Option<&CustomerId>),
        violations: &mut Violations,
    ) -> Option<Self> {
        let root = JsonPointer::Root;
        let known = [&["customer_id", "items", "expected_total"], &MEMBERS[..]].concat();
        let members = violations.object(body, root, &known)?;
        let named = members.contains_key("customer_id") || own.is_none();
        let named = named.then(|| violations.member(members, root, "customer_id")).flatten();
        let customer_id = named.map_or_else(
            || own.cloned(),
            |value| {
                if value.is_null() {
                    return None;
                }
                let at = root.member("customer_id");
                let text = violations.string(value, at)?;
                violations.parsed(CustomerId::parse(text).ok(), at, BAD_ID)
            },
        );
        let lines = violations.member(members, root, "items").and_then(|value| {
            let at = root.member("items");
            let items = violations.array(value, at)?;
            if items.is_empty() || items.len() > MAX_ITEMS {
                violations.add(at, BAD_COUNT);
                return None;
            }
            let mut lines = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                lines.extend(line(item, at.element(index), violations));
            }
            Some(lines)
        });
        let expected_total = members
            .get("expected_total")
            .and_then(|value| money(value, root.member("expected_total"), violations));
        let details = details(members, owner, violations);
        Some(Self { customer_id, lines: lines?, details, expected_total })
    }

    /// What was read, not how it was written: spaces and the order of members mean nothing.
    pub fn fingerprint(&self, route: &str) -> Fingerprint {
        let expected_minor = self.expected_total.map(|total| total.minor().to_string());
        let quantities: Vec<String> =
            self.lines.iter().map(|line| line.quantity.to_string()).collect();
        let lines = self.lines.iter().zip(&quantities);
        let lines = lines.flat_map(|(line, quantity)| [line.product_id.as_str(), quantity]);
        let expected = expected_minor.as_deref().map(|minor| ["expected_total", minor]);
        let customer = self.customer_id.as_ref().map_or("", CustomerId::as_str);
        let parts = [route, customer].into_iter().chain(lines);
        fingerprint(parts.chain(expected.into_iter().flatten()).chain(self.words()))
    }

    /// What was said beside what is bought, each word after its name; nothing where nothing was said.
    fn words(&self) -> impl Iterator<Item = &str> {
        let OrderDetails { reference: _, description, metadata, buyer } = &self.details;
        let external_id = self.details.external_id().map(ExternalId::as_str);
        let buyer = buyer.as_ref();
        let named = [
            ("external_id", external_id),
            ("description", description.as_deref()),
            ("email", buyer.and_then(|buyer| buyer.email.as_deref())),
            ("phone", buyer.and_then(|buyer| buyer.phone.as_deref())),
        ];
        let named = named.into_iter().filter_map(|(name, word)| Some([name, word?]));
        let pairs = metadata.iter().map(|(key, value)| ["metadata", key, value]);
        let rates = self
            .lines
            .iter()
            .filter_map(|line| Some(["vat", line.product_id.as_str(), line.vat.map(Vat::as_str)?]));
        named.flatten().chain(pairs.flatten()).chain(rates.flatten())
    }
}

fn line(item: &Value, at: JsonPointer<'_>, violations: &mut Violations) -> Option<NewLine> {
    let members = violations.object(item, at, &["product_id", "quantity", "vat"])?;
    let product = violations.member(members, at, "product_id").and_then(|value| {
        let at = at.member("product_id");
        let text = violations.string(value, at)?;
        violations.parsed(ProductId::parse(text).ok(), at, BAD_ID)
    });
    let quantity = violations.member(members, at, "quantity").and_then(|value| {
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| (1..=MAX_QUANTITY).contains(number));
        violations.parsed(number, at.member("quantity"), BAD_QUANTITY)
    });
    let vat = vat(members, at, violations);
    Some(NewLine { product_id: product?, quantity: quantity?, vat })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::inbound::http_kit::lang::Lang;
    use crate::adapters::inbound::http_kit::problem_body::ProblemContext;
    use serde_json::json;

    fn pointers(body: &Value) -> Vec<String> {
        let problem = OrderRequest::read(body, "shop", None).unwrap_err();
        let context = ProblemContext { lang: Lang::En, instance: None, trace_id: None };
        let shown: Value = serde_json::from_slice(&problem.body(context)).unwrap();
        let errors = shown["errors"].as_array().unwrap();
        errors.iter().map(|error| error["pointer"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let body = json!({
            "customer_id": 7,
            "items": [
                {"product_id": "p-1", "quantity": 0},
                {"product_id": "..", "quantity": 1, "price": 1},
                {"quantity": 1.5},
                "p-2",
            ],
            "total": 1,
        });
        assert_eq!(
            pointers(&body),
            [
                "/total",
                "/customer_id",
                "/items/0/quantity",
                "/items/1/price",
                "/items/1/product_id",
                "/items/2/product_id",
                "/items/2/quantity",
                "/items/3",
            ]
        );
    }

    #[test]
    fn nonsense_of_every_type_is_named() {
        for (body, pointer) in [
            (json!(null), ""),
            (json!([]), ""),
            (json!({"customer_id": "c", "items": []}), "/items"),
            (json!({"customer_id": "c", "items": {}}), "/items"),
            (json!({"customer_id": "c"}), "/items"),
            (json!({"items": [{"product_id": "p", "quantity": 1}]}), "/customer_id"),
            (
                json!({"customer_id": "c", "items": [{"product_id": "p", "quantity": 1, "vat": "20"}]}),
                "/items/0/vat",
            ),
            (
                json!({"customer_id": "c", "items": [{"product_id": "p", "quantity": 10_001}]}),
                "/items/0/quantity",
            ),
            (
                json!({"customer_id": "c", "items": [{"product_id": "p", "quantity": -1}]}),
                "/items/0/quantity",
            ),
            (
                json!({"customer_id": "c", "items": [{"product_id": "p", "quantity": "1"}]}),
                "/items/0/quantity",
            ),
            (
                json!({"customer_id": "c", "items": [{"product_id": null, "quantity": 1}]}),
                "/items/0/product_id",
            ),
        ] {
            assert_eq!(pointers(&body), [pointer], "{body}");
        }
        let item = json!({"product_id": "p", "quantity": 1});
        assert_eq!(pointers(&json!({"customer_id": "c", "items": vec![item; 101]})), ["/items"]);
    }

    #[test]
    fn the_fingerprint_is_of_what_was_asked() {
        let print = |text: &str| {
            OrderRequest::read(&serde_json::from_str(text).unwrap(), "shop", None)
                .unwrap()
                .fingerprint("r")
        };
        let one = print(r#"{"customer_id":"c","items":[{"product_id":"p","quantity":1}]}"#);
        let spaced = print(r#"{ "items":[{"quantity":1, "product_id":"p"}], "customer_id":"c" }"#);
        let two = print(r#"{"customer_id":"c","items":[{"product_id":"p","quantity":2}]}"#);
        assert_eq!(one, spaced);
        assert_ne!(one, two);
    }
}
