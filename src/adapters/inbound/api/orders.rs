//! `GET /v1/orders/{id}` and `GET /v1/orders`.

use crate::adapters::inbound::api::auth::Caller;
use crate::adapters::inbound::api::etag::conditional;
use crate::adapters::inbound::api::order_body::OrderBody;
use crate::adapters::inbound::api::order_details::BAD_EXTERNAL_ID;
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::cursor::{BAD_CURSOR, Cursor};
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::params::{Id, NoQuery, Params};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::{encode, json};
use crate::adapters::inbound::resources::ids::BAD_ID;
use crate::core::domain::details::ExternalId;
use crate::core::domain::ids::{CustomerId, OrderId};
use crate::core::domain::order::OrderStatus;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::ports::order_repository::{OrderQuery, OrderSort, Scope};
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode, Uri};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;
use uuid::Uuid;

/// More ids than fit into a page make no sense.
const MOST_LISTED: usize = 100;

const FILTERS: [&str; 10] = [
    "customer_id",
    "external_id",
    "status",
    "ids",
    "created_from",
    "created_to",
    "updated_since",
    "sort",
    "limit",
    "cursor",
];

const BAD_STATUS: Text = Text::new(
    "must be a status of an order, or several with commas between",
    "должно быть состоянием заказа или несколькими через запятую",
);
const BAD_IDS: Text = Text::new(
    "must be 1 to 100 ids of orders with commas between",
    "должно содержать от 1 до 100 номеров заказов через запятую",
);
const BAD_TIME: Text =
    Text::new("must be a moment of RFC 3339", "должно быть моментом времени по RFC 3339");
const BAD_SORT: Text = Text::new(
    "must be -created_at, created_at or updated_at",
    "должно быть -created_at, created_at или updated_at",
);

/// Words with commas between: all of them, or none.
fn listed<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let words: Option<Vec<T>> = text.split(',').map(parse).collect();
    words.filter(|words| words.len() <= MOST_LISTED)
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OrderPage)]
pub struct PageBody<'a> {
    /// Newest first, unless sorted otherwise.
    items: Vec<OrderBody<'a>>,
    /// For the next page; null on the last one.
    #[schema(required)]
    next_cursor: Option<String>,
}

/// Show an order
#[utoipa::path(
    get,
    path = "/v1/orders/{id}",
    tag = "orders",
    params(
        ("id" = Uuid, Path, description = "The order"),
        ("If-None-Match" = Option<String>, Header, description = "A tag of an earlier answer"),
    ),
    responses(
        (status = 200, description = "As it stands", body = OrderBody<'static>,
            headers(("ETag" = String, description = "Changes with the order"))),
        (status = 304, description = "The client has it"),
    )
)]
pub async fn show_order(
    State(app): State<Arc<App>>,
    caller: Caller,
    Id(id): Id<OrderId>,
    _: NoQuery,
    request: HeaderMap,
) -> Result<Response, Problem> {
    let aggregate = find(&app, id, &caller.scope).await?;
    Ok(conditional(&request, encode(&OrderBody::of(&aggregate))))
}

/// The order as it stands now: how actions answer when they are done.
pub async fn present_order(app: &App, id: OrderId, scope: &Scope) -> Result<Response, Problem> {
    let aggregate = find(app, id, scope).await?;
    Ok(json(StatusCode::OK, &OrderBody::of(&aggregate)))
}

/// The order after a refund that is done.
pub async fn present_refunded(app: &App, id: OrderId, scope: &Scope) -> Result<Response, Problem> {
    let aggregate = find(app, id, scope).await?;
    Ok(json(StatusCode::OK, &OrderBody::refunded(&aggregate)))
}

pub async fn find(app: &App, id: OrderId, scope: &Scope) -> Result<OrderAggregate, Problem> {
    let found = app.use_cases.show_order.run(id, scope).await?;
    found.ok_or(Problem::new(Code::OrderNotFound))
}

/// List orders
#[utoipa::path(
    get,
    path = "/v1/orders",
    tag = "orders",
    params(
        ("customer_id" = Option<String>, Query, description = "Only this customer's"),
        ("external_id" = Option<String>, Query, description = "The order that the shop calls so"),
        ("status" = Option<String>, Query, description = "Only in this status, or in one of several (`paid,refunded`)"),
        ("ids" = Option<String>, Query, description = "Only these, up to 100, with commas between"),
        ("created_from" = Option<String>, Query, description = "Not older than this moment (RFC 3339)"),
        ("created_to" = Option<String>, Query, description = "Older than this moment"),
        ("updated_since" = Option<String>, Query, description = "Changed at this moment or later"),
        ("sort" = Option<String>, Query, description = "`-created_at` (newest first), `created_at`, or \
            `updated_at`: what changed longest ago first"),
        ("limit" = Option<u8>, Query, description = "1 to 100; 20 when left out"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of an earlier answer"),
    ),
    responses((status = 200, description = "A page", body = PageBody<'static>))
)]
pub async fn list_orders(
    State(app): State<Arc<App>>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let mut params = Params::read(&uri, &FILTERS);
    let customer_id = params.take("customer_id", |text| CustomerId::parse(text).ok(), BAD_ID);
    let external_id = params.take("external_id", ExternalId::parse, BAD_EXTERNAL_ID);
    let statuses = params.take("status", |text| listed(text, OrderStatus::parse), BAD_STATUS);
    let ids = params.take("ids", |text| listed(text, OrderId::parse), BAD_IDS);
    let mut time = |name| params.take(name, Timestamp::parse_rfc3339, BAD_TIME);
    let created = (time("created_from"), time("created_to"));
    let updated_since = time("updated_since");
    let sort = params.take("sort", OrderSort::parse, BAD_SORT).unwrap_or_default();
    let after = params.take("cursor", Cursor::decode, BAD_CURSOR);
    let limit = params.limit();
    params.finish()?;
    let after = after.map(|last| (last.at, OrderId::from_uuid(Uuid::from_u128(last.id))));
    // One more than the page holds, to learn whether there is a next one.
    let query = OrderQuery {
        customer_id,
        statuses: statuses.unwrap_or_default(),
        ids,
        created,
        updated_since,
        external_id,
        sort,
        limit: limit + 1,
        after,
    };
    let mut found = app.use_cases.show_order.page(&query, &caller.scope).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().filter(|_| more);
    let next_cursor = last.map(|aggregate| {
        let (at, id) = sort.place_of(&aggregate.order);
        Cursor { at, id: id.uuid().as_u128() }.encode()
    });
    let items = found.iter().map(OrderBody::of).collect();
    Ok(json(StatusCode::OK, &PageBody { items, next_cursor }))
}
