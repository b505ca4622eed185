//! Protection against partners that fail, hang or drown: breaker, semaphore, deadline, retry.
//! The room knows no partner and no port but the vocabulary of missing answers, so every adapter
//! owns an instance of each and shows its guards in one sentence per method.

pub mod breaker;

pub mod adaptive;
pub mod semaphore;

pub mod deadline;
pub mod retry;

pub mod guards;

pub mod outcome;

pub mod clock;
pub mod observer;
pub mod settings;
