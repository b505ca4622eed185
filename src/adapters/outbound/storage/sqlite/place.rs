//! Placing: all new orders of a batch in one statement.

use super::keys::{find_reply, keep_reply};
use super::sql;
use super::writer::{self, Tx, WriteError};
use crate::adapters::outbound::storage::decision::without_panic;
use crate::adapters::outbound::storage::rows::{OrderRow, write};
use crate::core::domain::order::Order;
use crate::core::ports::idempotency::{IdempotencyKey, KeptReply, KeyedOrder, Placed};
use std::collections::HashMap;

#[derive(Debug)]
pub struct Placement {
    pub order: Order,
    pub key: Option<KeyedOrder>,
}

pub type Request = writer::Request<Placement, Placed>;

/// Of two with the same key in one batch, the first is placed and the second finds its reply.
pub async fn run_all(requests: &mut [Request], tx: &mut Tx<'_>) -> Result<(), WriteError> {
    let mut new = Vec::with_capacity(requests.len());
    let mut replies: HashMap<IdempotencyKey, KeptReply> = HashMap::new();
    for request in requests {
        let order = Order {
            created_at: tx.now,
            updated_at: tx.now,
            version: 1,
            ..request.work.order.clone()
        };
        let Some(KeyedOrder { key, fingerprint, render }) = &request.work.key else {
            new.push(OrderRow::from(&order));
            request.output = Some(Placed::New(order));
            continue;
        };
        let known = match replies.get(key) {
            Some(reply) => Some(reply.clone()),
            None => find_reply(tx, key).await?,
        };
        request.output = Some(if let Some(reply) = known {
            Placed::Known(reply)
        } else {
            let (status, body) = without_panic(|| render(&order))?;
            let reply = KeptReply { fingerprint: *fingerprint, status, body };
            keep_reply(tx, key, &reply).await?;
            replies.insert(key.clone(), reply);
            new.push(OrderRow::from(&order));
            Placed::New(order)
        });
    }
    if !new.is_empty() {
        sqlx::query(sql::PLACE).bind(write(&new)).execute(&mut *tx.connection).await?;
    }
    Ok(())
}
