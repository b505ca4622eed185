//! What a partner's JSON tells, read for the members that are needed and for no other: what stands
//! beside them, in whatever bytes, cannot make a reply unreadable.

use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;

/// Longer than any name that we gave; a person who compares needs no more.
const LONGEST_SHOWN: usize = 64;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Needed members of a JSON object, as they were written. One that is null is not there.
#[derive(Debug)]
pub struct Told(BTreeMap<&'static str, Box<RawValue>>);

impl Told {
    /// `None` for anything but a JSON object, and for one that tells a needed member in two ways.
    ///
    /// A mark of the byte order goes; bytes that are no UTF-8 become U+FFFD, and control characters,
    /// which no JSON text may hold, become spaces: neither can be of use in a member that we need.
    #[must_use]
    pub fn read(body: &[u8], needed: &'static [&'static str]) -> Option<Self> {
        let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
        let text = String::from_utf8_lossy(body).replace(|letter| letter < ' ', " ");
        Self::parse(&text, needed)
    }

    fn parse(text: &str, needed: &'static [&'static str]) -> Option<Self> {
        let mut json = serde_json::Deserializer::from_str(text);
        let told = json.deserialize_map(Needed(needed)).ok()?;
        json.end().ok()?;
        Some(told)
    }

    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.0.get(name)?.get()).ok()
    }

    #[must_use]
    pub fn flag(&self, name: &str) -> Option<bool> {
        serde_json::from_str(self.0.get(name)?.get()).ok()
    }

    /// A whole number, as a number or a text of digits. `50000.0` is 50000; with another fraction, or an
    /// exponent, it is none: nothing is rounded.
    #[must_use]
    pub fn integer(&self, name: &str) -> Option<i64> {
        if let Some(text) = self.text(name) {
            return text.parse().ok();
        }
        let number = self.0.get(name)?.get();
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let exact = fraction.bytes().all(|digit| digit == b'0');
        whole.parse().ok().filter(|_| exact)
    }

    #[must_use]
    pub fn object(&self, name: &str, needed: &'static [&'static str]) -> Option<Self> {
        Self::parse(self.0.get(name)?.get(), needed)
    }

    /// The objects of a list, `None` in the place of what is no object.
    #[must_use]
    pub fn list(&self, name: &str, needed: &'static [&'static str]) -> Option<Vec<Option<Self>>> {
        let items: Vec<Box<RawValue>> = serde_json::from_str(self.0.get(name)?.get()).ok()?;
        Some(items.iter().map(|item| Self::parse(item.get(), needed)).collect())
    }
}

/// A partner's text as it may be stored and shown: bounded, without control characters. What was changed
/// is like none of ours.
#[must_use]
pub fn shown(text: &str) -> String {
    let fit = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
    text.chars().take(LONGEST_SHOWN).map(fit).collect()
}

struct Needed(&'static [&'static str]);

impl<'de> Visitor<'de> for Needed {
    type Value = Told;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Told, A::Error> {
        let mut told = BTreeMap::<_, Box<RawValue>>::new();
        while let Some(name) = members.next_key::<String>()? {
            let Some(needed) = self.0.iter().find(|needed| **needed == name) else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = members.next_value::<Box<RawValue>>()?;
            match told.get(needed) {
                _ if value.get() == "null" => {}
                Some(before) if before.get() != value.get() => {
                    return Err(A::Error::custom("told in two ways"));
                }
                Some(_) | None => drop(told.insert(*needed, value)),
            }
        }
        Ok(Told(told))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: impl AsRef<[u8]>) -> Option<Told> {
        Told::read(body.as_ref(), &["sum", "name", "items"])
    }

    fn sum(written: &str) -> Option<i64> {
        read(format!(r#"{{"sum":{written}}}"#)).unwrap().integer("sum")
    }

    #[test]
    fn what_is_not_needed_does_no_harm() {
        for (beside, body) in [
            ("a byte order mark", b"\xEF\xBB\xBF{\"sum\":7}".as_slice()),
            ("Windows-1251", b"{\"bank\":\"\xD1\xE1\xE5\xF0\",\"sum\":7}"),
            ("a name in Windows-1251", b"{\"\xC1\xE0\xED\xEA\":1,\"sum\":7}"),
            ("control characters", b"{\"bank\":\"\0\x1b\r\n\",\"sum\":7}\0"),
            ("half a character", br#"{"bank":"\ud83d","sum":7}"#),
            ("a number beyond measure", br#"{"fee":1e999,"sum":7}"#),
            ("two of a kind", br#"{"fee":1,"fee":"2","sum":7}"#),
            ("the same twice", br#"{"sum":7,"sum":7,"sum":null}"#),
        ] {
            assert_eq!(read(body).and_then(|told| told.integer("sum")), Some(7), "{beside}");
        }
        let deep = format!(r#"{{"x":{}{},"sum":7}}"#, "[".repeat(9_999), "]".repeat(9_999));
        assert_eq!(read(deep).unwrap().integer("sum"), Some(7));
    }

    #[test]
    fn a_reply_is_one_json_object_or_nothing() {
        for body in ["", "[]", "7", "null", "<html>", "{\"sum\":", "{} {}", &"[".repeat(9_999)] {
            assert!(read(body).is_none(), "{body}");
        }
    }

    #[test]
    fn a_needed_member_told_in_two_ways_is_told_in_none() {
        assert!(read(r#"{"sum":7,"sum":8}"#).is_none());
    }

    #[test]
    fn whole_numbers_are_read_exactly_or_not_at_all() {
        for (written, meant) in [
            ("50000", 50_000),
            ("50000.0", 50_000),
            ("50000.000000000000000000000", 50_000),
            ("\"50000\"", 50_000),
            ("9007199254740993.0", 9_007_199_254_740_993),
            ("-7", -7),
        ] {
            assert_eq!(sum(written), Some(meant), "{written}");
        }
        for written in [
            "50000.5",
            "50000.00000000000000000000001",
            "5e4",
            "1e999",
            "99999999999999999999",
            "\"50000.0\"",
            "\"\"",
            "null",
            "true",
            "[50000]",
            "{}",
        ] {
            assert_eq!(sum(written), None, "{written}");
        }
    }

    #[test]
    fn a_list_keeps_a_place_for_what_is_no_object() {
        let told = read(r#"{"items":[{"name":"a","x":"\ud800"},7]}"#).unwrap();
        let items = told.list("items", &["name"]).unwrap();
        let names: Vec<_> = items.iter().map(|item| item.as_ref()?.text("name")).collect();
        assert_eq!(names, [Some("a".to_owned()), None]);
        assert!(read(r#"{"items":{}}"#).unwrap().list("items", &["name"]).is_none());
    }

    #[test]
    fn what_is_shown_is_bounded_and_has_no_control_characters() {
        assert_eq!(shown("A-01\0\u{1b}[31m"), "A-01\u{fffd}\u{fffd}[31m");
        assert_eq!(shown(&"ы".repeat(9_999)).chars().count(), LONGEST_SHOWN);
    }
}
