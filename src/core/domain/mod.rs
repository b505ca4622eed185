//! Values and entities that every room may name: valid by their types, and without a look at the world.

pub mod details;
pub mod ids;
pub mod money;
pub mod order;
pub mod provider;
pub mod timestamp;
pub mod unavailable;
pub mod webhook;
