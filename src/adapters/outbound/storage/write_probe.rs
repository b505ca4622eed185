//! How readiness asks whether writes last: by a write, now and then, and after every failure. A
//! database that only answers may be full, read-only, or waiting for a standby that does not come.

use crate::core::ports::storage_error::StorageError;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long one proof counts.
const LASTS: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub struct WriteProbe {
    proven: Mutex<Option<Instant>>,
}

impl WriteProbe {
    /// Looks, which is cheap, or writes where the last proof is too old. One asks at a time: the others
    /// wait and mostly find a fresh proof.
    ///
    /// # Errors
    /// What was asked failed.
    pub async fn ask(
        &self,
        look: impl Future<Output = Result<(), StorageError>>,
        write: impl Future<Output = Result<(), StorageError>>,
    ) -> Result<(), StorageError> {
        let mut proven = self.proven.lock().await;
        let fresh = proven.take().filter(|at| at.elapsed() < LASTS);
        match fresh {
            Some(_) => look.await?,
            None => write.await?,
        }
        *proven = fresh.or_else(|| Some(Instant::now()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[tokio::test(start_paused = true)]
    async fn a_write_proves_for_a_while_and_a_failure_ends_it() {
        let probe = WriteProbe::default();
        let asked = RefCell::new(Vec::new());
        let ask = async |answer: Result<(), StorageError>| {
            let put = |what| {
                asked.borrow_mut().push(what);
                std::future::ready(answer.clone())
            };
            let (look, write) = (async { put("look").await }, async { put("write").await });
            let _ = probe.ask(look, write).await;
            std::mem::take(&mut *asked.borrow_mut())
        };
        assert_eq!(ask(Ok(())).await, ["write"]);
        assert_eq!(ask(Ok(())).await, ["look"]);
        tokio::time::advance(LASTS).await;
        assert_eq!(ask(Ok(())).await, ["write"]);
        assert_eq!(ask(Err(StorageError::Unavailable)).await, ["look"]);
        assert_eq!(ask(Ok(())).await, ["write"]);
    }
}
