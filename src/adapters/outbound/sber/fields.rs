//! What a request carries, before it is written in the encoding of either generation.

use serde_json::{Map, Value};

/// Named values of a request, without the login.
pub(super) type Fields = Map<String, Value>;
