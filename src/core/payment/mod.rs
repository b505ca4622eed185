//! The payment of an order as an aggregate and its decisions: pure, without a clock, a database or a
//! network.
//!
//! It follows the Decider pattern: `commands` is what clients and operators may ask for, `evolve`
//! takes facts in (from anyone, at any time, in any order), `decide` says what the holder of a task's
//! lease does next. The split makes early callbacks and late answers harmless: facts need no lease,
//! decisions do.

pub mod aggregate;
pub mod checkout;
pub mod dispute;
pub mod policy;
pub mod refund;
pub mod registration;
pub mod report;
pub mod task;

pub mod commands;
pub mod context;
mod contradiction;
mod decide;
pub mod decision;
pub mod effect;
mod evolve;
pub mod operator;
pub mod order_event;
mod sending;
pub mod sync_request;

pub use aggregate::OrderAggregate;

#[cfg(test)]
mod tests;
