//! The part of the control API that concerns orders: what the payer and the bank do to them, and
//! the callbacks about them.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Body, Refused, Shared, problem};
use crate::sandbox::bank::{Bank, Deed, DeedError};
use crate::sandbox::callbacks::{Policy, ReleaseOrder};
use crate::sandbox::order::NewOrder;
use crate::sandbox::order_view::OrderView;
use crate::sandbox::partners::{PartnerName, PaymentPartner};
use crate::sandbox::world::World;

const FOREIGN_LIFE_MS: i64 = 20 * 60 * 1000;

pub fn router() -> Router<Arc<World>> {
    Router::new()
        .route("/control/orders/{order_id}/{deed}", post(act_on_shops_order))
        .route("/control/{partner}/orders", get(list_orders).post(register_foreign))
        .route("/control/{partner}/orders/{number}", get(show_order))
        .route("/control/{partner}/orders/{number}/callback", post(send_callback))
        .route("/control/{partner}/orders/{number}/{deed}", post(act))
        .route("/control/{partner}/callbacks", get(show_callbacks).put(set_policy))
        .route("/control/{partner}/callbacks/release", post(release))
}

fn payment(world: &World, partner: PartnerName) -> Result<&Arc<dyn PaymentPartner>, Refused> {
    let payment = world.payments.get(&partner);
    payment.ok_or_else(|| problem(StatusCode::NOT_FOUND, "this partner has no orders"))
}

fn bank(world: &World, partner: PartnerName) -> Result<&Arc<Bank>, Refused> {
    payment(world, partner).map(|payment| payment.bank())
}

fn no_such_order() -> Refused {
    problem(StatusCode::NOT_FOUND, "no such order")
}

async fn list_orders(
    State(world): Shared,
    Path(partner): Path<PartnerName>,
) -> Result<Json<Value>, Refused> {
    Ok(Json(json!({"items": bank(&world, partner)?.entries()})))
}

async fn show_order(
    State(world): Shared,
    Path((partner, number)): Path<(PartnerName, String)>,
) -> Result<Response, Refused> {
    let entry = bank(&world, partner)?.entry(&number).ok_or_else(no_such_order)?;
    Ok(Json(entry).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Foreign {
    number: String,
    amount: i64,
}

/// As if another system that shares our login had registered it.
async fn register_foreign(
    State(world): Shared,
    Path(partner): Path<PartnerName>,
    Body(Foreign { number, amount }): Body<Foreign>,
) -> Result<Response, Refused> {
    let payment = payment(&world, partner)?;
    let (registered, _receipts) = payment.bank().work(|ledger, now_ms| {
        let asked = NewOrder {
            protocol: payment.protocol(),
            number,
            amount,
            two_stage: false,
            description: "another system's order".into(),
            return_url: "https://another-shop.example/return".into(),
            fail_url: None,
            params: Vec::new(),
            expires_at_ms: now_ms + FOREIGN_LIFE_MS,
            effects: Default::default(),
        };
        ledger.commit_foreign(asked, now_ms).map(|index| ledger.order(index).view())
    });
    match registered {
        Ok(order) => Ok((StatusCode::CREATED, Json(order)).into_response()),
        Err(_taken) => Err(problem(StatusCode::CONFLICT, "the number is taken")),
    }
}

async fn act(
    State(world): Shared,
    Path((partner, number, deed)): Path<(PartnerName, String, Deed)>,
) -> Result<Response, Refused> {
    acted(bank(&world, partner)?.act(&number, deed))
}

fn acted(done: Result<OrderView, DeedError>) -> Result<Response, Refused> {
    match done {
        Ok(order) => Ok(Json(order).into_response()),
        Err(DeedError::NotFound) => Err(no_such_order()),
        Err(DeedError::Refused(refusal)) => {
            Err(problem(StatusCode::CONFLICT, &refusal.to_string()))
        }
    }
}

/// By the service's id of the order, whichever payment system has it: what a shop knows.
async fn act_on_shops_order(
    State(world): Shared,
    Path((order_id, deed)): Path<(Uuid, Deed)>,
) -> Result<Response, Refused> {
    // Its number at a payment system is a prefix, the id in Crockford's base 32, and the attempt.
    let id = base32(order_id.as_u128());
    let attempts = world.banks().flat_map(|bank| {
        let entries = bank.entries().into_iter().filter(|entry| entry.order.number.contains(&id));
        entries.map(move |entry| (entry.order.live, entry.order.number, bank))
    });
    let newest = attempts.max_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    let (_, number, bank) = newest.ok_or_else(no_such_order)?;
    acted(bank.act(&number, deed))
}

fn base32(id: u128) -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let digit = |place: u32| usize::try_from((id >> (place * 5)) & 31).unwrap_or(0);
    (0..26).rev().map(|place| char::from(DIGITS[digit(place)])).collect()
}

/// A callback of any content, true or not.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Crafted {
    /// `deposited`, `payment.succeeded`, …
    kind: String,
    /// Sber: 1 success, 0 failure.
    #[serde(default = "one")]
    status: i64,
    #[serde(default)]
    policy: Policy,
}

fn one() -> i64 {
    1
}

async fn send_callback(
    State(world): Shared,
    Path((partner, number)): Path<(PartnerName, String)>,
    Body(crafted): Body<Crafted>,
) -> Result<StatusCode, Refused> {
    let payment = payment(&world, partner)?;
    let bank = payment.bank();
    let (message, _receipts) = bank.work(|ledger, now_ms| {
        let order = ledger.order(ledger.by_number(&number)?);
        Some(payment.message(order, &crafted.kind, crafted.status == 0, now_ms))
    });
    bank.callbacks.dispatch(message.ok_or_else(no_such_order)?, &crafted.policy).await;
    Ok(StatusCode::NO_CONTENT)
}

async fn show_callbacks(
    State(world): Shared,
    Path(partner): Path<PartnerName>,
) -> Result<Json<Value>, Refused> {
    let callbacks = &bank(&world, partner)?.callbacks;
    Ok(Json(json!({"policy": callbacks.policy(), "items": callbacks.book()})))
}

async fn set_policy(
    State(world): Shared,
    Path(partner): Path<PartnerName>,
    Body(policy): Body<Policy>,
) -> Result<Json<Policy>, Refused> {
    let callbacks = &bank(&world, partner)?.callbacks;
    callbacks.set_policy(policy);
    Ok(Json(callbacks.policy()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Release {
    #[serde(default)]
    order: ReleaseOrder,
}

async fn release(
    State(world): Shared,
    Path(partner): Path<PartnerName>,
    Body(Release { order }): Body<Release>,
) -> Result<Json<Value>, Refused> {
    let released = bank(&world, partner)?.callbacks.release(order).await;
    Ok(Json(json!({"released": released})))
}
