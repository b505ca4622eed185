//! The caller of a request, as handlers ask for it. Whoever is known is also counted: a handler that runs
//! has been paid for.

use crate::adapters::inbound::api::auth::{Auth, Caller, Refusal};
use crate::adapters::inbound::api::quota::{ClientKey, Spent};
use crate::adapters::inbound::api::rate_limit_headers;
use crate::adapters::inbound::api::state::{App, Services};
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::request_context::RequestContext;
use crate::adapters::observe::traffic::{Priority, ShedReason};
use crate::core::domain::ids::CustomerId;
use crate::core::ports::order_repository::Scope;
use axum::extract::{ConnectInfo, FromRequestParts};
use http::Extensions;
use http::request::Parts;
use std::net::SocketAddr;
use std::sync::Arc;

/// Asked for by every handler that touches orders, so that none can forget the scope.
impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let caller = Self::known(parts, app)?;
        if caller.may_order { Ok(caller) } else { Err(Refusal::Scope.into_problem()) }
    }
}

impl Caller {
    /// Whoever has a token that counts for anything here.
    fn known(parts: &Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let services = &app.services;
        match services.auth.identify(&parts.headers, services.clock.now()) {
            Ok(caller) => {
                spend(services, client_key(&services.auth, &caller, &parts.extensions), parts)?;
                Ok(caller)
            }
            // Nobody knows who it is, but from where: else guessing would be free.
            Err(refusal) => {
                spend(services, peer(&parts.extensions), parts)?;
                Err(refusal.into_problem())
            }
        }
    }

    /// The only customer that it may order for, if there is only one.
    pub const fn own_customer(&self) -> Option<&CustomerId> {
        match &self.scope {
            Scope::Only(own) => Some(own),
            Scope::Anyone => None,
        }
    }

    /// # Errors
    /// `forbidden`: an order for somebody else, or for a guest, who is nobody's own.
    pub fn may_order_for(&self, customer: Option<&CustomerId>) -> Result<(), Problem> {
        if self.scope.allows(customer) { Ok(()) } else { Err(Problem::new(Code::Forbidden)) }
    }
}

/// Whoever may give money back: not every buyer with a token of their own.
#[derive(Debug)]
pub struct Refunder(pub Caller);

impl FromRequestParts<Arc<App>> for Refunder {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, app).await?;
        if caller.may_refund { Ok(Self(caller)) } else { Err(Refusal::RefundScope.into_problem()) }
    }
}

/// Whoever may be told by webhooks, and of whose orders.
#[derive(Debug)]
pub struct WebhookOwner {
    pub owner: String,
    pub scope: Scope,
}

impl FromRequestParts<Arc<App>> for WebhookOwner {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let Caller { owner, scope, may_be_told, .. } = Caller::known(parts, app)?;
        if may_be_told {
            Ok(Self { owner, scope })
        } else {
            Err(Refusal::WebhookScope.into_problem())
        }
    }
}

/// # Errors
/// `rate_limited`: the client has asked too often.
fn spend(services: &Services, client: ClientKey<'_>, parts: &Parts) -> Result<(), Problem> {
    let Some(quotas) = &services.quotas else { return Ok(()) };
    let spent = quotas.spend(client);
    let left = spent.unwrap_or_else(|wait| Spent { left: 0, whole_in: wait });
    rate_limit_headers::note(&parts.extensions, left);
    spent.map(drop).map_err(|wait| {
        let context = parts.extensions.get::<RequestContext>();
        let priority = context.map_or(Priority::Normal, |context| context.priority);
        services.traffic.shed(priority, ShedReason::RateLimit);
        Problem::new(Code::RateLimited).retry_after(Some(wait))
    })
}

fn client_key<'a>(auth: &Auth, caller: &'a Caller, extensions: &Extensions) -> ClientKey<'a> {
    match auth {
        Auth::Tokens(_) => ClientKey::Subject(&caller.owner),
        Auth::Open => peer(extensions),
    }
}

fn peer(extensions: &Extensions) -> ClientKey<'static> {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map_or(ClientKey::Unknown, |ConnectInfo(peer)| ClientKey::at(peer.ip()))
}
