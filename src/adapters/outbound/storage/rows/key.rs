//! Rows of `idempotency_keys`. What a key stands for is a small object in the body's column, whose members
//! are those of the replies that earlier versions kept there: both are read by the same words.

use super::cells::{known, read, write};
use crate::core::domain::ids::{OrderId, ProductId, TaskId};
use crate::core::domain::order::{OrderInvalid, OrderStatus};
use crate::core::ports::idempotency::{
    Fingerprint, IdempotencyRecord, IdempotentRequest, KeptOutcome, Refusal,
};
use crate::core::ports::storage_error::StorageError;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Debug, Serialize)]
pub struct KeyRow<'a> {
    owner: &'a str,
    route: &'static str,
    key: &'a str,
    fingerprint: String,
    /// For earlier versions, which gave it with the body.
    status: u16,
    body: String,
}

#[derive(Debug, Deserialize)]
pub struct RecordRow {
    fingerprint: String,
    body: String,
}

impl<'a> KeyRow<'a> {
    pub fn of(request: &'a IdempotentRequest, outcome: &KeptOutcome) -> Self {
        let key = &request.key;
        Self {
            owner: &key.owner,
            route: key.route,
            key: &key.key,
            fingerprint: request.fingerprint.iter().map(|byte| format!("{byte:02x}")).collect(),
            status: status(outcome),
            body: write(&OutcomeRow::from(outcome)),
        }
    }
}

impl RecordRow {
    pub fn restore(self) -> Result<IdempotencyRecord, StorageError> {
        let fingerprint = known(unhex(&self.fingerprint))?;
        let outcome = known(read::<OutcomeRow>(&self.body)?.restore())?;
        Ok(IdempotencyRecord { fingerprint, outcome })
    }
}

fn unhex(text: &str) -> Option<Fingerprint> {
    let byte = |at: usize| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..text.len().div_ceil(2)).map(byte).collect();
    bytes?.try_into().ok()
}

const fn status(outcome: &KeptOutcome) -> u16 {
    match outcome {
        KeptOutcome::Placed(_) => 201,
        KeptOutcome::Refunding(_) => 202,
        KeptOutcome::Refused(Refusal::NotRefundable(_)) => 409,
        KeptOutcome::Refused(
            Refusal::OrderInvalid(_)
            | Refusal::ProductsNotFound(_)
            | Refusal::CurrencyNotSupported(_)
            | Refusal::RefundExceeds
            | Refusal::RefundRejected,
        ) => 422,
    }
}

/// An order by its id, a refund by its task's, a refusal by its code.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct OutcomeRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    product_id: Option<String>,
    /// All of them, where they are more than one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    products: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    invalid: Option<String>,
}

const ORDER_INVALID: &str = "order_invalid";
const PRODUCT_NOT_FOUND: &str = "product_not_found";
const CURRENCY: &str = "currency_not_supported";
const NOT_REFUNDABLE: &str = "order_not_refundable";
const REFUND_EXCEEDS: &str = "refund_exceeds_payment";
const REFUND_REJECTED: &str = "refund_rejected";

impl From<&KeptOutcome> for OutcomeRow {
    fn from(outcome: &KeptOutcome) -> Self {
        match outcome {
            KeptOutcome::Placed(order) => Self { id: Some(order.uuid()), ..Self::default() },
            KeptOutcome::Refunding(task) => Self { task_id: Some(task.get()), ..Self::default() },
            KeptOutcome::Refused(refusal) => Self::refused(refusal),
        }
    }
}

impl OutcomeRow {
    fn refused(refusal: &Refusal) -> Self {
        let coded = |code: &str| Self { code: Some(code.to_owned()), ..Self::default() };
        match refusal {
            Refusal::OrderInvalid(invalid) => Self {
                invalid: invalid.map(|invalid| invalid.as_str().to_owned()),
                ..coded(ORDER_INVALID)
            },
            Refusal::ProductsNotFound(products) => Self::about(products, PRODUCT_NOT_FOUND),
            Refusal::CurrencyNotSupported(products) => Self::about(products, CURRENCY),
            Refusal::NotRefundable(status) => {
                Self { order_status: Some(status.as_str().to_owned()), ..coded(NOT_REFUNDABLE) }
            }
            Refusal::RefundExceeds => coded(REFUND_EXCEEDS),
            Refusal::RefundRejected => coded(REFUND_REJECTED),
        }
    }

