//! Placing: all new orders of a batch in one statement.

use super::keys::{find_record, keep_outcome};
use super::sql;
use super::writer::{self, Tx, WriteError};
use crate::adapters::outbound::storage::rows::{OrderRow, write};
use crate::core::domain::order::Order;
use crate::core::ports::idempotency::{IdempotentRequest, KeptOutcome};
use crate::core::ports::order_repository::Placed;

#[derive(Debug)]
pub struct Placement {
    pub order: Order,
    pub once: Option<IdempotentRequest>,
}

pub type Request = writer::Request<Placement, Placed>;

/// Of two with the same key in one batch, the first is placed and the second finds its record.
pub async fn run_all(requests: &mut [Request], tx: &mut Tx<'_>) -> Result<(), WriteError> {
    let mut new = Vec::with_capacity(requests.len());
    for request in requests {
        let placement = &request.work;
        if let Some(once) = &placement.once {
            if let Some(record) = find_record(tx, &once.key).await? {
                request.output = Some(Placed::Known(record));
                continue;
            }
            keep_outcome(tx, once, &KeptOutcome::Placed(placement.order.id)).await?;
        }
        let (created_at, updated_at) = (tx.now, tx.now);
        let order = Order { created_at, updated_at, version: 1, ..placement.order.clone() };
        new.push(OrderRow::from(&order));
        request.output = Some(Placed::New(order));
    }
    if !new.is_empty() {
        sqlx::query(sql::PLACE).bind(write(&new)).execute(&mut *tx.connection).await?;
    }
    Ok(())
}
