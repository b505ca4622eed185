//! The whole service from outside: the real binary on a real database, simulated partners on real
//! sockets, and nothing known of its inside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../metrics_page/mod.rs"]
mod metrics_page;

mod collector;
mod deaths;
mod forgetting;
mod harness;
mod journey;
mod leaving;
mod metrics;
mod outages;
mod spans;
mod strange_answers;
mod tokens;
