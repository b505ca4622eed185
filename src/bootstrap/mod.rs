//! The composition root: the only room that knows every adapter. `commands` is what the binary can
//! be asked to do, `service` builds and runs, `shutdown` ends.

mod commands;
mod database;
mod descriptors;
mod guarded;
mod lab;
mod partners;
mod parts;
mod reconcile;
pub(crate) mod service;
mod shutdown;
mod simulated;
mod webhooks;
mod workers;

pub use commands::{Cli, run};
pub use partners::{PaymentPartner, connect_payment};
