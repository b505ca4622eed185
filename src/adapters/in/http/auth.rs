//! Who asks, and whose orders that person may see. With `AUTH_MODE=none` everybody is the same
//! anonymous caller who sees everything: such a service listens on loopback or behind a gateway.

use crate::adapters::r#in::http::code::Code;
use crate::adapters::r#in::http::problem::Problem;
use crate::core::domain::ids::CustomerId;
use crate::core::ports::orders::Scope;
use axum::extract::FromRequestParts;
use http::request::Parts;

/// Asked for by every handler that touches orders, so that none can forget the scope.
#[derive(Debug, Clone)]
pub struct Caller {
    pub scope: Scope,
    /// Whose idempotency keys these are.
    pub owner: String,
}

impl Caller {
    /// # Errors
    /// `forbidden`: an order for somebody else.
    pub fn may_order_for(&self, customer: &CustomerId) -> Result<(), Problem> {
        if self.scope.allows(customer) { Ok(()) } else { Err(Problem::new(Code::Forbidden)) }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(_: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self { scope: Scope::Anyone, owner: "anonymous".to_owned() })
    }
}
