//! `POST /v1/orders/{id}/refund`: give money back, once for each idempotency key.

use crate::adapters::inbound::api::auth::Caller;
use crate::adapters::inbound::api::idempotency::{
    Claim, Fingerprint, Key, fingerprint, mark_replayed, replayed,
};
use crate::adapters::inbound::api::order_body::OrderBody;
use crate::adapters::inbound::api::orders::{order_bytes, present_order};
use crate::adapters::inbound::api::queued::{QueuedBody, queued, queued_bytes};
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::body::OptionalJson;
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::params::{Id, NoQuery};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json_bytes;
use crate::adapters::inbound::http_kit::request_context::RequestContext;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::adapters::inbound::resources::wire::MoneyBody;
use crate::adapters::observe::adapter_events::{AdapterEvent, IdempotencyResult};
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::money::{Currency, Money};
use crate::core::payment::task::TaskState;
use crate::core::ports::idempotency::{IdempotencyKey, KeptReply};
use crate::core::ports::order_repository::Scope;
use crate::core::use_cases::refund_order::{KeyedRefund, RefundRequest, Refunding, RenderRefund};
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

const ROUTE: &str = "POST /v1/orders/{id}/refund";
/// Where the outcome of a keyed refund is kept.
const OUTCOME: &str = "POST /v1/orders/{id}/refund, outcome";

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
    context: RequestContext,
    Id(order_id): Id<OrderId>,
    _: NoQuery,
    Key(key): Key,
    OptionalJson(body): OptionalJson,
) -> Result<Response, Problem> {
    let amount = amount(body.as_ref())?;
    let wanted = Wanted { order_id, amount, scope: caller.scope };
    let Some(key) = key else {
        let answer = wanted.run(&app, None, &context).await?;
        return match answer {
            Refunding::Done => present_order(&app, order_id, &wanted.scope).await,
            Refunding::Queued { task_id, retry_after } => {
                Ok(queued(order_id, task_id, retry_after))
            }
        };
    };
    let key = |route| IdempotencyKey { owner: caller.owner.clone(), route, key: key.clone() };
    let outcome = key(OUTCOME);
    let claim = app.keys.claim(key(ROUTE), wanted.fingerprint(), &*app.services.events)?;
    app.detached(refund_once(Arc::clone(&app), wanted, claim, outcome, context)).await?
}

#[derive(Debug)]
struct Wanted {
    order_id: OrderId,
    amount: Option<Money>,
    scope: Scope,
}

impl Wanted {
    async fn run(
        &self,
        app: &Arc<App>,
        keyed: Option<KeyedRefund>,
        context: &RequestContext,
    ) -> Result<Refunding, Problem> {
        let (order_id, amount, scope) = (self.order_id, self.amount, self.scope.clone());
        let request = RefundRequest { order_id, scope, amount, keyed, call: context.call() };
        let work = Arc::clone(app);
        Ok(app.detached(async move { work.use_cases.refund_order.run(request).await }).await??)
    }

    fn fingerprint(&self) -> Fingerprint {
        let (minor, currency) = match self.amount {
            Some(amount) => (amount.minor().to_string(), amount.currency().code().to_owned()),
            None => ("all".to_owned(), String::new()),
        };
        fingerprint([ROUTE, &self.order_id.to_string(), &minor, &currency])
    }
}

