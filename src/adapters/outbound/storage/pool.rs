//! A pool of connections that also knows how many callers wait for one: sqlx counts only the
//! connections, and an exhausted pool shows first in its queue.

use crate::adapters::observe::storage_upkeep::Connections;
use sqlx::pool::PoolConnection;
use sqlx::{Database, Pool};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug)]
pub struct CountedPool<DB: Database> {
    pool: Pool<DB>,
    waiting: Arc<AtomicUsize>,
}

impl<DB: Database> CountedPool<DB> {
    pub fn new(pool: Pool<DB>) -> Self {
        Self { pool, waiting: Arc::default() }
    }

    /// Counts a caller as waiting until it is dropped.
    pub fn wait(&self) -> Waiter<'_> {
        Waiter::join(&self.waiting)
    }

    pub async fn acquire(&self) -> sqlx::Result<PoolConnection<DB>> {
        let _waiter = self.wait();
        self.pool.acquire().await
    }

    pub fn connections(&self) -> Connections {
        let (all, idle) = (usize::try_from(self.pool.size()).unwrap_or(0), self.pool.num_idle());
        // The two were read one after the other.
        let used = all.saturating_sub(idle);
        Connections { idle, used, waiting: self.waiting.load(Ordering::Relaxed), abandoned: 0 }
    }
}

impl<DB: Database> Clone for CountedPool<DB> {
    fn clone(&self) -> Self {
        Self { pool: self.pool.clone(), waiting: Arc::clone(&self.waiting) }
    }
}

/// A caller in the queue; one that gives up leaves it too.
#[derive(Debug)]
pub struct Waiter<'a>(&'a AtomicUsize);

impl<'a> Waiter<'a> {
    fn join(queue: &'a AtomicUsize) -> Self {
        queue.fetch_add(1, Ordering::Relaxed);
        Self(queue)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::sqlite::SqlitePoolOptions;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test]
    async fn who_has_a_connection_and_who_waits_for_one_is_counted() {
        let pool = SqlitePoolOptions::new().max_connections(1).connect_lazy("sqlite::memory:");
        let pool = CountedPool::new(pool.unwrap());
        let seen = || {
            let Connections { idle, used, waiting, .. } = pool.connections();
            (idle, used, waiting)
        };
        assert_eq!(seen(), (0, 0, 0));
        let held = pool.acquire().await.unwrap();
        assert_eq!(seen(), (0, 1, 0));
        let mut second = Box::pin(pool.acquire());
        timeout(Duration::from_millis(10), &mut second).await.unwrap_err();
        assert_eq!(seen(), (0, 1, 1));
        drop(second);
        assert_eq!(seen(), (0, 1, 0), "who gives up waits no longer");
        held.close().await.unwrap();
        drop(pool.acquire().await.unwrap());
        while seen() != (1, 0, 0) {
            tokio::task::yield_now().await;
        }
    }
}
