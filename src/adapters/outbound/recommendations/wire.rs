//! The recommender's words.

use crate::core::domain::ids::ProductId;
use crate::core::domain::unavailable::{Cause, Unknown};
use crate::core::ports::recommendations::Recommendation;
use serde::Deserialize;

/// Nobody reads on after this many.
const MAX_ITEMS: usize = 100;

const MAX_NAME_BYTES: usize = 1024;

#[derive(Deserialize)]
struct ListBody {
    items: Vec<ItemBody>,
}

#[derive(Deserialize)]
struct ItemBody {
    product_id: String,
    name: String,
}

/// The best hints come first; what is beyond a hundred is left out.
///
/// # Errors
/// [`Unknown::Unreadable`] for anything but a list of products, each under a name of ours.
pub(super) fn read_list(body: &[u8]) -> Result<Vec<Recommendation>, Cause> {
    let told: ListBody =
        serde_json::from_slice(body).map_err(|_| Cause::Unknown(Unknown::Unreadable))?;
    told.items.into_iter().take(MAX_ITEMS).map(read_item).collect()
}

/// One bad item spoils the list: a recommender that invents ids is not to be trusted with the rest.
fn read_item(told: ItemBody) -> Result<Recommendation, Cause> {
    let product_id =
        ProductId::parse(&told.product_id).map_err(|_| Cause::Unknown(Unknown::Unreadable))?;
    if told.name.len() > MAX_NAME_BYTES {
        return Err(Cause::Unknown(Unknown::Unreadable));
    }
    Ok(Recommendation { product_id, name: told.name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_in_its_order_and_not_without_end() {
        let items: Vec<String> = (0..150)
            .map(|n| format!(r#"{{"product_id":"p-{n}","name":"n","score":0.5}}"#))
            .collect();
        let list = read_list(format!(r#"{{"items":[{}]}}"#, items.join(",")).as_bytes()).unwrap();
        assert_eq!(list.len(), MAX_ITEMS);
        assert_eq!(list[99].product_id.as_str(), "p-99");
        assert_eq!(read_list(br#"{"items":[]}"#), Ok(Vec::new()));
    }

    #[test]
    fn nonsense_is_unreadable() {
        let long_name = "n".repeat(MAX_NAME_BYTES + 1);
        for body in [
            "",
            "[]",
            "{}",
            "<html>",
            r#"{"items":null}"#,
            r#"{"items":[{"name":"n"}]}"#,
            r#"{"items":[{"product_id":1,"name":"n"}]}"#,
            r#"{"items":[{"product_id":"a/b","name":"n"}]}"#,
            r#"{"items":[{"product_id":"p-1","name":"n"},{"product_id":"","name":"n"}]}"#,
            &format!(r#"{{"items":[{{"product_id":"p-1","name":"{long_name}"}}]}}"#),
        ] {
            assert_eq!(
                read_list(body.as_bytes()),
                Err(Cause::Unknown(Unknown::Unreadable)),
                "{body:.80}"
            );
        }
    }
}
