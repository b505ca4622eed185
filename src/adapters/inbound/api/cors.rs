//! Which pages of other sites may call the API from a browser: none, unless `CORS_ALLOWED_ORIGINS` names them.

use crate::adapters::inbound::http_kit::origin::TrustedOrigin;
use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use http::header::{
    ACCEPT_LANGUAGE, AGE, AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH, LOCATION,
    ORIGIN, RETRY_AFTER,
};
use http::{HeaderValue, Method};
use std::sync::Arc;
use std::time::Duration;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// How long a browser need not ask again; none of them believes longer than two hours.
const PREFLIGHT_LIFE: Duration = Duration::from_secs(600);

/// What a page may send beside what every page may.
const SENT: [HeaderName; 9] = [
    AUTHORIZATION,
    CONTENT_TYPE,
    ACCEPT_LANGUAGE,
    IF_NONE_MATCH,
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("prefer"),
    HeaderName::from_static("request-timeout"),
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("x-request-id"),
];

/// What a page may read of a reply.
const READ: [HeaderName; 9] = [
    LOCATION,
    RETRY_AFTER,
    ETAG,
    AGE,
    HeaderName::from_static("idempotency-replayed"),
    HeaderName::from_static("preference-applied"),
    HeaderName::from_static("ratelimit"),
    HeaderName::from_static("ratelimit-policy"),
    HeaderName::from_static("x-request-id"),
];

/// Outside of everything else, so that a page can read a refusal, too. Cookies are never asked for: whoever
/// may do what is said by a token alone.
pub(super) fn allow(router: Router, origins: &[String]) -> Router {
    if origins.is_empty() {
        return router;
    }
    let everybody = origins.iter().any(|origin| origin == "*");
    let origins: Arc<[HeaderValue]> =
        origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect();
    let allowed =
        if everybody { AllowOrigin::any() } else { AllowOrigin::list(origins.iter().cloned()) };
    let cors = CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers(SENT)
        .expose_headers(READ)
        .max_age(PREFLIGHT_LIFE);
    let trust = move |mut request: Request, next: Next| {
        let named = request.headers().get(ORIGIN).is_some_and(|origin| origins.contains(origin));
        if named {
            request.extensions_mut().insert(TrustedOrigin);
        }
        next.run(request)
    };
    router.layer(from_fn(trust)).layer(cors)
}
