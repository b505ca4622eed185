//! Runs tasks: call, evolve, decide, until nothing is left to do now. The request that made a task and
//! the worker that finds it later run the same code.

pub mod failpoint;
pub mod gateway;
pub(super) mod narrate;
pub mod run;
pub mod task_watch;
