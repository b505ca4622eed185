//! What was, is and will be sent to an endpoint, and sending it once more.

use super::lookup::{own, webhooks};
use crate::adapters::inbound::api::caller::WebhookOwner;
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::body::Json;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::params::{Id, NoQuery, Params};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::adapters::inbound::resources::wire::{TimestampBody, event_type_schema};
use crate::core::domain::ids::{EventId, WebhookEndpointId};
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::webhook_endpoints::{
    AttemptRecord, DeliveryQuery, DeliveryState, Redelivery, WebhookDelivery,
};
use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;

/// Deliveries that one request sends once more: the next request goes on.
const AT_ONCE: usize = 10_000;

const BAD_STATE: Text =
    Text::new("must be pending, delivered or failed", "должно быть pending, delivered или failed");
const BAD_CURSOR: Text = Text::new(
    "must be next_cursor of an earlier answer",
    "должно быть next_cursor из прошлого ответа",
);
const BAD_EVENT: Text = Text::new("must be the id of an event", "должно быть id события");
const BAD_TIME: Text = Text::new("must be a time (RFC 3339)", "должно быть временем (RFC 3339)");
const BAD_WHICH: Text = Text::new("must be failed or all", "должно быть failed или all");
const ONE_OF: Text =
    Text::new("must hold event_id, or since", "должно содержать event_id или since");

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookDelivery)]
pub struct DeliveryBody {
    /// Its `webhook-id` is this one, at every attempt.
    #[schema(example = "01a23170-da47-7625-b599-3aaf317c7d05_2")]
    event_id: String,
    #[serde(rename = "type")]
    #[schema(schema_with = event_type_schema)]
    kind: &'static str,
    /// `pending`, `delivered`, or `failed`: nobody tries any more.
    #[schema(pattern = "^(pending|delivered|failed)$", example = "delivered")]
    state: &'static str,
    /// Attempts that were made.
    attempts: u32,
    /// Null when there will be none.
    #[schema(required)]
    next_attempt_at: Option<TimestampBody>,
    created_at: TimestampBody,
    /// Null before the first.
    #[schema(required)]
    last_attempt: Option<LastAttemptBody>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookAttempt)]
pub struct LastAttemptBody {
    at: TimestampBody,
    /// Null when there was no answer.
    #[schema(required)]
    response_status: Option<u16>,
    /// Why there was no answer, in a word.
    #[schema(required)]
    error: Option<String>,
    duration_ms: u64,
    /// The beginning of the answer's body: at most 1 KiB.
    response_excerpt: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookDeliveryPage)]
pub struct DeliveriesBody {
    /// The newest first.
    items: Vec<DeliveryBody>,
    /// Null on the last page.
    #[schema(required)]
    next_cursor: Option<String>,
}

impl DeliveryBody {
    fn of(delivery: WebhookDelivery) -> Self {
        let pending = delivery.state == DeliveryState::Pending;
        Self {
            event_id: delivery.event.to_string(),
            kind: delivery.kind.as_str(),
            state: delivery.state.as_str(),
            attempts: delivery.attempts,
            next_attempt_at: pending.then_some(TimestampBody(delivery.due_at)),
            created_at: TimestampBody(delivery.created_at),
            last_attempt: delivery.last_attempt.map(LastAttemptBody::of),
        }
    }
}

impl LastAttemptBody {
    fn of(attempt: AttemptRecord) -> Self {
        Self {
            at: TimestampBody(attempt.at),
            response_status: attempt.status,
            error: attempt.error,
            duration_ms: u64::try_from(attempt.took.as_millis()).unwrap_or(u64::MAX),
            response_excerpt: attempt.excerpt,
        }
    }
}

