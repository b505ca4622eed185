//! Run what is due.
