//! What an idempotency key stands for: the reply of the one request that was served under it.

use crate::core::domain::order::Order;
use crate::core::ports::storage_error::StorageError;
use std::fmt;

#[async_trait::async_trait]
pub trait IdempotencyStore: Send + Sync + fmt::Debug {
    async fn find(&self, key: &IdempotencyKey) -> Result<Option<KeptReply>, StorageError>;

    /// Keeps a final reply that changed nothing (a 4xx). `false` when the key stands for a reply
    /// already: the first one stays, and is the answer.
    async fn keep(&self, key: IdempotencyKey, reply: KeptReply) -> Result<bool, StorageError>;
}

/// (owner, route, key): the scope within which a key has one effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    pub owner: String,
    pub route: &'static str,
    pub key: String,
}

/// A reply that is given again for the same key and the same request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptReply {
    /// SHA-256 over what was asked.
    pub fingerprint: [u8; 32],
    pub status: u16,
    pub body: Vec<u8>,
}

/// Makes status and body of the reply to a placed order.
pub type Render = Box<dyn Fn(&Order) -> (u16, Vec<u8>) + Send + Sync>;

/// How to make the reply of a placed order, once the database has told its time.
pub struct KeyedOrder {
    pub key: IdempotencyKey,
    pub fingerprint: [u8; 32],
    pub render: Render,
}

impl fmt::Debug for KeyedOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedOrder").field("key", &self.key).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placed {
    New(Order),
    /// The key has been used before; nothing was placed. The caller compares the fingerprint.
    Known(KeptReply),
}