/// Two replies stand for a key: the one that is committed with the decision (a 202 with the task, so that
/// no crash can make a second refund, or a refusal), and the task's good end, as soon as there is one. The
/// claim is held until then.
async fn refund_once(
    app: Arc<App>,
    wanted: Wanted,
    claim: Claim,
    outcome: IdempotencyKey,
    context: RequestContext,
) -> Result<Response, Problem> {
    if let Some(response) = known(&app, &wanted, &claim, &outcome).await? {
        return Ok(response);
    }
    let order_id = wanted.order_id;
    let keyed = KeyedRefund {
        key: claim.key.clone(),
        fingerprint: claim.fingerprint,
        render: render(order_id, context.clone()),
    };
    let answer = wanted.run(&app, Some(keyed), &context).await;
    if !matches!(&answer, Err(problem) if problem.status.is_server_error()) {
        app.services.events.tell(&AdapterEvent::Idempotency(IdempotencyResult::New));
    }
    match answer {
        Ok(Refunding::Done) => {
            let (ok, body) = (StatusCode::OK, order_bytes(&app, order_id, &wanted.scope).await?);
            let (fingerprint, status) = (claim.fingerprint, ok.as_u16());
            let reply = KeptReply { fingerprint, status, body: body.clone() };
            // If this is not kept, a repeat is answered by the task itself.
            let _ = app.services.idempotency.keep(outcome, reply).await;
            Ok(json_bytes(ok, body))
        }
        Ok(Refunding::Queued { task_id, retry_after }) => {
            Ok(queued(order_id, task_id, retry_after))
        }
        Err(problem) if is_final(problem.code) => Err(problem),
        // Another instance may have been quicker with the same key.
        Err(problem) => known(&app, &wanted, &claim, &outcome).await?.ok_or(problem),
    }
}

/// The reply that is kept with the decision.
fn render(order_id: OrderId, context: RequestContext) -> RenderRefund {
    Box::new(move |verdict| match verdict {
        Ok(task) => (StatusCode::ACCEPTED.as_u16(), queued_bytes(order_id, task)),
        Err(error) => {
            let problem = Problem::from(error);
            (problem.status.as_u16(), problem.body(context.problem_context()))
        }
    })
}

/// A refusal that a repeat gets again: of the decision, or of the provider by the task.
const fn is_final(code: Code) -> bool {
    matches!(code, Code::OrderNotRefundable | Code::RefundExceedsPayment | Code::RefundRejected)
}

/// The reply that the key stands for by now.
async fn known(
    app: &Arc<App>,
    wanted: &Wanted,
    claim: &Claim,
    outcome: &IdempotencyKey,
) -> Result<Option<Response>, Problem> {
    let (keys, events) = (&app.services.idempotency, &*app.services.events);
    if let Some(kept) = keys.find(outcome).await? {
        return Ok(Some(replayed(claim.same(kept, events)?)));
    }
    let Some(kept) = keys.find(&claim.key).await? else { return Ok(None) };
    let kept = claim.same(kept, events)?;
    let body: Value = serde_json::from_slice(&kept.body).unwrap_or_default();
    let Some(task) = body["task_id"].as_i64().and_then(TaskId::from_i64) else {
        return Ok(Some(replayed(kept)));
    };
    let view = app.services.queue.task(task, &wanted.scope).await?;
    match view.map(|view| view.task.state) {
        Some(TaskState::Succeeded) => {
            present_order(app, wanted.order_id, &wanted.scope).await.map(mark_replayed).map(Some)
        }
        Some(TaskState::Failed) => Err(Problem::new(Code::RefundRejected)),
        Some(TaskState::Queued | TaskState::Running | TaskState::Cancelled | TaskState::Review)
        | None => Ok(Some(mark_replayed(queued(wanted.order_id, task, Duration::ZERO)))),
    }
}

fn amount(body: Option<&Value>) -> Result<Option<Money>, Problem> {
    let mut violations = Violations::default();
    let amount = body
        .and_then(|body| violations.object(body, JsonPointer::Root, &["amount"]))
        .and_then(|members| members.get("amount"))
        .and_then(|value| money(value, JsonPointer::Root.member("amount"), &mut violations));
    violations.into_result(Some(amount))
}

fn money(value: &Value, at: JsonPointer<'_>, violations: &mut Violations) -> Option<Money> {
    let members = violations.object(value, at, &["amount", "currency"])?;
    let minor = violations.member(members, at, "amount").and_then(|value| {
        let minor = value.as_i64().filter(|minor| *minor > 0);
        violations.parsed(minor, at.member("amount"), BAD_AMOUNT)
    });
    let currency = violations.member(members, at, "currency").and_then(|value| {
        let at = at.member("currency");
        let code = violations.string(value, at)?;
        violations.parsed(Currency::parse(code).ok(), at, BAD_CURRENCY)
    });
    Money::new(minor?, currency?).ok()
}
