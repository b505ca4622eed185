//! The whole service from outside: the real binary on a real database, simulated partners on real
//! sockets, and nothing known of its inside.

mod deaths;
mod journey;
mod outages;
mod service;
