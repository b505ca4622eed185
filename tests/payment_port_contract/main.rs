//! What the core relies on at a payment port (`core::ports::payment::PaymentPort`), held against every
//! adapter with the simulated payment system behind it. The two were written from the same page by
//! different hands: an error in one is found by the other.
//!
//! Nothing here names a payment system but for the protocols that one has beside its usual one.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../payment_partner/calls.rs"]
mod calls;
mod heard;
mod subject;

mod callbacks;
mod guards;
mod paying;
mod refunding;
mod registering;
mod silences;
mod spans;
mod telling;
