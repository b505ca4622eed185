//! The driving side: HTTP for shops, HTTP for operators, and the worker loop.

pub mod admin;
pub mod http;
pub mod worker;
