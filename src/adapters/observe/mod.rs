//! What adapters tell each other and the operator: the systems outside and their guards, the traffic at
//! the door, metrics and spans. Nothing here decides about an order.

pub mod metrics;
pub mod spans;
pub mod systems;
pub mod traffic;
