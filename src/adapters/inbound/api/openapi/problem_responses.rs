//! Problems as the document's responses: one per status, with an example per code.

use crate::adapters::inbound::http_kit::lang::Lang;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::problem_body::ProblemContext;
use std::collections::BTreeMap;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ContentBuilder, ObjectBuilder, Ref, RefOr, ResponseBuilder};

/// One response per status, with one example per code.
pub fn add(operation: &mut Operation, path: &str, problems: impl Iterator<Item = Problem>) {
    let mut by_status: BTreeMap<u16, Vec<Problem>> = BTreeMap::new();
    for problem in problems {
        by_status.entry(problem.status.as_u16()).or_default().push(problem);
    }
    for (status, problems) in by_status {
        let codes: Vec<String> =
            problems.iter().map(|problem| format!("`{}`", problem.code.as_str())).collect();
        let examples = problems.iter().map(|problem| example(problem, path));
        let content = ContentBuilder::new()
            .schema(Some(RefOr::Ref(Ref::from_schema_name("Problem"))))
            .examples_from_iter(examples)
            .build();
        let mut response = ResponseBuilder::new()
            .description(codes.join(", "))
            .content("application/problem+json", content);
        if problems.iter().any(|problem| problem.retry_after_secs().is_some()) {
            response = response.header("Retry-After", header(Type::Integer, "Seconds"));
        }
        if problems.iter().any(|problem| problem.challenge().is_some()) {
            let what = "`Bearer`, with `error=\"invalid_token\"` where a token was sent";
            response = response.header("WWW-Authenticate", header(Type::String, what));
        }
        operation.responses.responses.insert(status.to_string(), RefOr::T(response.build()));
    }
}

fn example(problem: &Problem, path: &str) -> (String, RefOr<utoipa::openapi::example::Example>) {
    let trace_id = Some("4bf92f3577b34da6a3ce929d0e0e4736");
    let context = ProblemContext { lang: Lang::En, instance: Some(path), trace_id };
    let body: serde_json::Value =
        serde_json::from_slice(&problem.body(context)).unwrap_or_default();
    let example = ExampleBuilder::new().summary(problem.code.title()).value(Some(body)).build();
    (problem.code.as_str().to_owned(), RefOr::T(example))
}

fn header(of: Type, what: &str) -> Header {
    let schema = ObjectBuilder::new().schema_type(of);
    HeaderBuilder::new().schema(Some(schema)).description(Some(what)).build()
}
