//! Placing, with and without a key. After a lost answer the order's id, which nobody else can have,
//! tells whether it is there.

use super::keys::find_record;
use super::session::{AttemptError, Tx, Work};
use super::sql;
use crate::adapters::outbound::storage::invariants::{
    FRESH_ID, ONE_ORDER_OF_EXTERNAL_ID, READABLE,
};
use crate::adapters::outbound::storage::rows::{KeyRow, OrderRow, clean, write};
use crate::core::domain::ids::OrderId;
use crate::core::domain::order::Order;
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::idempotency::{IdempotentRequest, KeptOutcome};
use crate::core::ports::order_repository::Placed;
use crate::core::ports::storage_error::StorageError;

pub struct SinglePlacement {
    pub order: Order,
    /// An earlier attempt may have been committed without our knowing.
    pub perhaps_placed: bool,
}

#[async_trait::async_trait]
impl Work for SinglePlacement {
    type Output = Order;
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Order, AttemptError> {
        let placed: Result<i64, _> = sqlx::query_scalar(sql::PLACE)
            .bind(write(&[OrderRow::from(&self.order)]))
            .bind(tx.now)
            .fetch_one(&mut *tx.connection)
            .await;
        let perhaps_placed = self.perhaps_placed || tx.attempt > 0;
        match placed.map_err(AttemptError::from) {
            Ok(at) => Ok(stamped(&self.order, at)),
            Err(AttemptError::Refused(StorageError::Corrupt(FRESH_ID))) if perhaps_placed => {
                let found = placed_at(tx, &self.order).await?;
                Ok(stamped(&self.order, found.ok_or(StorageError::Corrupt(FRESH_ID))?))
            }
            Err(error) => match named_before(tx, &self.order, error).await? {
                Some(at) => Ok(stamped(&self.order, at)),
                None => Err(AttemptError::Again),
            },
        }
    }
}

/// All or none, in one statement.
pub struct BatchPlacement(pub Vec<Order>);

#[async_trait::async_trait]
impl Work for BatchPlacement {
    type Output = Option<Vec<Order>>;
    const TRANSACTION: bool = false;

    /// `None` after a lost answer: they must be looked for one by one.
    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Option<Vec<Order>>, AttemptError> {
        if tx.attempt > 0 {
            return Ok(None);
        }
        let rows: Vec<_> = self.0.iter().map(OrderRow::from).collect();
        let at: i64 = sqlx::query_scalar(sql::PLACE)
            .bind(write(&rows))
            .bind(tx.now)
            .fetch_one(&mut *tx.connection)
            .await?;
        Ok(Some(self.0.iter().map(|order| stamped(order, at)).collect()))
    }
}

/// The key decides: without it the order is not placed either.
pub struct KeyedPlacement {
    pub order: Order,
    pub request: IdempotentRequest,
}

#[async_trait::async_trait]
impl Work for KeyedPlacement {
    type Output = Placed;
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Placed, AttemptError> {
        let Self { order, request } = self;
        let placed: Result<Option<i64>, _> = sqlx::query_scalar(sql::PLACE_ONCE)
            .bind(write(&KeyRow::of(request, &KeptOutcome::Placed(order.id))))
            .bind(tx.now)
            .bind(write(&OrderRow::from(&*order)))
            .fetch_optional(&mut *tx.connection)
            .await;
        let placed = match placed {
            Ok(placed) => placed,
            Err(error) => match named_before(tx, order, error.into()).await? {
                Some(at) => Some(at),
                None => return Err(AttemptError::Again),
            },
        };
        // Where the key is taken it may be by an earlier attempt of ours, whose answer was lost.
        let placed = if placed.is_none() { placed_at(tx, order).await? } else { placed };
        if let Some(at) = placed {
            return Ok(Placed::New(stamped(order, at)));
        }
        let known = find_record(tx, &request.key).await?;
        // Pruned between the two statements.
        Ok(Placed::Known(known.ok_or(AttemptError::Again)?))
    }
}

fn stamped(order: &Order, at: i64) -> Order {
    let at = Timestamp::from_micros(at);
    Order { created_at: at, updated_at: at, version: 1, ..order.clone() }
}

/// After an error that may say that the shop has an order of that name: when this one was placed, if it is
/// that order (an earlier attempt's answer was lost); `None` when there is no such order any more.
///
/// # Errors
/// The other order's id, or whatever else the error said.
async fn named_before(
    tx: &mut Tx<'_>,
    order: &Order,
    error: AttemptError,
) -> Result<Option<i64>, AttemptError> {
    let Some(reference) = &order.details.reference else { return Err(error) };
    if !matches!(error, AttemptError::Refused(StorageError::Corrupt(ONE_ORDER_OF_EXTERNAL_ID))) {
        return Err(error);
    }
    let id: Option<String> = sqlx::query_scalar(sql::REFERRED)
        .bind(reference.external_id.as_str())
        .bind(clean(&reference.owner))
        .fetch_optional(&mut *tx.connection)
        .await?;
    let Some(id) = id else { return Ok(None) };
    let id = OrderId::parse(&id).ok_or(StorageError::Corrupt(READABLE))?;
    if id == order.id {
        return placed_at(tx, order).await;
    }
    Err(StorageError::ExternalIdTaken(id).into())
}

async fn placed_at(tx: &mut Tx<'_>, order: &Order) -> Result<Option<i64>, AttemptError> {
    Ok(sqlx::query_scalar(sql::PLACED_AT)
        .bind(order.id.to_string())
        .fetch_optional(&mut *tx.connection)
        .await?)
}
