//! Reading a JSON value by hand, so that a client learns of everything that is wrong with it at once,
//! each fault with its place. A derived deserializer stops at the first.

use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::{Problem, Violation};
use serde_json::{Map, Value};
use std::fmt;

/// More than anybody reads; a hostile body must not make a reply larger than itself.
const MOST: usize = 100;
/// Names that we do not know are shown, but not at any length.
const LONGEST_NAME: usize = 64;

pub const MISSING: Text = Text::new("is missing", "отсутствует");
pub const UNKNOWN: Text = Text::new("is not known here", "здесь не предусмотрено");
pub const TWICE: Text = Text::new("is given more than once", "указано несколько раз");
pub const NOT_JSON: Text = Text::new("is not valid JSON", "не является корректным JSON");
pub const NOT_AN_OBJECT: Text = Text::new("must be an object", "должно быть объектом");
pub const NOT_AN_ARRAY: Text = Text::new("must be an array", "должно быть массивом");
pub const NOT_A_STRING: Text = Text::new("must be a string", "должно быть строкой");
pub const BAD_ID: Text = Text::new(
    "must be 1 to 64 of A-Z a-z 0-9 _ . - and not dots alone",
    "должно быть от 1 до 64 символов A-Z a-z 0-9 _ . - и не из одних точек",
);

/// A place in a body: written out only when something is wrong there.
#[derive(Debug, Clone, Copy)]
pub enum At<'a> {
    Root,
    Member(&'a At<'a>, &'a str),
    Element(&'a At<'a>, usize),
}

/// RFC 6901.
impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(parent, name) => {
                let end = name.char_indices().nth(LONGEST_NAME).map_or(name.len(), |(at, _)| at);
                write!(f, "{parent}/{}", name[..end].replace('~', "~0").replace('/', "~1"))
            }
            Self::Element(parent, index) => write!(f, "{parent}/{index}"),
        }
    }
}

/// Everything that was found wrong so far.
#[derive(Debug, Default)]
pub struct Faults(Vec<Violation>);

impl Faults {
    pub fn add(&mut self, at: At<'_>, detail: Text) {
        if self.0.len() < MOST {
            self.0.push(Violation { pointer: at.to_string(), detail });
        }
    }

    /// What was read, if nothing was wrong.
    pub fn verdict<T>(self, read: Option<T>) -> Result<T, Problem> {
        match read {
            Some(read) if self.0.is_empty() => Ok(read),
            Some(_) | None => Err(Problem::invalid(self.0)),
        }
    }

    /// An object with no members but `known`: a misspelt option must not be ignored in silence.
    pub fn object<'v>(
        &mut self,
        value: &'v Value,
        at: At<'_>,
        known: &[&str],
    ) -> Option<&'v Map<String, Value>> {
        let Some(members) = value.as_object() else {
            self.add(at, NOT_AN_OBJECT);
            return None;
        };
        for name in members.keys().filter(|name| !known.contains(&name.as_str())) {
            self.add(At::Member(&at, name), UNKNOWN);
        }
        Some(members)
    }

    /// A member that must be there.
    pub fn member<'v>(
        &mut self,
        members: &'v Map<String, Value>,
        at: At<'_>,
        name: &str,
    ) -> Option<&'v Value> {
        let value = members.get(name);
        if value.is_none() {
            self.add(At::Member(&at, name), MISSING);
        }
        value
    }

    pub fn string<'v>(&mut self, value: &'v Value, at: At<'_>) -> Option<&'v str> {
        let text = value.as_str();
        if text.is_none() {
            self.add(at, NOT_A_STRING);
        }
        text
    }

    pub fn array<'v>(&mut self, value: &'v Value, at: At<'_>) -> Option<&'v [Value]> {
        let elements = value.as_array();
        if elements.is_none() {
            self.add(at, NOT_AN_ARRAY);
        }
        elements.map(Vec::as_slice)
    }

    /// Keeps what was parsed, or notes why it could not be.
    pub fn parsed<T>(&mut self, parsed: Option<T>, at: At<'_>, otherwise: Text) -> Option<T> {
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
    fn a_place_is_a_json_pointer() {
        let (root, items) = (At::Root, At::Member(&At::Root, "items"));
        let first = At::Element(&items, 0);
        assert_eq!(At::Member(&first, "a/b~c").to_string(), "/items/0/a~1b~0c");
        assert_eq!(root.to_string(), "");
        let long = "ю".repeat(100);
        assert_eq!(At::Member(&root, &long).to_string(), format!("/{}", "ю".repeat(64)));
    }

    #[test]
    fn a_flood_of_faults_is_cut() {
        let mut faults = Faults::default();
        for _ in 0..1_000 {
            faults.add(At::Root, UNKNOWN);
        }
        assert_eq!(faults.0.len(), MOST);
    }
}
