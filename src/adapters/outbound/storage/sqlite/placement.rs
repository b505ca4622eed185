//! Placing: all new orders of a batch in one statement.

use super::keys::{find_record, keep_outcome};
use super::sql;
use super::writer::{self, Tx, WriteError};
use crate::adapters::outbound::storage::invariants::READABLE;
use crate::adapters::outbound::storage::rows::{OrderRow, clean, write};
use crate::core::domain::details::ShopReference;
use crate::core::domain::ids::OrderId;
use crate::core::domain::order::Order;
use crate::core::ports::idempotency::{IdempotentRequest, KeptOutcome};
use crate::core::ports::order_repository::Placed;
use crate::core::ports::storage_error::StorageError;
use uuid::Uuid;

#[derive(Debug)]
pub struct Placement {
    pub order: Order,
    pub once: Option<IdempotentRequest>,
}

/// Who is refused inside of it spoils the batch for nobody.
pub type Request = writer::Request<Placement, Result<Placed, StorageError>>;

/// Of two with the same key in one batch, the first is placed and the second finds its record; of two with
/// the same external id, the second finds the first.
pub async fn run_all(requests: &mut [Request], tx: &mut Tx<'_>) -> Result<(), WriteError> {
    let mut new: Vec<Order> = Vec::with_capacity(requests.len());
    for request in requests {
        let placement = &request.work;
        if let Some(once) = &placement.once
            && let Some(record) = find_record(tx, &once.key).await?
        {
            request.output = Some(Ok(Placed::Known(record)));
            continue;
        }
        if let Some(reference) = &placement.order.details.reference
            && let Some(taken_by) = order_behind(tx, reference, &new).await?
        {
            request.output = Some(Err(StorageError::ExternalIdTaken(taken_by)));
            continue;
        }
        if let Some(once) = &placement.once {
            keep_outcome(tx, once, &KeptOutcome::Placed(placement.order.id)).await?;
        }
        let (created_at, updated_at) = (tx.now, tx.now);
        let order = Order { created_at, updated_at, version: 1, ..placement.order.clone() };
        new.push(order.clone());
        request.output = Some(Ok(Placed::New(order)));
    }
    if !new.is_empty() {
        let rows: Vec<_> = new.iter().map(OrderRow::from).collect();
        sqlx::query(sql::PLACE).bind(write(&rows)).execute(&mut *tx.connection).await?;
    }
    Ok(())
}

/// The order that the shop calls so, stored or about to be.
async fn order_behind(
    tx: &mut Tx<'_>,
    reference: &ShopReference,
    new: &[Order],
) -> Result<Option<OrderId>, WriteError> {
    let named = |order: &&Order| order.details.reference.as_ref() == Some(reference);
    if let Some(order) = new.iter().find(named) {
        return Ok(Some(order.id));
    }
    let id: Option<Vec<u8>> = sqlx::query_scalar(sql::REFERRED)
        .bind(reference.external_id.as_str())
        .bind(clean(&reference.owner))
        .fetch_optional(&mut *tx.connection)
        .await?;
    let id = id.map(|id| Uuid::from_slice(&id)).transpose();
    Ok(id.map_err(|_| StorageError::Corrupt(READABLE))?.map(OrderId::from_uuid))
}
