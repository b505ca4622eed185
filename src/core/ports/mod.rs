//! What the core needs from outside: a trait, its types and its error for each need.

pub mod deadline;
pub mod trace;
pub mod unavailable;
