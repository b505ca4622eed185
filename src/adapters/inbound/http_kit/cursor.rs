//! Where a page ended, as a word that means nothing to clients.

use crate::adapters::inbound::http_kit::lang::Text;
use crate::core::domain::timestamp::Timestamp;

pub const BAD_CURSOR: Text = Text::new(
    "must be a next_cursor of an earlier answer",
    "должно быть значением next_cursor из предыдущего ответа",
);

/// The last row of a page: newest first, by moment and id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    pub at: Timestamp,
    pub id: u128,
}

impl Cursor {
    pub fn encode(self) -> String {
        format!("{:016x}{:032x}", self.at.micros(), self.id)
    }

    pub fn decode(text: &str) -> Option<Self> {
        let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 48 || !text.bytes().all(hex) {
            return None;
        }
        let at = Timestamp::from_micros(i64::from_str_radix(&text[..16], 16).ok()?);
        Some(Self { at, id: u128::from_str_radix(&text[16..], 16).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_nonsense_does_not() {
        let cursor = Cursor { at: Timestamp::from_micros(1_764_500_000_123_456), id: u128::MAX };
        assert_eq!(Cursor::decode(&cursor.encode()), Some(cursor));
        let text = cursor.encode();
        for bad in ["", "0", &text[1..], &text.to_uppercase(), &format!("{text}0"), &"f".repeat(48)]
        {
            assert_eq!(Cursor::decode(bad), None, "{bad}");
        }
    }
}
