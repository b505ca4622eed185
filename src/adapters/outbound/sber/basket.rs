//! What a receipt is made from, in the bank's words: the basket of the classic generation. The other one
//! wants the merchant's own tax data along with it, which stays with the merchant's cash register service;
//! there only the payer's address is told.

use super::config::Protocol;
use super::fields::Fields;
use crate::core::domain::details::Vat;
use crate::core::domain::order::Item;
use crate::core::ports::payment::Receipt;
use serde_json::{Value, json};

/// Characters of a position's name.
const LONGEST_NAME: usize = 100;

/// Adds it to a registration's fields.
pub(super) fn tell(protocol: Protocol, receipt: &Receipt, fields: &mut Fields) {
    let buyer = receipt.buyer.as_ref();
    let contacts = [
        ("email", buyer.and_then(|buyer| buyer.email.as_deref())),
        ("phone", buyer.and_then(|buyer| buyer.phone.as_deref())),
    ];
    let contacts: Fields =
        contacts.into_iter().filter_map(|(name, told)| Some((name.into(), told?.into()))).collect();
    match protocol {
        Protocol::Json => fields.extend(contacts),
        Protocol::Classic => {
            let items: Vec<Value> = (1..).zip(&receipt.items).map(position).collect();
            let mut bundle = json!({ "cartItems": { "items": items } });
            if !contacts.is_empty() {
                bundle["customerDetails"] = Value::Object(contacts);
            }
            fields.insert("orderBundle".into(), bundle);
        }
    }
}

fn position((place, item): (u32, &Item)) -> Value {
    let price = item.unit_price.minor();
    let name: String = item.name.chars().take(LONGEST_NAME).collect();
    let mut position = json!({
        "positionId": place,
        "name": name,
        "quantity": { "value": item.quantity, "measure": "шт" },
        "itemCode": item.product_id.as_str(),
        "itemPrice": price,
        // The order's total is the sum of these, so this has no way to overflow.
        "itemAmount": price * i64::from(item.quantity),
    });
    if let Some(vat) = item.vat {
        position["tax"] = json!({ "taxType": tax_type(vat) });
    }
    position
}

/// The bank's number for a rate. Those of 5, 7 and 22 % are younger than the rest and seen in public
/// clients only.
const fn tax_type(vat: Vat) -> u8 {
    match vat {
        Vat::None => 0,
        Vat::Zero => 1,
        Vat::Ten => 2,
        Vat::Twenty => 6,
        Vat::Five => 10,
        Vat::Seven => 12,
        Vat::TwentyTwo => 14,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::domain::details::Buyer;
    use crate::core::domain::ids::ProductId;
    use crate::core::domain::money::Money;

    fn receipt() -> Receipt {
        let item = |product: &str, quantity, kopecks, vat| Item {
            product_id: ProductId::parse(product).unwrap(),
            name: "Чай ".repeat(40),
            quantity,
            unit_price: Money::rub(kopecks).unwrap(),
            price_stale: false,
            vat,
        };
        let buyer = Buyer { email: Some("a@b.example".into()), phone: None };
        let items = vec![item("p-1", 2, 150, Some(Vat::TwentyTwo)), item("p-2", 1, 99, None)];
        Receipt { buyer: Some(buyer), items }
    }

    #[test]
    fn the_classic_basket_sums_to_the_order() {
        let mut fields = Fields::new();
        tell(Protocol::Classic, &receipt(), &mut fields);
        let bundle = &fields["orderBundle"];
        assert_eq!(bundle["customerDetails"], json!({"email": "a@b.example"}));
        let items = bundle["cartItems"]["items"].as_array().unwrap();
        let amounts: Vec<_> =
            items.iter().map(|item| item["itemAmount"].as_i64().unwrap()).collect();
        assert_eq!(amounts, [300, 99]);
        assert_eq!(items[0]["tax"], json!({"taxType": 14}));
        assert_eq!(items[1].get("tax"), None);
        assert_eq!(items[0]["name"].as_str().unwrap().chars().count(), LONGEST_NAME);
        assert_eq!((&items[0]["positionId"], &items[1]["positionId"]), (&json!(1), &json!(2)));
    }

    #[test]
    fn the_other_generation_is_told_where_the_receipt_goes() {
        let mut fields = Fields::new();
        tell(Protocol::Json, &receipt(), &mut fields);
        assert_eq!(Value::Object(fields), json!({"email": "a@b.example"}));
    }
}
