//! The W3C trace context that a request arrives with and that partners are told (`traceparent`).

use std::fmt;
use std::ops::Range;

/// `version-traceid-parentid-flags`, validated (W3C Trace Context, section 3.2). Of one length, so that every
/// request can have one without an allocation.
#[derive(Clone, PartialEq, Eq)]
pub struct TraceParent([u8; LENGTH]);

const LENGTH: usize = 55;
const TRACE: Range<usize> = 3..35;
const SPAN: Range<usize> = 36..52;
const FLAGS: Range<usize> = 53..55;

impl TraceParent {
    /// `None` for anything that is not a valid version 00 header: such a header is ignored.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let hex = |part: &str, len: usize| {
            part.len() == len && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        let zero = |part: &str| part.bytes().all(|b| b == b'0');
        let mut parts = text.split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let valid = version == "00"
            && hex(trace, 32)
            && !zero(trace)
            && hex(span, 16)
            && !zero(span)
            && hex(flags, 2)
            && parts.next().is_none();
        if valid { text.as_bytes().try_into().ok().map(Self) } else { None }
    }

    /// A new trace from its random parts; a zero is lifted to one, which the standard forbids.
    #[must_use]
    pub fn new(trace_id: u128, span_id: u64) -> Self {
        Self::of(trace_id, span_id, true)
    }

    /// A span's name from its parts, with whether it is recorded.
    #[must_use]
    pub fn of(trace_id: u128, span_id: u64, sampled: bool) -> Self {
        let (trace_id, span_id, flags) = (trace_id.max(1), span_id.max(1), u8::from(sampled));
        let mut text = *b"00-00000000000000000000000000000000-0000000000000000-00";
        write_hex(&mut text[TRACE], trace_id);
        write_hex(&mut text[SPAN], span_id.into());
        write_hex(&mut text[FLAGS], flags.into());
        Self(text)
    }

    /// The same trace with another parent span.
    #[must_use]
    pub fn child(&self, span_id: u64) -> Self {
        let mut text = self.0;
        write_hex(&mut text[SPAN], span_id.max(1).into());
        Self(text)
    }

    /// As a header.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        &self.as_str()[TRACE]
    }

    /// The trace, 32 hexadecimal digits.
    #[must_use]
    pub fn span_id(&self) -> &str {
        &self.as_str()[SPAN]
    }

    /// Whether whoever made it records the trace.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        u8::from_str_radix(&self.as_str()[FLAGS], 16).is_ok_and(|flags| flags & 1 == 1)
    }

    /// The caller's span, 16 hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("hexadecimal digits and dashes")
    }
}

/// The lowest digits of a number, as many as there is room for.
fn write_hex(text: &mut [u8], mut number: u128) {
    for digit in text.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(number & 0xf) as usize];
        number >>= 4;
    }
}

impl fmt::Debug for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TraceParent").field(&self.as_str()).finish()
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_valid_header_is_taken() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(TraceParent::parse(good).unwrap().trace_id(), &good[3..35]);
        for bad in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        ] {
            assert_eq!(TraceParent::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_name_tells_its_parts() {
        for (flags, sampled) in [("00", false), ("01", true), ("02", false), ("ff", true)] {
            let text = format!("00-{:032x}-{:016x}-{flags}", 7, 8);
            let name = TraceParent::parse(&text).unwrap();
            assert_eq!((name.span_id(), name.is_sampled()), ("0000000000000008", sampled));
        }
        assert!(!TraceParent::of(7, 8, false).is_sampled());
    }

    #[test]
    fn a_child_stays_in_the_trace() {
        let root = TraceParent::new(7, 8);
        let child = root.child(9);
        assert_eq!(child.trace_id(), root.trace_id());
        assert_eq!(TraceParent::parse(child.as_str()), Some(child));
    }
}
