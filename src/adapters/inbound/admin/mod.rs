//! The operators' listener: metrics, health, what may be turned by hand, and a
//! page for doing so. Whenever a token is set, everything but metrics, health and that page's own
//! files asks for it.

mod console;
mod exposition;
mod orders;
mod systems;
mod tasks;
mod token;

pub use exposition::Exposition;

use crate::adapters::inbound::http_kit::body::BodyLimit;
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::health::{Readiness, health_routes};
use crate::adapters::inbound::http_kit::lifecycle::Lifecycle;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::request_layer::{self, RequestLayer, RequestLimits};
use crate::adapters::observe::systems::SystemControl;
use crate::adapters::observe::traffic::Uncounted;
use crate::core::ports::clock::Entropy;
use crate::core::use_cases::operate_tasks::OperateTasks;
use axum::Router;
use axum::extract::{FromRef, State};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use futures_util::future::BoxFuture;
use http::header::{CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue};
use secrecy::SecretString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use token::{TokenDigest, require_token};
use tokio_util::task::TaskTracker;
use tower_http::compression::CompressionLayer;

/// An operator's request is small and short, and there are few at a time.
const BODY_LIMIT: BodyLimit = BodyLimit(65_536);
const REQUEST_LIMITS: RequestLimits =
    RequestLimits { timeout: Duration::from_secs(20), max_in_flight: 64, long_poll_route: None };

/// Makes the page of a scrape: the content type and the text.
pub type RenderMetrics =
    Box<dyn Fn(Exposition) -> BoxFuture<'static, (&'static str, String)> + Send + Sync>;

/// What the operator's routes are served from.
pub struct AdminState {
    pub systems: Vec<Arc<dyn SystemControl>>,
    pub operate_tasks: OperateTasks,
    pub metrics: RenderMetrics,
    /// Work that outlives its request; shutdown waits for it.
    pub detached: TaskTracker,
    pub readiness: Arc<Readiness>,
    pub entropy: Arc<dyn Entropy>,
    /// `ADMIN_TOKEN`.
    pub token: Option<SecretString>,
}

impl fmt::Debug for AdminState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminState").field("systems", &self.systems).finish_non_exhaustive()
    }
}

impl FromRef<Arc<AdminState>> for BodyLimit {
    fn from_ref(_: &Arc<AdminState>) -> Self {
        BODY_LIMIT
    }
}

/// Everything that the admin listener serves.
pub fn router(state: &Arc<AdminState>) -> Router {
    // Not the service's own lifecycle: operators look on until the process ends.
    let lifecycle = Arc::new(Lifecycle::default());
    let entropy = Arc::clone(&state.entropy);
    let request_layer =
        Arc::new(RequestLayer::new(Arc::new(Uncounted), entropy, lifecycle, REQUEST_LIMITS));
    let open = Router::new()
        .route("/metrics", get(metrics))
        .merge(console::routes())
        .layer(CompressionLayer::new())
        .with_state(Arc::clone(state))
        .merge(health_routes(Arc::clone(&state.readiness)));
    let guarded = Router::new()
        .route("/admin/systems", get(systems::list))
        .route("/admin/systems/{system}/breaker", put(systems::set_mode))
        .route("/admin/systems/{system}/breaker/reset", post(systems::reset))
        .route("/admin/tasks", get(tasks::list))
        .route("/admin/orders/{id}", get(orders::show))
        .route("/admin/tasks/{id}/retry", post(tasks::retry))
        .route("/admin/tasks/{id}/cancel", post(tasks::cancel))
        .route("/admin/tasks/{id}/resolve", post(tasks::resolve))
        .with_state(Arc::clone(state));
    let guarded = match &state.token {
        Some(token) => {
            let expected = Arc::new(TokenDigest::new(token));
            guarded.route_layer(from_fn_with_state(expected, require_token))
        }
        None => guarded,
    };
    open.merge(guarded)
        .fallback(async || Problem::new(Code::NotFound))
        .method_not_allowed_fallback(async || Problem::new(Code::MethodNotAllowed))
        .layer(from_fn_with_state(request_layer, request_layer::apply))
}

async fn metrics(State(state): State<Arc<AdminState>>, headers: HeaderMap) -> Response {
    let (content_type, text) = (state.metrics)(Exposition::negotiate(&headers)).await;
    let content_type = HeaderValue::from_static(content_type);
    ([(CONTENT_TYPE, content_type), (VARY, HeaderValue::from_static("accept"))], text)
        .into_response()
}
