//! While operators keep the service read-only (`PUT /admin/mode`), what would place an order or move money is
//! refused before anything is read or written; reads and callbacks go on.

use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::problem::Problem;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

pub async fn refuse(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if app.use_cases.confirm_order.engine.gateway.hold().is_held() {
        return Problem::new(Code::Maintenance).into_response();
    }
    next.run(request).await
}
