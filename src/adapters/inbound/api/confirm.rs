//! `POST /v1/orders/{id}/confirm`: make an order payable.

use crate::adapters::inbound::api::auth::Caller;
use crate::adapters::inbound::api::queued::{QueuedBody, queued};
use crate::adapters::inbound::api::return_url::{BAD_RETURN_URL, ReturnUrls};
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::body::OptionalJson;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::params::{Id, NoQuery};
use crate::adapters::inbound::http_kit::prefer::{
    MAX_WAIT, PREFERENCE_APPLIED, Prefer, applied_wait, waited,
};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::http_kit::request_context::RequestContext;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::adapters::inbound::resources::wire::{as_text, provider_schema};
use crate::core::domain::ids::OrderId;
use crate::core::payment::policy::FORM_LIFETIMES;
use crate::core::use_cases::confirm_order::{ConfirmRequest, Confirmation};
use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use utoipa::ToSchema;

// How it is read: `ConfirmWishes`.
/// How the payer comes back.
#[expect(dead_code, reason = "only its schema is used: bodies are read by hand")]
#[derive(Debug, ToSchema)]
#[schema(as = Confirm)]
pub struct ConfirmBody {
    /// Where the payment form sends the payer back to: https, and a host that the operator allows.
    /// `{order_id}` and `{external_id}` in it are filled in.
    #[schema(
        max_length = 512,
        required = false,
        example = "https://shop.example/paid?order={order_id}"
    )]
    return_url: String,
    /// How long the form is to live, in seconds: 5 minutes to 7 days. Left out, it is the payment
    /// system's own: 20 minutes.
    #[schema(minimum = 300, maximum = 604_800, required = false, example = 3600)]
    form_lifetime: u32,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Registered)]
pub struct RegisteredBody<'a> {
    #[schema(pattern = "^registered$", example = "registered")]
    status: &'static str,
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = uuid::Uuid)]
    order_id: OrderId,
    #[schema(schema_with = provider_schema)]
    provider: &'static str,
    /// Where the payer pays.
    #[schema(example = "https://pay.example/form/1")]
    form_url: &'a str,
    /// Where the form sends the payer back to: of several confirms, the one that registered it decides.
    /// Null for what an earlier version registered.
    #[schema(required, example = "https://shop.example/paid")]
    return_url: Option<&'a str>,
}

/// Confirm an order: make it payable
///
/// Asked again: the same form while it waits for the payer, also for who asks while it is being
/// registered and waits, else the same task; a new attempt after a failed payment. From the moment
/// that a cancel is accepted: 409 `cancel_in_progress`.
#[utoipa::path(
    post,
    path = "/v1/orders/{id}/confirm",
    tag = "orders",
    params(
        ("id" = uuid::Uuid, Path, description = "The order"),
        ("Prefer" = Option<String>, Header,
            description = "`respond-async`, or `wait=n` seconds (RFC 7240), cut at `PAYMENT_SYNC_WAIT`"),
    ),
    request_body = Option<ConfirmBody>,
    responses(
        (status = 200, description = "Registered: the payer can pay", body = RegisteredBody<'static>),
        (status = 202, description = "Queued: the task goes on without the client",
            body = QueuedBody, headers(
                ("Location" = String, description = "Where the task is"),
                ("Retry-After" = u64, description = "Seconds"),
                ("Preference-Applied" = String, description = "What was honoured of `Prefer`"),
            )),
    )
)]
pub async fn confirm_order(
    State(app): State<Arc<App>>,
    caller: Caller,
    context: RequestContext,
    Id(order_id): Id<OrderId>,
    prefer: Prefer,
    _: NoQuery,
    OptionalJson(body): OptionalJson,
) -> Result<Response, Problem> {
    let ConfirmWishes { return_url, form_lifetime } =
        ConfirmWishes::read(body.as_ref(), &app.settings.return_urls)?;
    // "At once, or after so many seconds" is a wait; only without a wait it means "do not wait".
    let wait = prefer.wait.map(|wait| wait.min(MAX_WAIT));
    let respond_async = prefer.respond_async && wait.is_none_or(|wait| wait.is_zero());
    let wait = wait.filter(|_| !respond_async);
    let request = ConfirmRequest {
        order_id,
        scope: caller.scope,
        return_url,
        form_lifetime,
        wait,
        respond_async,
        call: context.call(),
    };
    let longest = app.use_cases.confirm_order.longest_wait();
    let begun = Instant::now();
    let work = Arc::clone(&app);
    let answer =
        app.detached(async move { work.use_cases.confirm_order.run(request).await }).await??;
    let mut response = match answer {
        Confirmation::Registered(form) => {
            let body = RegisteredBody {
                status: "registered",
                order_id,
                provider: form.provider.as_str(),
                form_url: &form.form_url,
                return_url: form.return_url.as_deref(),
            };
            json(StatusCode::OK, &body)
        }
        Confirmation::Queued { task_id, retry_after } => queued(order_id, task_id, retry_after),
    };
    let headers = response.headers_mut();
    if prefer.respond_async && headers.contains_key(http::header::LOCATION) {
        headers.append(PREFERENCE_APPLIED, HeaderValue::from_static("respond-async"));
    }
    if let Some(wait) = wait.map(|wait| wait.min(longest))
        && (response.status() == StatusCode::OK || waited(begun, wait))
    {
        response.headers_mut().append(PREFERENCE_APPLIED, applied_wait(wait));
    }
    Ok(response)
}

/// What the body may say.
#[derive(Default)]
struct ConfirmWishes {
    return_url: Option<String>,
    form_lifetime: Option<Duration>,
}

const BAD_LIFETIME: Text = Text::new(
    "must be whole seconds, 300 to 604800",
    "должно быть целым числом секунд от 300 до 604800",
);

impl ConfirmWishes {
    fn read(body: Option<&Value>, allowed: &ReturnUrls) -> Result<Self, Problem> {
        let Some(body) = body else { return Ok(Self::default()) };
        let (root, mut violations) = (JsonPointer::Root, Violations::default());
        let mut wishes = Self::default();
        if let Some(members) = violations.object(body, root, &["return_url", "form_lifetime"]) {
            wishes.return_url = members.get("return_url").and_then(|value| {
                let at = root.member("return_url");
                let text = violations.string(value, at)?;
                let text = allowed.allow(text).then(|| text.to_owned());
                violations.parsed(text, at, BAD_RETURN_URL)
            });
            wishes.form_lifetime = members.get("form_lifetime").and_then(|value| {
                let lifetime = value.as_u64().map(Duration::from_secs);
                let lifetime = lifetime.filter(|lifetime| FORM_LIFETIMES.contains(lifetime));
                violations.parsed(lifetime, root.member("form_lifetime"), BAD_LIFETIME)
            });
        }
        violations.into_result(Some(wishes))
    }
}
