//! The dossier: an order with its registrations and its unfinished tasks. Every decision about an
//! order is a pure function on it, run inside one storage transaction.

use crate::core::domain::order::Order;
use crate::core::domain::registration::Registration;
use crate::core::domain::task::Task;

/// What storage loads, hands to a decision, and saves as a whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dossier {
    pub order: Order,
    /// All that were ever made, by (provider, sequence).
    pub registrations: Vec<Registration>,
    /// The unfinished ones; those that a decision ends are saved with their final state.
    pub tasks: Vec<Task>,
}
