//! What adapters tell each other and the operator: the systems outside and their guards, the requests
//! that come in, metrics and spans, and what is asked of the database for them. Nothing here decides
//! about an order.

pub mod adapter_events;
pub mod log_control;
pub mod log_throttle;
pub mod metrics;
pub mod service_mode;
pub mod spans;
pub mod storage_upkeep;
pub mod systems;
pub mod traffic;
