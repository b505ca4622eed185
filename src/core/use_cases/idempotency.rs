//! One effect for one key, however often the client has to ask. Key, fingerprint and outcome are
//! committed together with the effect; here is what surrounds that: telling a repeat from a request that
//! is still under way in this process, and from another request under the same key.

use crate::core::ports::events::{Event, Events, IdempotencyResult};
use crate::core::ports::idempotency::{
    Fingerprint, IdempotencyKey, IdempotencyRecord, IdempotencyStore, IdempotentRequest,
    KeptOutcome, Refusal,
};
use crate::core::ports::storage_error::StorageError;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

/// What a use case answers, and whether it has answered so before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<T> {
    /// Served now.
    First(T),
    /// What the key's first request was answered.
    Replayed(T),
}

/// Why a request with a key is not served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdempotencyError {
    /// Its first request has no answer yet: ask again later.
    #[error("a request with this key is still under way")]
    InProgress,
    /// Another body or path under the same key: a mistake of the client's, never served.
    #[error("the key stands for another request")]
    KeyReused,
    /// What the key stands for cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// How a request with a key begins.
#[derive(Debug)]
pub enum KeyUse {
    /// It is the first: to be served while this is held.
    First(InFlight),
    /// It has an answer already, which is given again.
    Repeat(KeptOutcome),
}

type InFlightKeys = Arc<Mutex<HashMap<IdempotencyKey, Fingerprint>>>;

/// Keys of clients: those under way in this process, before those that are stored.
#[derive(Debug)]
pub struct Idempotency {
    store: Arc<dyn IdempotencyStore>,
    events: Arc<dyn Events>,
    in_flight: InFlightKeys,
}

/// The right to serve a key; given back when dropped.
#[derive(Debug)]
pub struct InFlight {
    keys: InFlightKeys,
    key: IdempotencyKey,
}

impl Idempotency {
    /// Nothing is under way.
    #[must_use]
    pub fn new(store: Arc<dyn IdempotencyStore>, events: Arc<dyn Events>) -> Self {
        Self { store, events, in_flight: InFlightKeys::default() }
    }

    /// # Errors
    /// The key stands for another request (which weighs more), or this one is under way.
    pub async fn begin(&self, request: &IdempotentRequest) -> Result<KeyUse, IdempotencyError> {
        let in_flight = self.enter(request)?;
        let known = self.look(request).await?;
        Ok(known.map_or(KeyUse::First(in_flight), KeyUse::Repeat))
    }

    /// The outcome that the key stands for by now.
    ///
    /// # Errors
    /// It is another request's.
    pub async fn look(
        &self,
        request: &IdempotentRequest,
    ) -> Result<Option<KeptOutcome>, IdempotencyError> {
        let record = self.store.find(&request.key).await?;
        record.map(|record| self.replay(request, record)).transpose()
    }

    /// # Errors
    /// The record is another request's.
    pub fn replay(
        &self,
        request: &IdempotentRequest,
        record: IdempotencyRecord,
    ) -> Result<KeptOutcome, IdempotencyError> {
        if record.fingerprint != request.fingerprint {
            return Err(self.reused());
        }
        self.replayed();
        Ok(record.outcome)
    }

    /// A repeat has the first request's answer.
    pub fn replayed(&self) {
        self.record(IdempotencyResult::Replayed);
    }

    /// Keeps a refusal that no transaction could keep, for there was nothing to change. Answers what the
    /// key stands for, if another instance was quicker.
    ///
    /// # Errors
    /// It could not be kept, so it must not be given; or the key stands for another request.
    pub async fn refuse(
        &self,
        request: &IdempotentRequest,
        refusal: Refusal,
    ) -> Result<Option<KeptOutcome>, IdempotencyError> {
        if self.store.keep(request.clone(), KeptOutcome::Refused(refusal)).await? {
            self.served();
            return Ok(None);
        }
        self.look(request).await
    }

    /// The first request of a key has its final answer.
    pub fn served(&self) {
        self.record(IdempotencyResult::New);
    }

    fn enter(&self, request: &IdempotentRequest) -> Result<InFlight, IdempotencyError> {
        let mut keys = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        match keys.entry(request.key.clone()) {
            Entry::Vacant(free) => {
                free.insert(request.fingerprint);
                Ok(InFlight { keys: Arc::clone(&self.in_flight), key: request.key.clone() })
            }
            Entry::Occupied(other) if *other.get() == request.fingerprint => {
                self.record(IdempotencyResult::InFlight);
                Err(IdempotencyError::InProgress)
            }
            Entry::Occupied(_) => Err(self.reused()),
        }
    }

    /// The key stands for another request.
    pub fn reused(&self) -> IdempotencyError {
        self.record(IdempotencyResult::Mismatch);
        IdempotencyError::KeyReused
    }

    fn record(&self, result: IdempotencyResult) {
        self.events.record(&Event::Idempotency(result));
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ports::events::Unheard;

    /// Forgets everything.
    #[derive(Debug)]
    struct Sieve;

    #[async_trait::async_trait]
    impl IdempotencyStore for Sieve {
        async fn find(
            &self,
            _: &IdempotencyKey,
        ) -> Result<Option<IdempotencyRecord>, StorageError> {
            Ok(None)
        }

        async fn keep(&self, _: IdempotentRequest, _: KeptOutcome) -> Result<bool, StorageError> {
            Ok(true)
        }
    }

    fn request(key: &str, fingerprint: Fingerprint) -> IdempotentRequest {
        let key = IdempotencyKey { owner: "o".to_owned(), route: "r", key: key.to_owned() };
        IdempotentRequest { key, fingerprint }
    }

    #[tokio::test]
    async fn a_key_under_way_refuses_its_repeat_and_names_another_request_first() {
        let idempotency = Idempotency::new(Arc::new(Sieve), Arc::new(Unheard));
        let first = idempotency.begin(&request("k", [1; 32])).await.unwrap();
        assert!(matches!(first, KeyUse::First(_)));
        for (fingerprint, error) in
            [([1; 32], IdempotencyError::InProgress), ([2; 32], IdempotencyError::KeyReused)]
        {
            let refused = idempotency.begin(&request("k", fingerprint)).await;
            assert_eq!(refused.unwrap_err(), error);
        }
        assert!(idempotency.begin(&request("other", [1; 32])).await.is_ok());
        drop(first);
        assert!(idempotency.begin(&request("k", [2; 32])).await.is_ok());
    }

    #[test]
    fn a_record_of_another_request_is_no_answer() {
        let idempotency = Idempotency::new(Arc::new(Sieve), Arc::new(Unheard));
        let outcome = KeptOutcome::Refused(Refusal::RefundExceeds);
        let record = IdempotencyRecord { fingerprint: [1; 32], outcome: outcome.clone() };
        let replay = |fingerprint| idempotency.replay(&request("k", fingerprint), record.clone());
        assert_eq!(replay([1; 32]), Ok(outcome));
        assert_eq!(replay([2; 32]), Err(IdempotencyError::KeyReused));
    }
}
