//! The hexagon: what an order is, what it needs from outside, and what can be done with it.

pub mod domain;
pub mod ports;
pub mod use_cases;
