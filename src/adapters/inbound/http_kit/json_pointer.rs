//! A place in a JSON document (RFC 6901).

use std::fmt;

/// Names that we do not know are shown, but not at any length.
const LONGEST_NAME: usize = 64;

/// Built on the way down, without cost: it is written out only when something is wrong there.
#[derive(Debug, Clone, Copy)]
pub enum JsonPointer<'a> {
    Root,
    Member(&'a JsonPointer<'a>, &'a str),
    Element(&'a JsonPointer<'a>, usize),
}

impl<'a> JsonPointer<'a> {
    pub const fn member(&'a self, name: &'a str) -> Self {
        Self::Member(self, name)
    }

    pub const fn element(&'a self, index: usize) -> Self {
        Self::Element(self, index)
    }
}

impl fmt::Display for JsonPointer<'_> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_json_pointer() {
        let (root, items) = (JsonPointer::Root, JsonPointer::Root.member("items"));
        let first = items.element(0);
        assert_eq!(first.member("a/b~c").to_string(), "/items/0/a~1b~0c");
        assert_eq!(root.to_string(), "");
        let long = "ю".repeat(100);
        assert_eq!(root.member(&long).to_string(), format!("/{}", "ю".repeat(64)));
    }
}
