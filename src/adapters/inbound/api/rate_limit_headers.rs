//! How much a client may still ask, in the words of the IETF's draft (`RateLimit`, `RateLimit-Policy`).

use crate::adapters::inbound::api::quota::{QuotaConfig, Spent};
use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http::{Extensions, HeaderName, HeaderValue};
use std::sync::{Arc, OnceLock};

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Where the handler's extractor leaves what its client has spent, for the reply.
#[derive(Debug, Clone, Default)]
struct SpentSlot(Arc<OnceLock<Spent>>);

/// Notes what the request's client has left.
pub(super) fn note(extensions: &Extensions, spent: Spent) {
    if let Some(slot) = extensions.get::<SpentSlot>() {
        // Asked for twice in one request, it was spent twice: the first is near enough.
        let _ = slot.0.set(spent);
    }
}

/// Tells it in the replies of these routes.
pub(super) fn tell(router: Router, config: QuotaConfig) -> Router {
    let window = config.burst.get().div_ceil(config.per_second.get());
    let policy = format!("\"default\";q={};w={window}", config.burst);
    let policy = HeaderValue::try_from(policy).expect("digits and quotes");
    let tell = move |mut request: Request, next: Next| {
        let (slot, policy) = (SpentSlot::default(), policy.clone());
        request.extensions_mut().insert(slot.clone());
        async move {
            let mut response: Response = next.run(request).await;
            if let Some(Spent { left, whole_in }) = slot.0.get() {
                let limit = format!("\"default\";r={left};t={}", whole_in.as_secs_f64().ceil());
                let limit = HeaderValue::try_from(limit).expect("digits and quotes");
                response.headers_mut().insert(RATE_LIMIT, limit);
                response.headers_mut().insert(RATE_LIMIT_POLICY, policy);
            }
            response
        }
    };
    router.layer(from_fn(tell))
}
