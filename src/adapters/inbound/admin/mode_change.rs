//! What an operator asks of a breaker: another mode, for how long, and why.

use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::adapters::resilience::breaker::BreakerMode;
use serde_json::Value;
use std::time::Duration;

const LONGEST_TTL: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const LONGEST_REASON: usize = 500;

const BAD_MODE: Text = Text::new(
    "must be off, dry_run, enforce, forced_open or forced_closed",
    "должно быть off, dry_run, enforce, forced_open или forced_closed",
);
const BAD_TTL: Text = Text::new(
    "must be a duration like 15m, at most 30d",
    "должно быть длительностью вида 15m, не больше 30d",
);
const BAD_REASON: Text =
    Text::new("must be at most 500 characters", "должно быть не длиннее 500 символов");

#[derive(Debug)]
pub struct ModeChange {
    pub mode: BreakerMode,
    pub ttl: Option<Duration>,
    pub reason: Option<String>,
}

impl ModeChange {
    pub fn read(body: &Value) -> Result<Self, Problem> {
        let mut violations = Violations::default();
        let change = Self::from_object(body, &mut violations);
        violations.into_result(change)
    }

    fn from_object(body: &Value, violations: &mut Violations) -> Option<Self> {
        let root = JsonPointer::Root;
        let members = violations.object(body, root, &["mode", "ttl", "reason"])?;
        let mode = violations.member(members, root, "mode").and_then(|value| {
            let at = root.member("mode");
            let word = violations.string(value, at)?;
            violations.parsed(word.parse().ok(), at, BAD_MODE)
        });
        let ttl = ttl(members.get("ttl"), violations);
        let reason = reason(members.get("reason"), violations);
        Some(Self { mode: mode?, ttl, reason })
    }
}

/// May be left out.
pub fn ttl(value: Option<&Value>, violations: &mut Violations) -> Option<Duration> {
    let at = JsonPointer::Root.member("ttl");
    let text = violations.string(value?, at)?;
    let ttl = humantime::parse_duration(text).ok();
    let ttl = ttl.filter(|ttl| !ttl.is_zero() && *ttl <= LONGEST_TTL);
    violations.parsed(ttl, at, BAD_TTL)
}

/// May be left out.
pub fn reason(value: Option<&Value>, violations: &mut Violations) -> Option<String> {
    let at = JsonPointer::Root.member("reason");
    let text = violations.string(value?, at)?;
    let short = (text.chars().count() <= LONGEST_REASON).then(|| text.to_owned());
    violations.parsed(short, at, BAD_REASON)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::inbound::http_kit::code::Code;
    use serde_json::json;

    #[test]
    fn a_change_is_read_or_refused_as_a_whole() {
        let change =
            ModeChange::read(&json!({"mode": "forced_open", "ttl": "5m", "reason": "drill"}));
        let change = change.unwrap();
        assert_eq!(
            (change.mode, change.ttl),
            (BreakerMode::ForcedOpen, Some(Duration::from_secs(300)))
        );
        for bad in [
            json!({}),
            json!({"mode": "open"}),
            json!({"mode": "off", "ttl": "0s"}),
            json!({"mode": "off", "ttl": 5}),
            json!({"mode": "off", "ttl": "1y"}),
            json!({"mode": "off", "why": "x"}),
            json!({"mode": "off", "reason": "x".repeat(501)}),
        ] {
            assert_eq!(ModeChange::read(&bad).unwrap_err().code, Code::InvalidRequest, "{bad}");
        }
    }
}
