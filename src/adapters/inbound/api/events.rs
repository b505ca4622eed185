//! `GET /v1/orders/{id}/events` and `GET /v1/events`: what happened, for those who ask.

use crate::adapters::inbound::api::auth::Caller;
use crate::adapters::inbound::api::order_body::OrderBody;
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::params::{Id, Params};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::adapters::inbound::resources::wire::{TimestampBody, as_text, event_type_schema};
use crate::core::domain::ids::{EventId, OrderId};
use crate::core::ports::outbox::{After, StoredEvent};
use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

const BAD_AFTER: Text = Text::new(
    "must be next_cursor of an earlier answer, or the id of an event",
    "должно быть next_cursor из прошлого ответа или id события",
);
const BAD_SEQUENCE: Text = Text::new(
    "must be the sequence or the id of an event of this order",
    "должно быть sequence или id события этого заказа",
);

/// Something that happened to an order, as it is told once and for ever.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Event)]
pub struct EventBody<'a> {
    /// The same however often it is told.
    #[schema(example = "01a23170-da47-7625-b599-3aaf317c7d05.1")]
    id: String,
    #[serde(rename = "type")]
    #[schema(schema_with = event_type_schema)]
    kind: &'static str,
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = Uuid)]
    order_id: OrderId,
    /// 1 for the order's first event, and no gaps.
    #[schema(minimum = 1, example = 1)]
    sequence: u64,
    time: TimestampBody,
    data: EventDataBody<'a>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EventData)]
pub struct EventDataBody<'a> {
    /// The order as it was then, as `GET /v1/orders/{id}` showed it.
    order: OrderBody<'a>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EventPage)]
pub struct EventsBody<'a> {
    /// The earliest first.
    items: Vec<EventBody<'a>>,
    /// Where to go on, also when nothing more has happened yet: keep it, and ask again with it.
    next_cursor: String,
}

/// An event as a webhook tells it: as it stands in the lists.
pub fn event_json(event: &StoredEvent) -> String {
    serde_json::to_string(&EventBody::of(event)).expect("texts and numbers under text keys")
}

impl<'a> EventBody<'a> {
    fn of(event: &'a StoredEvent) -> Self {
        let order_id = event.aggregate.order.id;
        Self {
            id: EventId { order: order_id, sequence: event.sequence }.to_string(),
            kind: event.kind.as_str(),
            order_id,
            sequence: event.sequence,
            time: TimestampBody(event.at),
            data: EventDataBody { order: OrderBody::of(&event.aggregate) },
        }
    }
}

fn after(text: &str) -> Option<After> {
    let position = || text.parse().ok().map(After::Position);
    EventId::parse(text).map(After::Event).or_else(position)
}

/// List an order's events
#[utoipa::path(
    get,
    path = "/v1/orders/{id}/events",
    tag = "events",
    params(
        ("id" = Uuid, Path, description = "The order"),
        ("after" = Option<String>, Query, description = "Only those after this `sequence`, or after the event of this id"),
        ("limit" = Option<u8>, Query, description = "1 to 100; 20 when left out"),
    ),
    responses((status = 200, description = "The earliest first", body = EventsBody<'static>))
)]
pub async fn list_order_events(
    State(app): State<Arc<App>>,
    caller: Caller,
    Id(id): Id<OrderId>,
    uri: Uri,
) -> Result<Response, Problem> {
    let sequence = |text: &str| match EventId::parse(text) {
        Some(event) => (event.order == id).then_some(event.sequence),
        None => text.parse().ok(),
    };
    let mut params = Params::read(&uri, &["after", "limit"]);
    let after = params.take("after", sequence, BAD_SEQUENCE).unwrap_or(0);
    let limit = params.limit();
    params.finish()?;
    let found = app.use_cases.list_events.of_order(id, after, limit, &caller.scope).await?;
    let events = found.ok_or(Problem::new(Code::OrderNotFound))?;
    let last = events.last().map_or(after, |event| event.sequence);
    Ok(page(&events, last))
}

/// List events
///
/// Of all orders that the caller may see, in the order in which they became true: whoever keeps `next_cursor` misses
/// nothing and is told nothing twice.
#[utoipa::path(
    get,
    path = "/v1/events",
    tag = "events",
    params(
        ("after" = Option<String>, Query, description = "`next_cursor` of an earlier answer, or an event's id; from the beginning when left out"),
        ("limit" = Option<u8>, Query, description = "1 to 100; 20 when left out"),
    ),
    responses((status = 200, description = "The earliest first", body = EventsBody<'static>))
)]
pub async fn list_events(
    State(app): State<Arc<App>>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let mut params = Params::read(&uri, &["after", "limit"]);
    let after = params.take("after", after, BAD_AFTER).unwrap_or(After::Position(0));
    let limit = params.limit();
    params.finish()?;
    let found = app.use_cases.list_events.of_all(after, limit, &caller.scope).await?;
    let Some(events) = found else {
        let mut violations = Violations::default();
        violations.add(JsonPointer::Root.member("after"), BAD_AFTER);
        return violations.into_result(None);
    };
    let last = match (events.last(), after) {
        (Some(event), _) => event.position.to_string(),
        (None, After::Position(position)) => position.to_string(),
        (None, After::Event(event)) => event.to_string(),
    };
    Ok(page(&events, last))
}

fn page(events: &[StoredEvent], last: impl ToString) -> Response {
    let items = events.iter().map(EventBody::of).collect();
    json(StatusCode::OK, &EventsBody { items, next_cursor: last.to_string() })
}
