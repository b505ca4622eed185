//! Idempotency keys: kept for a day, and in progress while their first call is.

use std::sync::Arc;

use super::OdnaKassa;
use super::object::Problem;
use crate::sandbox::bank::Bank;
use crate::sandbox::ledger::{Ledger, OrderIndex, UsedKey};

const KEPT_MS: i64 = 24 * 60 * 60 * 1000;

/// What a key means on arrival.
#[derive(Debug)]
pub enum Reserved {
    /// Never seen: the call may be executed.
    Fresh(KeyInUse),
    /// Seen with the same content: the answer is that payment as it is now.
    Replay(OrderIndex),
}

/// A key in progress. Dropped without [`settle`](KeyInUse::settle), it was never used.
#[derive(Debug)]
pub struct KeyInUse {
    bank: Arc<Bank>,
    key: String,
}

impl KeyInUse {
    pub fn settle(&self, ledger: &mut Ledger, index: OrderIndex) {
        if let Some(used) = ledger.keys.get_mut(&self.key) {
            used.index = Some(index);
        }
    }
}

impl Drop for KeyInUse {
    fn drop(&mut self) {
        self.bank.work(|ledger, _| {
            if ledger.keys.get(&self.key).is_some_and(|used| used.index.is_none()) {
                ledger.keys.remove(&self.key);
            }
        });
    }
}

impl OdnaKassa {
    pub(super) fn reserve(&self, key: &str, fingerprint: String) -> Result<Reserved, Problem> {
        let (reserved, _receipts) = self.bank.work(|ledger, now_ms| {
            match ledger.keys.get(key).filter(|used| now_ms - used.used_at_ms < KEPT_MS) {
                Some(used) if used.fingerprint != fingerprint => Err(Problem::mismatch()),
                Some(UsedKey { index: Some(index), .. }) => Ok(Some(*index)),
                Some(UsedKey { index: None, .. }) => Err(Problem::in_progress()),
                None => {
                    let used = UsedKey { fingerprint, index: None, used_at_ms: now_ms };
                    ledger.keys.insert(key.to_owned(), used);
                    Ok(None)
                }
            }
        });
        Ok(match reserved? {
            Some(index) => Reserved::Replay(index),
            None => Reserved::Fresh(KeyInUse { bank: Arc::clone(&self.bank), key: key.to_owned() }),
        })
    }
}
