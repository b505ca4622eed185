//! The driving side: HTTP for shops, HTTP for operators, and the worker loop. `http_kit` knows HTTP and no
//! resource; `resources` knows how the core's things look in HTTP; the two listeners know nothing of
//! one another.

pub mod admin;
pub mod api;
pub mod http_kit;
pub mod resources;
pub mod worker;
