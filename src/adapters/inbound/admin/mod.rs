//! The operator's door, on a listener of its own: metrics, health, what may be turned by hand, and a
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
use crate::adapters::inbound::http_kit::limits::Lifecycle;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::request_layer::{Door, door};
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
use token::{Expected, demand};
use tokio_util::task::TaskTracker;
use tower_http::compression::CompressionLayer;

/// An operator's request is small and short, and there are few at a time.
const LIMIT: BodyLimit = BodyLimit(65_536);
const PATIENCE: Duration = Duration::from_secs(20);
const AT_A_TIME: usize = 64;

/// Makes the page of a scrape: the content type and the text.
pub type RenderMetrics =
    Box<dyn Fn(Exposition) -> BoxFuture<'static, (&'static str, String)> + Send + Sync>;

/// What the operator's routes are served from.
pub struct Desk {
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

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("systems", &self.systems).finish_non_exhaustive()
    }
}

impl FromRef<Arc<Desk>> for BodyLimit {
    fn from_ref(_: &Arc<Desk>) -> Self {
        LIMIT
    }
}

/// Everything that the admin listener serves.
pub fn router(desk: &Arc<Desk>) -> Router {
    // Not the service's own lifecycle: operators look on until the process ends.
    let lifecycle = Arc::new(Lifecycle::default());
    let entropy = Arc::clone(&desk.entropy);
    let door_state = Door::new(Arc::new(Uncounted), entropy, lifecycle, PATIENCE, AT_A_TIME);
    let open = Router::new()
        .route("/metrics", get(metrics))
        .merge(console::routes())
        .layer(CompressionLayer::new())
        .with_state(Arc::clone(desk))
        .merge(health_routes(Arc::clone(&desk.readiness)));
    let guarded = Router::new()
        .route("/admin/systems", get(systems::list))
        .route("/admin/systems/{system}/breaker", put(systems::set_mode))
        .route("/admin/systems/{system}/breaker/reset", post(systems::reset))
        .route("/admin/tasks", get(tasks::list))
        .route("/admin/orders/{id}", get(orders::show))
        .route("/admin/tasks/{id}/retry", post(tasks::retry))
        .route("/admin/tasks/{id}/cancel", post(tasks::cancel))
        .route("/admin/tasks/{id}/resolve", post(tasks::resolve))
        .with_state(Arc::clone(desk));
    let guarded = match &desk.token {
        Some(token) => {
            let expected = Arc::new(Expected::new(token));
            guarded.route_layer(from_fn_with_state(expected, demand))
        }
        None => guarded,
    };
    open.merge(guarded)
        .fallback(async || Problem::new(Code::NotFound))
        .method_not_allowed_fallback(async || Problem::new(Code::MethodNotAllowed))
        .layer(from_fn_with_state(Arc::new(door_state), door))
}

async fn metrics(State(desk): State<Arc<Desk>>, headers: HeaderMap) -> Response {
    let (content_type, text) = (desk.metrics)(Exposition::asked(&headers)).await;
    let content_type = HeaderValue::from_static(content_type);
    ([(CONTENT_TYPE, content_type), (VARY, HeaderValue::from_static("accept"))], text)
        .into_response()
}
