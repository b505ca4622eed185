//! Ids in a path. What we did not make does not exist; what others made may be malformed.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::params::PathParam;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::observe::spans;
use crate::core::domain::ids::{CustomerId, OrderId, ProductId, TaskId, WebhookEndpointId};
use tracing::Span;

pub const BAD_ID: Text = Text::new(
    "must be 1 to 64 of A-Z a-z 0-9 _ . - and not dots alone",
    "должно быть от 1 до 64 символов A-Z a-z 0-9 _ . - и не из одних точек",
);

impl PathParam for OrderId {
    fn from_segment(text: &str) -> Result<Self, Problem> {
        Self::parse(text).ok_or(Problem::new(Code::OrderNotFound))
    }

    fn record(&self) {
        spans::set_attribute(&Span::current(), "order.id", self.to_string());
    }
}

impl PathParam for WebhookEndpointId {
    fn from_segment(text: &str) -> Result<Self, Problem> {
        Self::parse(text).ok_or(Problem::new(Code::WebhookEndpointNotFound))
    }
}

impl PathParam for TaskId {
    fn from_segment(text: &str) -> Result<Self, Problem> {
        let number: Option<i64> = text.parse().ok();
        let ours = number.filter(|number| number.to_string() == text).and_then(Self::from_i64);
        ours.ok_or(Problem::new(Code::TaskNotFound))
    }
}

impl PathParam for ProductId {
    fn from_segment(text: &str) -> Result<Self, Problem> {
        Self::parse(text).map_err(|_| Problem::invalid_at("id", BAD_ID))
    }
}

impl PathParam for CustomerId {
    fn from_segment(text: &str) -> Result<Self, Problem> {
        Self::parse(text).map_err(|_| Problem::invalid_at("id", BAD_ID))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_we_did_not_make_does_not_exist() {
        for strange in ["", "0", "-1", "+5", "007", "9007199254740992", "x", "1e3"] {
            let problem = TaskId::from_segment(strange).unwrap_err();
            assert_eq!(problem.code, Code::TaskNotFound, "{strange}");
        }
        assert_eq!(TaskId::from_segment("9007199254740991").unwrap().get(), 9_007_199_254_740_991);
        assert_eq!(OrderId::from_segment("17").unwrap_err().code, Code::OrderNotFound);
    }

    #[test]
    fn an_id_of_others_that_is_malformed_is_a_mistake() {
        for bad in ["", ".", "..", "a b", "a/b"] {
            let problem = ProductId::from_segment(bad).unwrap_err();
            assert_eq!(problem.code, Code::InvalidRequest, "{bad}");
        }
    }
}
