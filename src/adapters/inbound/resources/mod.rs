//! How the core's things look in HTTP, whichever listener shows them: ids in a path, money and times in a
//! body, a task, and which error of the core becomes which problem.

pub mod ids;
pub mod task_body;
pub mod wire;

pub mod error;
mod reasons;
