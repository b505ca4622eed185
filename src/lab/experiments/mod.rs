//! One experiment a file: what is compared, what is measured, what it must show.

pub(super) mod breaker;
pub(super) mod bulkhead;
pub(super) mod classify;
pub(super) mod deadline;
pub(super) mod drain;
pub(super) mod failover;
pub(super) mod fallback;
pub(super) mod flapping;
pub(super) mod half_open;
pub(super) mod health;
pub(super) mod jitter;
pub(super) mod late;
pub(super) mod minimum;
pub(super) mod objective;
pub(super) mod proxy;
pub(super) mod queue;
pub(super) mod retry_storm;
pub(super) mod rollout;
pub(super) mod shedding;
pub(super) mod sizing;
pub(super) mod slow;
pub(super) mod thousands;
pub(super) mod thresholds;
pub(super) mod timeouts;
pub(super) mod windows;
