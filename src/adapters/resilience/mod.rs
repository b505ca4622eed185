//! Protection against partners that fail, hang or drown: breaker, semaphore, deadline, retry.
//!
//! The room knows no partner and no port but the vocabulary of missing answers, so every adapter
//! owns an instance of each and says its guards in one sentence per method:
//!
//! ```
//! # use order_service::adapters::resilience::{breaker::Breaker, deadline::CallTimeout};
//! # use order_service::adapters::resilience::{verdict::Failed, semaphore::Semaphore};
//! # use order_service::core::ports::deadline::Deadline;
//! # struct Adapter { breaker: Breaker, semaphore: Semaphore, call_timeout: CallTimeout }
//! # #[derive(Debug)] struct Declined;
//! # impl Adapter {
//! # async fn post(&self) -> Result<u32, Failed<Declined>> { Ok(1) }
//! async fn register(&self, deadline: Deadline) -> Result<u32, Failed<Declined>> {
//!     self.breaker.check()?; // free: an open breaker sheds before anyone queues
//!     let permit = self.semaphore.acquire(deadline).await?; // bounded queue, bounded wait
//!     let call = self.call_timeout.cap(deadline, self.post()); // its own limit, and the caller's
//!     permit.hold(self.breaker.call("register", call)).await // nothing is sent unless the breaker polls it
//! }
//! # }
//! ```
//!
//! The order has its reasons: the peek takes nothing, so a full semaphore can never strand a probe;
//! the probe is taken with a permit in hand; both are given back by being dropped. A read may be
//! wrapped in [`retry`], which says the whole sentence anew for each attempt.

#![warn(missing_docs)]

pub mod breaker;

pub mod adaptive;
pub mod semaphore;

pub mod deadline;
pub mod retry;

pub mod guards;

pub mod verdict;
pub mod wrong_answers;

pub mod clock;
pub mod observer;
pub mod settings;
pub mod trail;
