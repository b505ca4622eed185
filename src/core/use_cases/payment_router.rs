//! Which payment system is asked next.
