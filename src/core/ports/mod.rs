//! What the core needs from outside: a trait, its types and its error for each need.

pub mod call;
pub mod deadline;
pub mod trace;

pub mod catalog;
pub mod payment;
pub mod recommendations;
pub mod webhook_endpoints;
pub mod webhooks;

pub mod idempotency;
pub mod order_repository;
pub mod outbox;
pub mod storage_error;
pub mod task_queue;

pub mod clock;
pub mod events;
