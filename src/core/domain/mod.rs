//! Pure facts and rules: no async, no clock, no I/O.
