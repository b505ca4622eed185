//! What can be done: one verb, one file.
