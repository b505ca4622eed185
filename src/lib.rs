//! An order service that stays correct while its partners fail. Modules in reading order.

pub mod core;

pub mod adapters;

pub mod bootstrap;
pub mod config;
pub mod telemetry;

pub mod sandbox;

pub mod lab;