/// List a webhook endpoint's deliveries
#[utoipa::path(
    get,
    path = "/v1/webhook-endpoints/{id}/deliveries",
    tag = "webhook endpoints",
    params(
        ("id" = uuid::Uuid, Path, description = "The endpoint"),
        ("state" = Option<String>, Query, description = "Only `pending`, `delivered` or `failed` ones"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of an earlier answer"),
        ("limit" = Option<u8>, Query, description = "1 to 100; 20 when left out"),
    ),
    responses((status = 200, description = "The newest first", body = DeliveriesBody))
)]
pub async fn list_deliveries(
    State(app): State<Arc<App>>,
    owner: WebhookOwner,
    Id(id): Id<WebhookEndpointId>,
    uri: Uri,
) -> Result<Response, Problem> {
    let mut params = Params::read(&uri, &["state", "cursor", "limit"]);
    let state = params.take("state", DeliveryState::parse, BAD_STATE);
    let before = params.take("cursor", |text| text.parse().ok(), BAD_CURSOR);
    let limit = params.limit();
    params.finish()?;
    own(&app, &owner, id).await?;
    let query = DeliveryQuery { state, before, limit: limit + 1 };
    let mut found = webhooks(&app).endpoints.deliveries(id, &query).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().filter(|_| more).map(|last| last.id.to_string());
    let items = found.into_iter().map(DeliveryBody::of).collect();
    Ok(json(StatusCode::OK, &DeliveriesBody { items, next_cursor: last }))
}

/// What is to be sent once more: one event, or everything since a moment.
#[expect(dead_code, reason = "only its schema is used: bodies are read by hand")]
#[derive(Debug, ToSchema)]
#[schema(as = WebhookRedelivery)]
pub struct RedeliveryBody {
    /// This event alone, whatever became of it.
    #[schema(required = false, example = "01a23170-da47-7625-b599-3aaf317c7d05_2")]
    event_id: String,
    /// Everything since then.
    #[schema(required = false, value_type = String, format = DateTime)]
    since: String,
    /// With `since`: `failed` for what could not be delivered (the default), `all` for everything that the endpoint
    /// wants, also from before it was registered.
    #[schema(pattern = "^(failed|all)$", required = false, example = "failed")]
    which: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookRedelivered)]
pub struct RedeliveredBody {
    /// So many are sent once more. At most 10,000 at a time: ask again until it is 0.
    queued: u64,
}

/// Send events to a webhook endpoint once more
#[utoipa::path(
    post,
    path = "/v1/webhook-endpoints/{id}/redeliver",
    tag = "webhook endpoints",
    params(("id" = uuid::Uuid, Path, description = "The endpoint")),
    request_body = RedeliveryBody,
    responses((status = 202, description = "They are sent again", body = RedeliveredBody))
)]
pub async fn redeliver(
    State(app): State<Arc<App>>,
    owner: WebhookOwner,
    Id(id): Id<WebhookEndpointId>,
    _: NoQuery,
    Json(body): Json,
) -> Result<Response, Problem> {
    let what = read(&body)?;
    own(&app, &owner, id).await?;
    let queued = webhooks(&app).endpoints.redeliver(id, what, AT_ONCE).await?;
    Ok(json(StatusCode::ACCEPTED, &RedeliveredBody { queued }))
}

fn read(body: &Value) -> Result<Redelivery, Problem> {
    let mut violations = Violations::default();
    let root = JsonPointer::Root;
    let what = violations.object(body, root, &["event_id", "since", "which"]).and_then(|members| {
        let mut text = |name| {
            let value = members.get(name)?;
            violations.string(value, root.member(name)).map(|text| (name, text))
        };
        let (event, since, which) = (text("event_id"), text("since"), text("which"));
        let mut moment = |(name, text): (&str, &str)| {
            violations.parsed(Timestamp::parse_rfc3339(text), root.member(name), BAD_TIME)
        };
        match (event, since, which) {
            (Some((name, text)), None, None) => violations
                .parsed(EventId::parse(text), root.member(name), BAD_EVENT)
                .map(Redelivery::Event),
            (None, Some(since), None | Some((_, "failed"))) => {
                moment(since).map(Redelivery::FailedSince)
            }
            (None, Some(since), Some((_, "all"))) => moment(since).map(Redelivery::AllSince),
            (None, Some(_), Some((name, _))) => {
                violations.add(root.member(name), BAD_WHICH);
                None
            }
            (Some(_), Some(_), _) | (_, None, _) => {
                violations.add(root, ONE_OF);
                None
            }
        }
    });
    violations.into_result(what)
}
