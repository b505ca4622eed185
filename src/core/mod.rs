//! What the service knows and decides, apart from every protocol and every database. Five rooms, one
//! above the other: a name goes down, never up.

#![warn(missing_docs)]

pub mod domain;

pub mod payment;

pub mod ports;

pub mod engine;

pub mod use_cases;
