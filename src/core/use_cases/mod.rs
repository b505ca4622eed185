//! What can be done: one verb, one file. A use case that changes anything is run detached from the
//! client that asked, so none of these futures is ever dropped half-way.

pub mod deliver_webhooks;
pub mod idempotency;
pub mod list_events;
pub mod manage_webhooks;
pub mod place_order;
pub mod recommend;
pub mod reconcile;
pub mod show_order;
pub mod show_product;

pub mod cancel_order;
pub mod confirm_order;
pub mod operate_tasks;
pub mod poll_task;
pub mod receive_callback;
pub mod refund_order;
