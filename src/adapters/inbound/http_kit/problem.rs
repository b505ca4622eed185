//! What a client is told when something is wrong: RFC 9457, one shape for every failure. A problem
//! carries no text of an inner error; its words come from the table of codes or from a constant.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

/// One thing that is wrong with the request, and where it is (an RFC 6901 pointer into the body; for a parameter or
/// a header, `/` and its name).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub pointer: String,
    pub detail: Text,
}

#[derive(Debug, Clone)]
pub struct Problem {
    pub code: Code,
    pub status: StatusCode,
    pub(super) detail: Text,
    retry_after: Option<Duration>,
    /// Apart, because most problems have none and every `Result` of this room carries one.
    pub(super) particulars: Option<Box<Particulars>>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Particulars {
    pub(super) violations: Vec<Violation>,
    /// Extension members, for programs.
    pub(super) members: Vec<(&'static str, Value)>,
    /// For the log only.
    cause: Option<String>,
    /// `WWW-Authenticate`, where it says more than that a token is wanted.
    challenge: Option<&'static str>,
}

impl Problem {
    pub const fn new(code: Code) -> Self {
        Self {
            code,
            status: code.status(),
            detail: code.detail(),
            retry_after: code.retry_after(),
            particulars: None,
        }
    }

    /// A request that breaks the API's rules, with everything that is wrong with it.
    pub fn invalid(violations: Vec<Violation>) -> Self {
        let mut problem = Self::new(Code::InvalidRequest);
        problem.particulars().violations = violations;
        problem
    }

    /// A parameter or a header that breaks a rule.
    pub fn invalid_at(name: &str, detail: Text) -> Self {
        Self::new(Code::InvalidRequest).with_violation(JsonPointer::Root.member(name), detail)
    }

    /// Something that cannot happen did; `cause` goes to the log and nowhere else.
    pub fn internal(cause: impl Into<String>) -> Self {
        Self::new(Code::Internal).with_cause(cause)
    }

    /// For the log and nowhere else: what a person has to look at.
    pub fn with_cause(mut self, cause: impl Into<String>) -> Self {
        self.particulars().cause = Some(cause.into());
        self
    }

    pub const fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub const fn with_detail(mut self, detail: Text) -> Self {
        self.detail = detail;
        self
    }

    pub fn with_member(mut self, name: &'static str, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value).expect("words and numbers under string keys");
        self.particulars().members.push((name, value));
        self
    }

    pub fn with_violation(mut self, at: JsonPointer<'_>, detail: Text) -> Self {
        self.particulars().violations.push(Violation { pointer: at.to_string(), detail });
        self
    }

    pub fn with_challenge(mut self, challenge: &'static str) -> Self {
        self.particulars().challenge = Some(challenge);
        self
    }

    fn particulars(&mut self) -> &mut Particulars {
        self.particulars.get_or_insert_default()
    }

    /// Nothing is changed when nobody knows.
    pub fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait.or(self.retry_after);
        self
    }

    /// `Retry-After`: whole seconds, rounded up, never zero.
    pub fn retry_after_secs(&self) -> Option<u64> {
        self.retry_after.map(whole_seconds)
    }

    pub fn cause(&self) -> Option<&str> {
        self.particulars.as_ref()?.cause.as_deref()
    }

    /// `WWW-Authenticate`.
    pub fn challenge(&self) -> Option<&'static str> {
        let own = self.particulars.as_ref().and_then(|particulars| particulars.challenge);
        own.or((self.code == Code::Unauthenticated).then_some("Bearer"))
    }
}

/// Leaves itself to the request's layer, which knows the language, the path and the trace, and writes the
/// body.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// As `Retry-After` wants it: rounded up, so that nobody comes too early, and never zero.
pub fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_rounded_up_and_never_zero() {
        for (millis, seconds) in [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (30_000, 30)] {
            assert_eq!(whole_seconds(Duration::from_millis(millis)), seconds, "{millis}");
        }
    }
}
