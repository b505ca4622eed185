//! Everything that touches the outside world. Inbound adapters call the core; outbound adapters are
//! called by it.

pub mod inbound;
pub mod observe;
pub mod outbound;
pub mod resilience;
