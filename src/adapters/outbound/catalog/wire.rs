//! The catalog's words, and how answers are kept in them. A price that is missing, negative or fractional makes
//! the whole answer unreadable: a guessed price would be worse than none. Whether its currency can be paid in is not the catalog's matter.

use crate::core::domain::ids::ProductId;
use crate::core::domain::money::{Currency, Money};
use crate::core::domain::unavailable::{Cause, Unknown};
use crate::core::ports::catalog::Product;
use serde::{Deserialize, Serialize};

/// A longer name is nonsense, and a hundred thousand of them would fill the memory.
const MAX_NAME_BYTES: usize = 1024;

#[derive(Deserialize)]
struct ProductBody {
    id: String,
    name: String,
    price: PriceBody,
}

#[derive(Deserialize)]
struct PriceBody {
    amount: i64,
    currency: String,
}

/// A product in the words that [`read_product`] reads.
#[derive(Serialize)]
pub(super) struct ProductWords<'a> {
    id: &'a str,
    name: &'a str,
    price: PriceWords,
}

#[derive(Serialize)]
struct PriceWords {
    amount: i64,
    currency: String,
}

impl<'a> ProductWords<'a> {
    pub(super) fn of(product: &'a Product) -> Self {
        let (amount, currency) = (product.price.minor(), product.price.currency());
        let price = PriceWords { amount, currency: currency.code().to_owned() };
        Self { id: product.id.as_str(), name: &product.name, price }
    }
}

/// # Errors
/// [`Unknown::Unreadable`] for anything but the product that was asked for.
pub(super) fn read_product(asked: &ProductId, body: &[u8]) -> Result<Product, Cause> {
    let told: ProductBody =
        serde_json::from_slice(body).map_err(|_| Cause::Unknown(Unknown::Unreadable))?;
    let price = Currency::parse(&told.price.currency)
        .and_then(|currency| Money::new(told.price.amount, currency))
        .map_err(|_| Cause::Unknown(Unknown::Unreadable))?;
    if told.id == asked.as_str() && told.name.len() <= MAX_NAME_BYTES {
        Ok(Product { id: asked.clone(), name: told.name, price })
    } else {
        Err(Cause::Unknown(Unknown::Unreadable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Product, Cause> {
        read_product(&ProductId::parse("p-1").unwrap(), body.as_bytes())
    }

    #[test]
    fn unknown_members_are_ignored_and_a_price_of_nothing_is_a_price() {
        let body =
            r#"{"id":"p-1","name":"Чай","price":{"amount":0,"currency":"RUB","vat":1},"x":[]}"#;
        let product = read(body).unwrap();
        assert_eq!((product.name.as_str(), product.price.minor()), ("Чай", 0));
    }

    #[test]
    fn nonsense_is_unreadable_and_never_a_price_of_nothing() {
        let with_price = |price: &str| format!(r#"{{"id":"p-1","name":"n","price":{price}}}"#);
        let long_name = "n".repeat(MAX_NAME_BYTES + 1);
        for body in [
            String::new(),
            "null".into(),
            "<html>".into(),
            r#"{"id":"p-1","name":"n"}"#.into(),
            r#"{"id":"p-2","name":"n","price":{"amount":1,"currency":"RUB"}}"#.into(),
            r#"{"id":"p-1","price":{"amount":1,"currency":"RUB"}}"#.into(),
            format!(
                r#"{{"id":"p-1","name":"{long_name}","price":{{"amount":1,"currency":"RUB"}}}}"#
            ),
            with_price("null"),
            with_price("{}"),
            with_price("1"),
            with_price(r#"{"amount":1}"#),
            with_price(r#"{"amount":-1,"currency":"RUB"}"#),
            with_price(r#"{"amount":1.5,"currency":"RUB"}"#),
            with_price(r#"{"amount":"1","currency":"RUB"}"#),
            with_price(r#"{"amount":9223372036854775808,"currency":"RUB"}"#),
            with_price(r#"{"amount":1,"currency":"rub"}"#),
        ] {
            assert_eq!(read(&body), Err(Cause::Unknown(Unknown::Unreadable)), "{body:.80}");
        }
    }
}
