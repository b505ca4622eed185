//! The driving side: HTTP for shops, HTTP for operators, and the worker loop.

pub mod admin;
pub mod api;
pub mod http_kit;
pub mod worker;
