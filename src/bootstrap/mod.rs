//! The composition root: the only room that knows every adapter.

mod guards;
mod partners;
