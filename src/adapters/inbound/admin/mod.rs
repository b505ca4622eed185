//! The operators' listener: metrics, health, what may be turned by hand, and a page for doing so. Whenever
//! a token is set, everything but metrics, health and that page's own files asks for it.

mod audit;
mod console;
mod exposition;
mod info;
mod log;
mod metrics;
mod mode_change;
mod orders;
mod service_mode;
mod state;
mod system_body;
mod systems;
mod tasks;
mod token;

pub use exposition::{Exposition, RenderMetrics};
pub use state::AdminState;

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::health::health_routes;
use crate::adapters::inbound::http_kit::incoming::BodyLimits;
use crate::adapters::inbound::http_kit::lifecycle::Lifecycle;
use crate::adapters::inbound::http_kit::origin::OriginRule;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::request_layer::{
    self, RequestLayer, RequestLimits, RouteRules,
};
use crate::adapters::observe::traffic::Uncounted;
use crate::adapters::resilience::settings::Concurrency;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post, put};
use std::sync::Arc;
use std::time::Duration;
use token::{Operators, require_token};
use tower_http::compression::CompressionLayer;

/// An operator's request is short, and there are few at a time.
fn request_limits(state: &AdminState) -> RequestLimits {
    RequestLimits {
        timeout: Duration::from_secs(20),
        max_in_flight: 64,
        concurrency: Concurrency::Fixed,
        body: BodyLimits { max_bytes: 65_536, timeout: Duration::from_secs(5) },
        rules: RouteRules::default(),
        // Without a token the listener is on loopback.
        origin: if state.tokens.is_empty() { OriginRule::Loopback } else { OriginRule::Any },
    }
}

/// Everything that the admin listener serves.
pub fn router(state: &Arc<AdminState>) -> Router {
    // Not the service's own lifecycle: operators look on until the process ends.
    let lifecycle = Arc::new(Lifecycle::default());
    let entropy = Arc::clone(&state.entropy);
    let request_layer =
        Arc::new(RequestLayer::new(Arc::new(Uncounted), entropy, lifecycle, request_limits(state)));
    let open = Router::new()
        .route("/metrics", get(metrics::scrape))
        .merge(console::routes())
        .layer(CompressionLayer::new())
        .with_state(Arc::clone(state))
        .merge(health_routes(Arc::clone(&state.readiness)));
    let guarded = Router::new()
        .route("/admin/systems", get(systems::list))
        .route("/admin/systems/{system}/breaker", put(systems::set_mode))
        .route("/admin/systems/{system}/breaker/reset", post(systems::reset))
        .route("/info", get(info::show))
        .route("/admin/mode", get(service_mode::show).put(service_mode::change))
        .route("/admin/log", get(log::show).put(log::change))
        .route("/admin/tasks", get(tasks::list))
        .route("/admin/audit", get(audit::list))
        .route("/admin/orders/{id}", get(orders::show))
        .route("/admin/tasks/{id}/retry", post(tasks::retry))
        .route("/admin/tasks/{id}/cancel", post(tasks::cancel))
        .route("/admin/tasks/{id}/resolve", post(tasks::resolve))
        .with_state(Arc::clone(state));
    let guarded = if state.tokens.is_empty() {
        guarded
    } else {
        let operators = Arc::new(Operators::new(&state.tokens));
        guarded.route_layer(from_fn_with_state(operators, require_token))
    };
    open.merge(guarded)
        .fallback(async || Problem::new(Code::NotFound))
        .method_not_allowed_fallback(async || Problem::new(Code::MethodNotAllowed))
        .layer(from_fn_with_state(request_layer, request_layer::apply))
}
