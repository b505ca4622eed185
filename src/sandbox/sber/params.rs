//! A request's parameters in either generation, asked for by name and type.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::words::Refused;

/// The two protocols that the bank speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// Form-encoded, nested data as JSON texts, answers with `text/plain`.
    Classic,
    /// JSON throughout.
    Json,
}

#[derive(Debug)]
pub struct Params {
    pub generation: Generation,
    values: HashMap<String, Value>,
}

impl Params {
    pub fn classic(pairs: Vec<(String, String)>) -> Self {
        let values = pairs.into_iter().map(|(name, value)| (name, Value::String(value))).collect();
        Self { generation: Generation::Classic, values }
    }

    /// `None`: the body is not a JSON object.
    pub fn json(body: &[u8]) -> Option<Self> {
        let values: Map<String, Value> = serde_json::from_slice(body).ok()?;
        Some(Self { generation: Generation::Json, values: values.into_iter().collect() })
    }

    /// A text that is there and not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Digits in the classic generation, a JSON integer in the other.
    pub fn whole(&self, name: &'static str) -> Result<Option<i64>, Refused> {
        let value = match (self.values.get(name), self.generation) {
            (None | Some(Value::Null), _) => return Ok(None),
            (Some(Value::String(text)), Generation::Classic) if text.is_empty() => return Ok(None),
            (Some(Value::String(text)), Generation::Classic) => text.parse().ok(),
            (Some(value), _) => value.as_i64(),
        };
        value.filter(|whole| *whole >= 0).map(Some).ok_or(Refused::bad(name))
    }

    /// A JSON object: as a text in the classic generation, as itself in the other.
    pub fn object(&self, name: &'static str) -> Result<Option<Map<String, Value>>, Refused> {
        let value = match (self.values.get(name), self.generation) {
            (None | Some(Value::Null), _) => return Ok(None),
            (Some(Value::String(text)), Generation::Classic) if text.is_empty() => return Ok(None),
            (Some(Value::String(text)), Generation::Classic) => serde_json::from_str(text).ok(),
            (Some(Value::Object(members)), Generation::Json) => Some(members.clone()),
            (Some(_), _) => None,
        };
        value.map(Some).ok_or(Refused::bad(name))
    }
}
