//! The simulated partners keep to the pages of docs/partners, and every switch does what it says.
//! One file a partner; `wire` is about connections.

#[path = "sandbox/callbacks.rs"]
mod callbacks;
#[path = "sandbox/catalog.rs"]
mod catalog;
#[path = "sandbox/control.rs"]
mod control;
#[path = "sandbox/manual.rs"]
mod manual;
#[path = "sandbox/odnakassa.rs"]
mod odnakassa;
#[path = "sandbox/process.rs"]
mod process;
#[path = "sandbox/sber.rs"]
mod sber;
#[path = "sandbox/sber_faults.rs"]
mod sber_faults;
#[path = "sandbox/shop.rs"]
mod shop;
#[path = "sandbox/wire.rs"]
mod wire;