    fn about(products: &[ProductId], code: &str) -> Self {
        let word = |product: &ProductId| product.as_str().to_owned();
        let several = if products.len() > 1 { products } else { &[] };
        Self {
            code: Some(code.to_owned()),
            product_id: products.first().map(word),
            products: several.iter().map(word).collect(),
            ..Self::default()
        }
    }

    fn products(&self) -> Option<Vec<ProductId>> {
        let several = !self.products.is_empty();
        let words = if several { self.products.as_slice() } else { self.product_id.as_slice() };
        words.iter().map(|word| ProductId::parse(word).ok()).collect()
    }

    fn restore(self) -> Option<KeptOutcome> {
        if let Some(code) = &self.code {
            return self.refusal(code).map(KeptOutcome::Refused);
        }
        if let Some(task) = self.task_id {
            return TaskId::from_i64(task).map(KeptOutcome::Refunding);
        }
        self.id.map(|id| KeptOutcome::Placed(OrderId::from_uuid(id)))
    }

    fn refusal(&self, code: &str) -> Option<Refusal> {
        match code {
            ORDER_INVALID => {
                Some(Refusal::OrderInvalid(self.invalid.as_deref().and_then(OrderInvalid::parse)))
            }
            PRODUCT_NOT_FOUND => {
                let products = self.products().filter(|products| !products.is_empty());
                products.map(Refusal::ProductsNotFound)
            }
            CURRENCY => self.products().map(Refusal::CurrencyNotSupported),
            NOT_REFUNDABLE => {
                let status = OrderStatus::parse(self.order_status.as_deref()?)?;
                Some(Refusal::NotRefundable(status))
            }
            REFUND_EXCEEDS => Some(Refusal::RefundExceeds),
            REFUND_REJECTED => Some(Refusal::RefundRejected),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restored(body: &str) -> Option<KeptOutcome> {
        RecordRow { fingerprint: "09".repeat(32), body: body.to_owned() }
            .restore()
            .ok()
            .map(|record| record.outcome)
    }

    #[test]
    fn what_an_earlier_version_kept_is_read_by_its_members() {
        let id = "019ad2ee-7a00-7000-8000-000000000001";
        let order = format!(
            r#"{{"id":"{id}","customer_id":"c-1","status":"new","items":[],"total":{{}},"payment":null,"task_id":null}}"#
        );
        let uuid = id.parse().unwrap();
        assert_eq!(restored(&order), Some(KeptOutcome::Placed(OrderId::from_uuid(uuid))));
        let queued = format!(r#"{{"status":"queued","order_id":"{id}","task_id":7}}"#);
        assert_eq!(restored(&queued), Some(KeptOutcome::Refunding(TaskId::new(7))));
        let problem = |code: &str, members: &str| {
            restored(&format!(
                r#"{{"type":"/problems/x","title":"T","status":422,"code":"{code}","detail":"d"{members}}}"#
            ))
        };
        let tea = ProductId::parse("tea").unwrap();
        for (code, members, refusal) in [
            ("product_not_found", r#","product_id":"tea""#, Refusal::ProductsNotFound(vec![tea])),
            ("order_invalid", "", Refusal::OrderInvalid(None)),
            (
                "order_not_refundable",
                r#","order_status":"new""#,
                Refusal::NotRefundable(OrderStatus::New),
            ),
            ("refund_exceeds_payment", "", Refusal::RefundExceeds),
        ] {
            assert_eq!(problem(code, members), Some(KeptOutcome::Refused(refusal)), "{code}");
        }
    }

    #[test]
    fn what_says_nothing_is_no_outcome() {
        for body in ["{}", "", "[]", r#"{"code":"of_a_newer_version"}"#, r#"{"task_id":0}"#] {
            assert_eq!(restored(body), None, "{body}");
        }
        for fingerprint in ["", "09", "0", "zz"] {
            let row =
                RecordRow { fingerprint: fingerprint.repeat(32), body: r#"{"task_id":7}"#.into() };
            assert_eq!(row.restore().is_ok(), fingerprint == "09", "{fingerprint}");
        }
    }
}
