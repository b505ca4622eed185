//! `POST /v1/orders/{id}/refund`: give money back, once for each idempotency key.

use crate::adapters::r#in::http::auth::Caller;
use crate::adapters::r#in::http::body::OptionalJson;
use crate::adapters::r#in::http::faults::{At, Faults};
use crate::adapters::r#in::http::lang::Text;
use crate::adapters::r#in::http::order_body::OrderBody;
use crate::adapters::r#in::http::orders::present_order;
use crate::adapters::r#in::http::params::{Id, NoQuery};
use crate::adapters::r#in::http::problem::Problem;
use crate::adapters::r#in::http::state::App;
use crate::adapters::r#in::http::tasks::{QueuedBody, queued};
use crate::adapters::r#in::http::visit::Visit;
use crate::adapters::r#in::http::wire::MoneyBody;
use crate::core::domain::ids::OrderId;
use crate::core::domain::money::{Currency, Money};
use crate::core::use_cases::refund_order::{Refund, Refunding};
use axum::extract::State;
use axum::response::Response;
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;

const BAD_AMOUNT: Text = Text::new(
    "must be whole minor units, at least 1",
    "должно быть целым числом копеек, не меньше 1",
);
const BAD_CURRENCY: Text =
    Text::new("must be an ISO 4217 code", "должно быть кодом валюты ISO 4217");

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
#[utoipa::path(
    post,
    path = "/v1/orders/{id}/refund",
    tag = "orders",
    params(
        ("id" = uuid::Uuid, Path, description = "The order"),
        ("Idempotency-Key" = Option<String>, Header,
            description = "1 to 255 visible ASCII characters: repeats with it have one effect"),
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
    caller: Caller,
    visit: Visit,
    Id(order_id): Id<OrderId>,
    _: NoQuery,
    OptionalJson(body): OptionalJson,
) -> Result<Response, Problem> {
    let amount = amount(body.as_ref())?;
    let ask = Refund { order_id, scope: caller.scope.clone(), amount, call: visit.call() };
    let work = Arc::clone(&app);
    let answer =
        app.answered(|reply| async move { work.can.refund_order.run(ask, reply).await }).await??;
    match answer {
        Refunding::Done => present_order(&app, order_id, &caller.scope).await,
        Refunding::Queued { task_id, retry_after } => Ok(queued(order_id, task_id, retry_after)),
    }
}

fn amount(body: Option<&Value>) -> Result<Option<Money>, Problem> {
    let mut faults = Faults::default();
    let amount = body
        .and_then(|body| faults.object(body, At::Root, &["amount"]))
        .and_then(|members| members.get("amount"))
        .and_then(|value| money(value, At::Member(&At::Root, "amount"), &mut faults));
    faults.verdict(Some(amount))
}

fn money(value: &Value, at: At<'_>, faults: &mut Faults) -> Option<Money> {
    let members = faults.object(value, at, &["amount", "currency"])?;
    let minor = faults.member(members, at, "amount").and_then(|value| {
        let minor = value.as_i64().filter(|minor| *minor > 0);
        faults.parsed(minor, At::Member(&at, "amount"), BAD_AMOUNT)
    });
    let currency = faults.member(members, at, "currency").and_then(|value| {
        let at = At::Member(&at, "currency");
        let code = faults.string(value, at)?;
        faults.parsed(Currency::parse(code).ok(), at, BAD_CURRENCY)
    });
    Money::new(minor?, currency?).ok()
}
