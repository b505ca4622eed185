//! What a client is told when something is wrong: RFC 9457, one shape for every failure. A problem
//! carries no text of an inner error; its words come from the table of codes or from a constant.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::lang::{Lang, Text};
use crate::adapters::inbound::http_kit::violations::At;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;
use std::time::Duration;

/// One fault of the request, and where it is (an RFC 6901 pointer into the body; for a parameter or
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
    detail: Text,
    retry_after: Option<Duration>,
    /// Apart, because most problems have none and every `Result` of this room carries one.
    particulars: Option<Box<Particulars>>,
}

#[derive(Debug, Clone, Default)]
struct Particulars {
    violations: Vec<Violation>,
    /// Extension members, for programs.
    members: Vec<(&'static str, String)>,
    /// For the log only.
    cause: Option<String>,
    /// `WWW-Authenticate`, where it says more than that a token is wanted.
    challenge: Option<&'static str>,
}

/// A failure (RFC 9457).
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody<'a> {
    /// `/problems/` and the code with dashes.
    #[schema(example = "/problems/order-not-found")]
    r#type: String,
    title: &'a str,
    status: u16,
    /// Stable, for programs.
    #[schema(example = "order_not_found")]
    code: &'a str,
    /// For people: Russian when `Accept-Language` prefers it, else English.
    detail: &'a str,
    /// The path that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    instance: Option<&'a str>,
    /// To be quoted to the support.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    trace_id: Option<&'a str>,
    /// With `invalid_request`: every violation at once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    errors: Vec<ViolationBody<'a>>,
    #[serde(flatten)]
    #[schema(ignore)]
    members: std::collections::BTreeMap<&'static str, &'a str>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Violation)]
pub struct ViolationBody<'a> {
    /// A JSON pointer into the body, or `/` and the name of a parameter or header.
    #[schema(example = "/items/0/quantity")]
    pointer: &'a str,
    detail: &'a str,
}

/// Where and for whom a problem is rendered.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    pub lang: Lang,
    pub instance: Option<&'a str>,
    pub trace_id: Option<&'a str>,
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

    /// One fault of a parameter or a header.
    pub fn invalid_at(name: &str, detail: Text) -> Self {
        Self::new(Code::InvalidRequest).with_violation(At::Member(&At::Root, name), detail)
    }

    /// Something that cannot happen did; `cause` goes to the log and nowhere else.
    pub fn internal(cause: impl Into<String>) -> Self {
        let mut problem = Self::new(Code::Internal);
        problem.particulars().cause = Some(cause.into());
        problem
    }

    pub const fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub const fn with_detail(mut self, detail: Text) -> Self {
        self.detail = detail;
        self
    }

    pub fn with_member(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.particulars().members.push((name, value.into()));
        self
    }

    pub fn with_violation(mut self, at: At<'_>, detail: Text) -> Self {
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

    pub fn body(&self, setting: Setting<'_>) -> Vec<u8> {
        let none = Particulars::default();
        let particulars = self.particulars.as_deref().unwrap_or(&none);
        let errors = particulars.violations.iter().map(|violation| ViolationBody {
            pointer: &violation.pointer,
            detail: violation.detail.in_lang(setting.lang),
        });
        let body = ProblemBody {
            r#type: self.code.type_uri(),
            title: self.code.title(),
            status: self.status.as_u16(),
            code: self.code.as_str(),
            detail: self.detail.in_lang(setting.lang),
            instance: setting.instance,
            trace_id: setting.trace_id,
            errors: errors.collect(),
            members: particulars
                .members
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect(),
        };
        serde_json::to_vec(&body).expect("strings and numbers under string keys")
    }
}

/// Leaves a note for the door, which knows the language, the path and the trace, and writes the body.
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

    #[test]
    fn the_cause_never_leaves_the_house() {
        let problem = Problem::internal("SELECT * FROM secrets");
        let setting = Setting { lang: Lang::En, instance: Some("/v1/orders"), trace_id: None };
        let body = String::from_utf8(problem.body(setting)).unwrap();
        assert!(!body.contains("SELECT"), "{body}");
        assert!(body.contains(r#""code":"internal""#), "{body}");
    }

    #[test]
    fn members_and_violations_stand_in_the_body() {
        let fault = Text::new("is missing", "отсутствует");
        let problem = Problem::invalid_at("limit", fault).with_member("product_id", "p-1");
        let setting = Setting { lang: Lang::Ru, instance: None, trace_id: Some("ab") };
        let body: serde_json::Value = serde_json::from_slice(&problem.body(setting)).unwrap();
        assert_eq!(body["errors"][0]["pointer"], "/limit");
        assert_eq!(body["errors"][0]["detail"], "отсутствует");
        assert_eq!(body["product_id"], "p-1");
        assert_eq!(body["type"], "/problems/invalid-request");
        assert!(body.get("instance").is_none());
    }
}
