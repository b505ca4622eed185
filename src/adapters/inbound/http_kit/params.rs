//! Path and query parameters. Whatever a route does not know is refused: a misspelt filter that is
//! ignored in silence shows the wrong orders.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::violations::{At, BAD_ID, Faults, TWICE, UNKNOWN};
use crate::adapters::observe::spans;
use crate::core::domain::ids::{CustomerId, OrderId, ProductId, TaskId};
use axum::extract::{FromRequestParts, Path, Query};
use http::Uri;
use http::request::Parts;
use tracing::Span;

pub const DEFAULT_LIMIT: usize = 20;
const BAD_LIMIT: Text =
    Text::new("must be a whole number, 1 to 100", "должно быть целым числом от 1 до 100");

/// What a path segment can stand for.
pub trait Segment: Sized {
    /// # Errors
    /// The problem that a client gets instead.
    fn read(text: &str) -> Result<Self, Problem>;

    /// Tells the trace of it.
    fn note(&self) {}
}

/// The one parameter in the path.
#[derive(Debug)]
pub struct Id<T>(pub T);

impl<T: Segment, S: Send + Sync> FromRequestParts<S> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // It fails on bytes that are not UTF-8: the value then reads as no id at all.
        let text = Path::<String>::from_request_parts(parts, state).await;
        let id = T::read(text.as_ref().map_or("", |Path(text)| text))?;
        id.note();
        Ok(Self(id))
    }
}

/// Ids that we made: what we did not make does not exist.
impl Segment for OrderId {
    fn read(text: &str) -> Result<Self, Problem> {
        Self::parse(text).ok_or(Problem::new(Code::OrderNotFound))
    }

    fn note(&self) {
        spans::note(&Span::current(), "order.id", self.to_string());
    }
}

impl Segment for TaskId {
    fn read(text: &str) -> Result<Self, Problem> {
        let number: Option<i64> = text.parse().ok();
        let ours = number.filter(|number| number.to_string() == text).and_then(Self::from_i64);
        ours.ok_or(Problem::new(Code::TaskNotFound))
    }
}

/// Ids of others: a malformed one is the client's mistake.
impl Segment for ProductId {
    fn read(text: &str) -> Result<Self, Problem> {
        Self::parse(text).map_err(|_| Problem::invalid_at("id", BAD_ID))
    }
}

impl Segment for CustomerId {
    fn read(text: &str) -> Result<Self, Problem> {
        Self::parse(text).map_err(|_| Problem::invalid_at("id", BAD_ID))
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
    faults: Faults,
}

impl Params {
    pub fn read(uri: &Uri, known: &[&str]) -> Self {
        let mut params = Self::default();
        if uri.query().is_none_or(str::is_empty) {
            return params;
        }
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri);
        for (name, value) in pairs.map(|Query(pairs)| pairs).unwrap_or_default() {
            let at = At::Member(&At::Root, &name);
            if !known.contains(&name.as_str()) {
                params.faults.add(at, UNKNOWN);
            } else if params.pairs.iter().any(|(seen, _)| *seen == name) {
                params.faults.add(at, TWICE);
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
        self.faults.parsed(parse(text), At::Member(&At::Root, name), otherwise)
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
        self.faults.verdict(Some(()))
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

    #[test]
    fn an_id_that_we_did_not_make_does_not_exist() {
        for strange in ["", "0", "-1", "+5", "007", "9007199254740992", "x", "1e3"] {
            let problem = TaskId::read(strange).unwrap_err();
            assert_eq!(problem.code, Code::TaskNotFound, "{strange}");
        }
        assert_eq!(TaskId::read("9007199254740991").unwrap().get(), 9_007_199_254_740_991);
        assert_eq!(OrderId::read("17").unwrap_err().code, Code::OrderNotFound);
    }

    #[test]
    fn an_id_of_others_that_is_malformed_is_a_mistake() {
        for bad in ["", ".", "..", "a b", "a/b"] {
            assert_eq!(ProductId::read(bad).unwrap_err().code, Code::InvalidRequest, "{bad}");
        }
    }
}
