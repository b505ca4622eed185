//! The rules of breaker, semaphore and retry, on a clock that is turned by hand.

mod support;

mod life;
mod retry;
mod semaphore;
mod traps;
