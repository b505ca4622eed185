//! Pure facts and rules: no async, no clock, no I/O.

pub mod ids;
pub mod money;
pub mod timestamp;

pub mod order;
pub mod registration;
pub mod report;
pub mod task;

pub mod policy;

pub mod dossier;
