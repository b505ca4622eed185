//! The page behind each form URL: an honest form with a Pay and a Decline button, without scripts.

use std::sync::Arc;

use axum::extract::{Form, Path, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::header::{CACHE_CONTROL, LOCATION};
use http::{HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::json;

use super::bank::Deed;
use super::order::{Order, State as OrderState};
use super::partners::{PartnerName, PaymentPartner};
use super::world::World;

pub fn router(world: Arc<World>) -> Router {
    Router::new().route("/pay/{partner}/{id}", get(show).post(press)).with_state(world)
}

#[derive(Debug, Deserialize)]
struct Button {
    action: Deed,
}

async fn show(
    State(world): State<Arc<World>>,
    Path((partner, id)): Path<(PartnerName, String)>,
) -> Response {
    let payment = world.payments.get(&partner);
    let page = payment
        .and_then(|payment| payment.bank().view_by_id(&id, |order| page(payment.as_ref(), order)));
    match page {
        Some(page) => ([(CACHE_CONTROL, "no-store")], Html(page)).into_response(),
        None => not_found(),
    }
}

async fn press(
    State(world): State<Arc<World>>,
    Path((partner, id)): Path<(PartnerName, String)>,
    Form(button): Form<Button>,
) -> Response {
    let Some(payment) = world.payments.get(&partner) else { return not_found() };
    if !matches!(button.action, Deed::Pay | Deed::Decline | Deed::FailAttempt) {
        return (StatusCode::BAD_REQUEST, Json(json!({"error": "a payer cannot do that"})))
            .into_response();
    }
    // A second press changes nothing and leads to the same place.
    let _pressed_before = payment.bank().act_by_id(&id, button.action);
    next_stop(payment.as_ref(), &id).unwrap_or_else(not_found)
}

/// An order that is still open shows its page again; otherwise the payer goes back to the shop.
fn next_stop(payment: &dyn PaymentPartner, id: &str) -> Option<Response> {
    let location = payment.bank().view_by_id(id, |order| match order.state {
        OrderState::Created => String::new(),
        OrderState::Held | OrderState::Paid => payment.way_back(order, &order.asked.return_url),
        OrderState::InDoubt
        | OrderState::Declined
        | OrderState::Expired
        | OrderState::Cancelled
        | OrderState::Reversed => {
            let url = order.asked.fail_url.as_ref().unwrap_or(&order.asked.return_url);
            payment.way_back(order, url)
        }
    })?;
    let location = HeaderValue::from_str(&location).ok()?;
    Some((StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response())
}

fn not_found() -> Response {
    (
        StatusCode::NOT_FOUND,
        Html(
            "<!doctype html><meta charset=\"utf-8\"><title>404</title><p>Такого платежа нет. Песочница забывает \
             всё при перезапуске: подтвердите заказ ещё раз. / No such payment. The sandbox forgets everything \
             when it starts anew: confirm the order once more.",
        ),
    )
        .into_response()
}

fn page(payment: &dyn PaymentPartner, order: &Order) -> String {
    let bank = payment.title();
    let (number, description) = (escaped(&order.asked.number), escaped(&order.asked.description));
    let (rubles, kopecks) = (order.amount / 100, order.amount % 100);
    let state = match order.state {
        OrderState::Created => "ожидает оплаты / waits for payment",
        OrderState::Held => "сумма удержана / on hold",
        OrderState::InDoubt => "выясняется / in doubt",
        OrderState::Paid => "оплачен / paid",
        OrderState::Declined => "отклонён / declined",
        OrderState::Expired => "истёк / expired",
        OrderState::Cancelled => "отменён / cancelled",
        OrderState::Reversed => "возвращён / reversed",
    };
    let open = order.state == OrderState::Created;
    let buttons = if open { buttons(payment.knows_attempts()) } else { String::new() };
    format!(
        r#"<!doctype html>
<html lang="ru"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{bank}: оплата заказа / payment</title>
<style>
body{{font:16px/1.5 system-ui,sans-serif;max-width:28rem;margin:3rem auto;padding:0 1rem}}
dl{{display:grid;grid-template-columns:auto 1fr;gap:.25rem 1rem}} dd{{margin:0}}
button{{font:inherit;padding:.5rem 1.5rem;margin:1rem .5rem 0 0}} small{{color:#555}}
</style></head><body>
<h1>{bank}</h1>
<dl><dt>Заказ / Order</dt><dd id="number">{number}</dd>
<dt>Сумма / Amount</dt><dd id="amount">{rubles},{kopecks:02} ₽</dd>
<dt>Назначение / For</dt><dd>{description}</dd>
<dt>Состояние / State</dt><dd id="state">{state}</dd></dl>
{buttons}<p><small>Песочница: деньги не списываются. Sandbox: no money moves.</small></p>
</body></html>
"#
    )
}

fn buttons(knows_attempts: bool) -> String {
    let attempt = if knows_attempts {
        "<button name=\"action\" value=\"fail_attempt\">Неудачная попытка / Fail one attempt</button>\n"
    } else {
        ""
    };
    format!(
        "<form method=\"post\">\n<button id=\"pay\" name=\"action\" value=\"pay\">Оплатить / Pay</button>\n\
         <button id=\"decline\" name=\"action\" value=\"decline\">Отказать / Decline</button>\n{attempt}</form>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
