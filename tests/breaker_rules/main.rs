//! The rules of breaker, semaphore and retry, on a clock that is turned by hand.

mod support;

mod log;
mod modes;
mod opening;
mod recovery;
mod retry;
mod semaphore;
mod traps;
