//! Placing, with and without a key. After a lost answer the order's id, which nobody else can have,
//! tells whether it is there.

use super::keys::find_reply;
use super::session::{AttemptError, Tx, Work};
use super::sql;
use crate::adapters::outbound::storage::decision::without_panic;
use crate::adapters::outbound::storage::invariants::FRESH_ID;
use crate::adapters::outbound::storage::rows::{OrderRow, write};
use crate::core::domain::order::Order;
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::idempotency::{KeyedOrder, Placed};
use crate::core::ports::storage_error::StorageError;

pub struct SinglePlacement {
    pub order: Order,
    /// An earlier attempt may have been committed without our knowing.
    pub perhaps_placed: bool,
}

#[async_trait::async_trait]
impl Work for SinglePlacement {
    type Output = Placed;
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Placed, AttemptError> {
        let placed: Result<i64, _> = sqlx::query_scalar(sql::PLACE)
            .bind(write(&[OrderRow::from(&self.order)]))
            .bind(tx.now)
            .fetch_one(&mut *tx.connection)
            .await;
        let perhaps_placed = self.perhaps_placed || tx.attempt > 0;
        match placed.map_err(AttemptError::from) {
            Ok(at) => Ok(Placed::New(stamped(&self.order, at))),
            Err(AttemptError::Refused(StorageError::Corrupt(FRESH_ID))) if perhaps_placed => {
                let (found, _) = look(tx, &self.order).await?;
                let at = found.ok_or(StorageError::Corrupt(FRESH_ID))?;
                Ok(Placed::New(stamped(&self.order, at)))
            }
            Err(error) => Err(error),
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

pub struct KeyedPlacement {
    pub order: Order,
    pub key: KeyedOrder,
}

#[async_trait::async_trait]
impl Work for KeyedPlacement {
    type Output = Placed;
    const TRANSACTION: bool = true;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Placed, AttemptError> {
        let Self { order, key: KeyedOrder { key, fingerprint, render } } = self;
        let (_, now) = look(tx, order).await?;
        let new = stamped(order, now);
        let (status, body) = without_panic(|| render(&new))?;
        let placed = sqlx::query(sql::PLACE_KEYED)
            .bind(write(&OrderRow::from(&new)))
            .bind(key.owner.as_str())
            .bind(key.route)
            .bind(key.key.as_str())
            .bind(fingerprint.to_vec())
            .bind(i64::from(status))
            .bind(body)
            .bind(now)
            .execute(&mut *tx.connection)
            .await?;
        if placed.rows_affected() > 0 {
            return Ok(Placed::New(new));
        }
        // The key is taken: by an earlier attempt of ours, if our order is there.
        if let (Some(at), _) = look(tx, order).await? {
            return Ok(Placed::New(stamped(order, at)));
        }
        let known = find_reply(tx, key).await?;
        // Pruned between the two statements.
        Ok(Placed::Known(known.ok_or(AttemptError::Again)?))
    }
}

fn stamped(order: &Order, at: i64) -> Order {
    let at = Timestamp::from_micros(at);
    Order { created_at: at, updated_at: at, version: 1, ..order.clone() }
}

/// When the order was placed, if it was; and what time it is.
async fn look(tx: &mut Tx<'_>, order: &Order) -> Result<(Option<i64>, i64), AttemptError> {
    Ok(sqlx::query_as(sql::PLACED)
        .bind(order.id.to_string())
        .bind(tx.now)
        .fetch_one(&mut *tx.connection)
        .await?)
}
