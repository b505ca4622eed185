//! Everything that touches the outside world. In-adapters call the core; out-adapters are called by it.

pub mod r#in;
pub mod metrics;
pub mod out;
pub mod resilience;
pub mod spans;
