//! Reading a JSON value by hand, so that a client learns of everything that is wrong with it at once,
//! each violation with its place. A derived deserializer stops at the first.

use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::{Problem, Violation};
use serde_json::{Map, Value};

/// More than anybody reads; a hostile body must not make a reply larger than itself.
const MOST: usize = 100;

pub const MISSING: Text = Text::new("is missing", "отсутствует");
pub const UNKNOWN: Text = Text::new("is not known here", "здесь не предусмотрено");
pub const TWICE: Text = Text::new("is given more than once", "указано несколько раз");
pub const NOT_JSON: Text = Text::new("is not valid JSON", "не является корректным JSON");
pub const NOT_AN_OBJECT: Text = Text::new("must be an object", "должно быть объектом");
pub const NOT_AN_ARRAY: Text = Text::new("must be an array", "должно быть массивом");
pub const NOT_A_STRING: Text = Text::new("must be a string", "должно быть строкой");

/// Everything that was found wrong so far.
#[derive(Debug, Default)]
pub struct Violations(Vec<Violation>);

impl Violations {
    pub fn add(&mut self, at: JsonPointer<'_>, detail: Text) {
        if self.0.len() < MOST {
            self.0.push(Violation { pointer: at.to_string(), detail });
        }
    }

    /// What was read, if nothing was wrong.
    ///
    /// # Errors
    /// `invalid_request` with every violation.
    pub fn into_result<T>(self, read: Option<T>) -> Result<T, Problem> {
        match read {
            Some(read) if self.0.is_empty() => Ok(read),
            Some(_) | None => Err(Problem::invalid(self.0)),
        }
    }

    /// An object with no members but `known`: a misspelt option must not be ignored in silence.
    pub fn object<'v>(
        &mut self,
        value: &'v Value,
        at: JsonPointer<'_>,
        known: &[&str],
    ) -> Option<&'v Map<String, Value>> {
        let Some(members) = value.as_object() else {
            self.add(at, NOT_AN_OBJECT);
            return None;
        };
        for name in members.keys().filter(|name| !known.contains(&name.as_str())) {
            self.add(at.member(name), UNKNOWN);
        }
        Some(members)
    }

    /// A member that must be there.
    pub fn member<'v>(
        &mut self,
        members: &'v Map<String, Value>,
        at: JsonPointer<'_>,
        name: &str,
    ) -> Option<&'v Value> {
        let value = members.get(name);
        if value.is_none() {
            self.add(at.member(name), MISSING);
        }
        value
    }

    pub fn string<'v>(&mut self, value: &'v Value, at: JsonPointer<'_>) -> Option<&'v str> {
        let text = value.as_str();
        if text.is_none() {
            self.add(at, NOT_A_STRING);
        }
        text
    }

    pub fn array<'v>(&mut self, value: &'v Value, at: JsonPointer<'_>) -> Option<&'v [Value]> {
        let elements = value.as_array();
        if elements.is_none() {
            self.add(at, NOT_AN_ARRAY);
        }
        elements.map(Vec::as_slice)
    }

    /// Keeps what was parsed, or notes why it could not be.
    pub fn parsed<T>(
        &mut self,
        parsed: Option<T>,
        at: JsonPointer<'_>,
        otherwise: Text,
    ) -> Option<T> {
        if parsed.is_none() {
            self.add(at, otherwise);
        }
        parsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_violations_is_cut() {
        let mut violations = Violations::default();
        for _ in 0..1_000 {
            violations.add(JsonPointer::Root, UNKNOWN);
        }
        assert_eq!(violations.0.len(), MOST);
    }
}
