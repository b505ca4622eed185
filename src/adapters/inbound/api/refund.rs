//! `POST /v1/orders/{id}/refund`: give money back, once for each idempotency key.

use crate::adapters::inbound::api::caller::Refunder;
use crate::adapters::inbound::api::idempotency::{RequiredKey, fingerprint, mark_replayed};
use crate::adapters::inbound::api::money::money;
use crate::adapters::inbound::api::order_body::OrderBody;
use crate::adapters::inbound::api::orders::present_refunded;
use crate::adapters::inbound::api::queued::{QueuedBody, queued};
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::body::OptionalJson;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::params::{Id, NoQuery};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::request_context::RequestContext;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::adapters::inbound::resources::wire::MoneyBody;
use crate::core::domain::ids::OrderId;
use crate::core::domain::money::{Currency, Money};
use crate::core::ports::idempotency::{Fingerprint, IdempotencyKey, IdempotentRequest};
use crate::core::ports::order_repository::Scope;
use crate::core::use_cases::idempotency::Answer;
use crate::core::use_cases::refund_order::{RefundError, RefundRequest, Refunding};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;

const ROUTE: &str = "POST /v1/orders/{id}/refund";

// How it is read: `amount`.
/// How much is given back.
#[expect(dead_code, reason = "only its schema is used: bodies are read by hand")]
#[derive(Debug, ToSchema)]
#[schema(as = Refund)]
pub struct RefundBody {
    /// Without it, all that is left.
    #[schema(required = false)]
    amount: MoneyBody,
}

/// Refund an order, whole or in part
///
/// Needs the scope `orders:refund` or `orders:any`.
#[utoipa::path(
    post,
    path = "/v1/orders/{id}/refund",
    tag = "orders",
    params(
        ("id" = uuid::Uuid, Path, description = "The order"),
        ("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters: \
            repeats with it have one effect, for as long as the order can be refunded"),
    ),
    request_body = Option<RefundBody>,
    responses(
        (status = 200, description = "The money is back", body = OrderBody<'static>, headers(
            ("Idempotency-Replayed" = String, description = "`true`: the first reply, once more"),
        )),
        (status = 202, description = "Queued: the task goes on without the client",
            body = QueuedBody, headers(
                ("Location" = String, description = "Where the task is"),
                ("Retry-After" = u64, description = "Seconds"),
            )),
    )
)]
pub async fn refund_order(
    State(app): State<Arc<App>>,
    Refunder(caller): Refunder,
    context: RequestContext,
    Id(order_id): Id<OrderId>,
    _: NoQuery,
    RequiredKey(key): RequiredKey,
    OptionalJson(body): OptionalJson,
) -> Result<Response, Problem> {
    let amount = amount(body.as_ref())?;
    let idempotency = IdempotentRequest {
        key: IdempotencyKey { owner: caller.owner, route: ROUTE, key },
        fingerprint: fingerprint_of(order_id, amount),
    };
    let (scope, call) = (caller.scope.clone(), context.call());
    let request = RefundRequest { order_id, scope, amount, idempotency, call };
    let work = Arc::clone(&app);
    match app.detached(async move { work.use_cases.refund_order.run(request).await }).await? {
        Ok(Answer::First(refunding)) => present(&app, order_id, &caller.scope, refunding).await,
        Ok(Answer::Replayed(refunding)) => {
            present(&app, order_id, &caller.scope, refunding).await.map(mark_replayed)
        }
        Err(error @ RefundError::Replayed(_)) => {
            Ok(mark_replayed(Problem::from(error).into_response()))
        }
        Err(error) => Err(error.into()),
    }
}

async fn present(
    app: &App,
    order_id: OrderId,
    scope: &Scope,
    refunding: Refunding,
) -> Result<Response, Problem> {
    match refunding {
        Refunding::Done => present_refunded(app, order_id, scope).await,
        Refunding::Queued { task_id, retry_after } => Ok(queued(order_id, task_id, retry_after)),
    }
}

fn fingerprint_of(order_id: OrderId, amount: Option<Money>) -> Fingerprint {
    let minor = amount.map_or_else(|| "all".to_owned(), |amount| amount.minor().to_string());
    let currency = amount.map(Money::currency);
    let currency = currency.as_ref().map_or("", Currency::code);
    fingerprint([ROUTE, &order_id.to_string(), &minor, currency])
}

fn amount(body: Option<&Value>) -> Result<Option<Money>, Problem> {
    let mut violations = Violations::default();
    let amount = body
        .and_then(|body| violations.object(body, JsonPointer::Root, &["amount"]))
        .and_then(|members| members.get("amount"))
        .and_then(|value| money(value, JsonPointer::Root.member("amount"), &mut violations));
    violations.into_result(Some(amount))
}
