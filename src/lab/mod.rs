//! The experiments of the guide (docs/guide): each shows one lesson on this machine, with and without the
//! guard side by side, as a table, a picture, and claims that must come out true.
//!
//! Most run the resilience machine itself in virtual time: a minute of outage takes milliseconds, and
//! every run gives the same figures. Those that need the whole service run it in real time.

pub mod catalog;
pub mod guide;
pub mod report;

mod chart;
mod clock;
mod experiments;
mod guarded;
mod load;
mod partner;
mod service;
mod text;

pub use text::{Lang, Text};
