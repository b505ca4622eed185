//! Partners that answer as a test tells them to, and a store that fails as a test tells it to.

mod guards;
mod provider;
mod reads;
mod receiver;
mod store;

pub use guards::{FakeGuards, RecordingTraffic};
pub use provider::{Behaviour, RecordingProvider};
pub use reads::{Catalog, CountingEntropy, Recommender, TickingClock};
pub use receiver::RecordingReceiver;
pub use store::FlakyStore;
