//! How a problem is written: the one shape of every failure (RFC 9457).

use crate::adapters::inbound::http_kit::lang::Lang;
use crate::adapters::inbound::http_kit::problem::{Particulars, Problem};
use serde::Serialize;

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
    members: std::collections::BTreeMap<&'static str, &'a serde_json::Value>,
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
pub struct ProblemContext<'a> {
    pub lang: Lang,
    pub instance: Option<&'a str>,
    pub trace_id: Option<&'a str>,
}

impl Problem {
    pub fn body(&self, context: ProblemContext<'_>) -> Vec<u8> {
        let none = Particulars::default();
        let particulars = self.particulars.as_deref().unwrap_or(&none);
        let errors = particulars.violations.iter().map(|violation| ViolationBody {
            pointer: &violation.pointer,
            detail: violation.detail.in_lang(context.lang),
        });
        let body = ProblemBody {
            r#type: self.code.type_uri(),
            title: self.code.title(),
            status: self.status.as_u16(),
            code: self.code.as_str(),
            detail: self.detail.in_lang(context.lang),
            instance: context.instance,
            trace_id: context.trace_id,
            errors: errors.collect(),
            members: particulars.members.iter().map(|(name, value)| (*name, value)).collect(),
        };
        serde_json::to_vec(&body).expect("strings and numbers under string keys")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::inbound::http_kit::lang::Text;

    #[test]
    fn the_cause_never_leaves_the_house() {
        let problem = Problem::internal("SELECT * FROM secrets");
        let context =
            ProblemContext { lang: Lang::En, instance: Some("/v1/orders"), trace_id: None };
        let body = String::from_utf8(problem.body(context)).unwrap();
        assert!(!body.contains("SELECT"), "{body}");
        assert!(body.contains(r#""code":"internal""#), "{body}");
    }

    #[test]
    fn members_and_violations_stand_in_the_body() {
        let missing = Text::new("is missing", "отсутствует");
        let problem = Problem::invalid_at("limit", missing).with_member("product_id", "p-1");
        let context = ProblemContext { lang: Lang::Ru, instance: None, trace_id: Some("ab") };
        let body: serde_json::Value = serde_json::from_slice(&problem.body(context)).unwrap();
        assert_eq!(body["errors"][0]["pointer"], "/limit");
        assert_eq!(body["errors"][0]["detail"], "отсутствует");
        assert_eq!(body["product_id"], "p-1");
        assert_eq!(body["type"], "/problems/invalid-request");
        assert!(body.get("instance").is_none());
    }
}
