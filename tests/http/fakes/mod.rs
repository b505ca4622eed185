//! Partners that answer as a test tells them to, and a store that can be taken away.

mod bank;
mod cable;
mod guards;
mod reads;

pub use bank::{Bank, Mood};
pub use cable::Cable;
pub use guards::{Counter, Guards};
pub use reads::{Catalog, Counting, Recommender, Ticking};
