//! The verdict: what clients were told against what the partners have. The numbers are those of the
//! invariants of docs/reliability.md.

use super::client_session::{ClientSession, RefundAnswer};
use super::faults::WRONG_AMOUNT;
use super::harness::{Harness, MAX_CONCURRENT};
use super::ledger::{Ledger, is_paid, life};
use super::report::Report;
use super::settle::{agrees, get};
use order_service::core::domain::ids::OrderId;
use order_service::sandbox::{CallEnd, CallRecord, OrderView, PartnerName};
use serde_json::Value;
use std::collections::HashSet;

pub async fn judge(harness: &Harness, sessions: &[ClientSession], report: &mut Report) {
    report.take_seen(std::mem::take(&mut *harness.seen.lock().unwrap()));
    let ledger = Ledger::read(harness);
    let ours: HashSet<_> = sessions
        .iter()
        .filter_map(|session| OrderId::parse(&session.placed.as_ref()?.id))
        .map(OrderId::to_base32)
        .collect();
    for number in ledger.orders().filter(|number| !ours.contains(*number)) {
        report.double.push(format!("{number} is registered for nobody"));
    }
    for session in sessions {
        one(harness, &ledger, session, report).await;
    }
    for partner in PartnerName::payment_systems() {
        let most = most_at_once(&harness.partners.calls(partner));
        let limit = MAX_CONCURRENT * harness.apis.len();
        if most > limit {
            report.wrong.push(format!("I7: {most} calls at a time to {partner:?}, not {limit}"));
        }
    }
}

async fn one(harness: &Harness, ledger: &Ledger, session: &ClientSession, report: &mut Report) {
    let Some(placed) = &session.placed else {
        report.lost.push(format!("I2: key {} has no order", session.key));
        return;
    };
    let Some(order) = get(harness, &format!("/v1/orders/{}", placed.id)).await else {
        report.lost.push(format!("I2: {} cannot be read", placed.id));
        return;
    };
    let order = order.body;
    let known = ledger.of(&placed.id);
    let about = || format!("{} at the partners: {known:#?}\n{session:#?}\n{order:#}", placed.id);
    if !session.settled {
        report.lost.push(format!("I3: not settled: {}", about()));
    }
    if known.iter().filter(|(_, entry)| entry.live && !entry.foreign).count() > 1 {
        report.double.push(format!("I1: alive twice: {}", about()));
    }
    if !agrees(session, ledger, &order) {
        report.wrong.push(format!("I5: the order and the ledger differ: {}", about()));
    }
    forms(session, known, report);
    let of_cancel = given_back_by_cancel(harness, &placed.id).await;
    refunds(session, known, &order, &of_cancel, report);
    let listed = get(harness, &format!("/v1/orders?customer_id={}", session.customer)).await;
    let count = listed.and_then(|page| page.body["items"].as_array().map(Vec::len));
    if count != Some(1) {
        report.double.push(format!("I9: key {} has {count:?} orders", session.key));
    }
}

/// I4: behind each form is this order's registration for exactly its amount; I1: and of two forms the
/// one was dead before the other was born.
fn forms(session: &ClientSession, known: &[(PartnerName, OrderView)], report: &mut Report) {
    let total = session.placed.as_ref().map(|placed| placed.total);
    let mut lives = vec![];
    for form in &session.forms {
        let id = form.rsplit('/').next().unwrap_or_default();
        match known.iter().find(|(_, entry)| entry.id == id) {
            Some((_, entry)) if is_for(entry, total) => lives.push(life(entry)),
            Some((_, entry)) => report.wrong.push(format!("I4: {form} is for {}", entry.amount)),
            None => report.wrong.push(format!("I4: {form} is not this order's")),
        }
    }
    lives.sort_unstable();
    if lives.windows(2).any(|two| two[0].1 > two[1].0) {
        report.double.push(format!("I1: two forms at a time: {:?} {lives:?}", session.forms));
    }
}

fn is_for(entry: &OrderView, total: Option<i64>) -> bool {
    total.is_some_and(|total| [total, total + WRONG_AMOUNT].contains(&entry.amount))
}

/// What went back by itself, because the payment was faster than an accepted cancel.
async fn given_back_by_cancel(harness: &Harness, id: &str) -> Vec<i64> {
    let page = get(harness, &format!("/v1/orders/{id}/refunds")).await;
    let items = page.and_then(|page| page.body["items"].as_array().cloned()).unwrap_or_default();
    let done = items.iter().filter(|it| it["reason"] == "cancel" && it["state"] == "succeeded");
    done.filter_map(|refund| refund["amount"]["amount"].as_i64()).collect()
}

/// I9 and I6: one refund at the partner for each key that succeeded, and for a cancel that was too late;
/// the same sum, and the same shown.
fn refunds(
    session: &ClientSession,
    known: &[(PartnerName, OrderView)],
    order: &Value,
    of_cancel: &[i64],
    report: &mut Report,
) {
    let Some((_, paid)) = known.iter().find(|(_, entry)| is_paid(entry)) else { return };
    let done = session.refunds.iter().filter(|refund| refund.answer == RefundAnswer::Done);
    let done: Vec<_> = done.collect();
    let open = session.refunds.iter().any(|refund| matches!(refund.answer, RefundAnswer::Task(_)));
    let about = || format!("{:#?}\n{paid:#?}\n{order:#}", session.refunds);
    if done.len() + of_cancel.len() != paid.refunds.len() && !open {
        report.double.push(format!("I9: as many refunds as keys: {}", about()));
    }
    let told: Option<i64> = done.iter().map(|refund| refund.amount).sum();
    let by_cancel: i64 = of_cancel.iter().sum();
    if told.is_some_and(|told| told + by_cancel != paid.refunded) && !open {
        report.double.push(format!("I9: the sum of refunds: {}", about()));
    }
    if order["payment"]["refunded"]["amount"].as_i64() != Some(paid.refunded) && !open {
        report.wrong.push(format!("I6: what was refunded: {}", about()));
    }
}

/// Calls that were answered, at most so many at a time. Who has given up on a call has its permit back
/// while the partner may still be busy with it.
fn most_at_once(calls: &[CallRecord]) -> usize {
    let answered = calls.iter().filter(|call| call.outcome == CallEnd::Answered);
    let mut steps: Vec<_> = answered
        .filter(|call| call.operation != "health")
        .filter_map(|call| Some((call.received_at_ms, call.finished_at_ms?)))
        .flat_map(|(from, to)| [(from, 1_isize), (to, -1)])
        .collect();
    steps.sort_unstable();
    let mut now = 0;
    let most = steps.iter().map(|(_, step)| {
        now += step;
        now
    });
    usize::try_from(most.max().unwrap_or(0)).unwrap_or(0)
}
