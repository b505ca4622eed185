//! Path and query parameters. Whatever a route does not know is refused: a misspelt filter that is
//! ignored in silence shows the wrong orders.

use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::violations::{TWICE, UNKNOWN, Violations};
use axum::extract::{FromRequestParts, Path, Query};
use http::Uri;
use http::request::Parts;

pub const DEFAULT_LIMIT: usize = 20;
const BAD_LIMIT: Text =
    Text::new("must be a whole number, 1 to 100", "должно быть целым числом от 1 до 100");

/// What a path segment can stand for.
pub trait PathParam: Sized {
    /// # Errors
    /// The problem that a client gets instead.
    fn from_segment(text: &str) -> Result<Self, Problem>;

    /// Records it in the request's span, if it should be found there.
    fn record(&self) {}
}

/// The one parameter in the path.
#[derive(Debug)]
pub struct Id<T>(pub T);

impl<T: PathParam, S: Send + Sync> FromRequestParts<S> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // It fails on bytes that are not UTF-8: the value then reads as no id at all.
        let text = Path::<String>::from_request_parts(parts, state).await;
        let id = T::from_segment(text.as_ref().map_or("", |Path(text)| text))?;
        id.record();
        Ok(Self(id))
    }
}

/// For routes without query parameters.
#[derive(Debug)]
pub struct NoQuery;

impl<S: Sync> FromRequestParts<S> for NoQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Params::read(&parts.uri, &[]).finish().map(|()| Self)
    }
}

/// The query string, each parameter at most once and none but the known ones.
#[derive(Debug, Default)]
pub struct Params {
    pairs: Vec<(String, String)>,
    violations: Violations,
}

impl Params {
    pub fn read(uri: &Uri, known: &[&str]) -> Self {
        let mut params = Self::default();
        if uri.query().is_none_or(str::is_empty) {
            return params;
        }
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri);
        for (name, value) in pairs.map(|Query(pairs)| pairs).unwrap_or_default() {
            let at = JsonPointer::Root.member(&name);
            if !known.contains(&name.as_str()) {
                params.violations.add(at, UNKNOWN);
            } else if params.pairs.iter().any(|(seen, _)| *seen == name) {
                params.violations.add(at, TWICE);
            } else {
                params.pairs.push((name, value));
            }
        }
        params
    }

    /// A parameter that may be left out; when it cannot be parsed, that is noted.
    pub fn take<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Option<T>,
        otherwise: Text,
    ) -> Option<T> {
        let (_, text) = self.pairs.iter().find(|(known, _)| known == name)?;
        self.violations.parsed(parse(text), JsonPointer::Root.member(name), otherwise)
    }

    pub fn limit(&mut self) -> usize {
        let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
        let parse = |text: &str| {
            let number = digits(text).then(|| text.parse().ok())?;
            number.filter(|limit| (1..=100).contains(limit))
        };
        self.take("limit", parse, BAD_LIMIT).unwrap_or(DEFAULT_LIMIT)
    }

    /// # Errors
    /// Everything that was wrong with the query.
    pub fn finish(self) -> Result<(), Problem> {
        self.violations.into_result(Some(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(uri: &'static str) -> Option<usize> {
        let mut params = Params::read(&Uri::from_static(uri), &["limit"]);
        let limit = params.limit();
        params.finish().ok().map(|()| limit)
    }

    #[test]
    fn a_limit_is_1_to_100_and_20_when_left_out() {
        assert_eq!(limit("/x"), Some(20));
        assert_eq!(limit("/x?"), Some(20));
        assert_eq!(limit("/x?limit=1"), Some(1));
        assert_eq!(limit("/x?limit=100"), Some(100));
        for bad in [
            "/x?limit=0",
            "/x?limit=101",
            "/x?limit=-1",
            "/x?limit=%2B5",
            "/x?limit=",
            "/x?limit=ten",
            "/x?limit=5&limit=5",
            "/x?limits=5",
            "/x?limit=99999999999999999999999",
        ] {
            assert_eq!(limit(bad), None, "{bad}");
        }
    }
}
