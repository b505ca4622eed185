//! After the storm: everything that was promised is asked for until it has come, within bounded time.

use super::client::read;
use super::client_session::{ClientSession, RefundAnswer, Reply};
use super::harness::Harness;
use super::ledger::{Ledger, is_paid};
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const AT_ONCE: usize = 8;

/// Ends when every session is settled, or when patience ends; who is not settled then is judged as such.
pub async fn until_quiet(harness: &Harness, sessions: &mut [ClientSession], patience: Duration) {
    let end = Instant::now() + patience;
    loop {
        let ledger = Ledger::read(harness);
        let waiting = sessions.iter_mut().filter(|session| !session.settled);
        stream::iter(waiting)
            .for_each_concurrent(AT_ONCE, |session| settle_session(harness, &ledger, session))
            .await;
        if sessions.iter().all(|session| session.settled) || Instant::now() > end {
            return;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

async fn settle_session(harness: &Harness, ledger: &Ledger, session: &mut ClientSession) {
    if let Some(reply) = post(harness, "/v1/orders", &session.key, &session.wanted).await {
        session.record_placed(harness, &reply);
    }
    finish_refunds(harness, session).await;
    let waiting: Vec<_> = session.tasks.keys().copied().collect();
    for task in waiting {
        if let Some(reply) = get(harness, &format!("/v1/tasks/{task}")).await {
            session.record_polled(harness, task, &reply);
        }
    }
    let Some(path) = session.path("") else { return };
    let Some(shown) = get(harness, &path).await else { return };
    session.record_shown(harness, &shown);
    let tasks_ended = session.tasks.values().all(Option::is_some);
    let refunds_ended = session.refunds.iter().all(|refund| refund.is_over(session));
    session.settled = tasks_ended && refunds_ended && agrees(session, ledger, &shown.body);
}

async fn finish_refunds(harness: &Harness, session: &mut ClientSession) {
    let Some(path) = session.path("/refund") else { return };
    for at in 0..session.refunds.len() {
        let refund = &session.refunds[at];
        if matches!(refund.answer, RefundAnswer::None | RefundAnswer::Task(_)) {
            let (key, body) = (refund.key.clone(), refund.body());
            if let Some(reply) = post(harness, &path, &key, &body).await {
                session.record_refunded(harness, at, &reply);
            }
        }
    }
}

/// A key that has its answer has it for ever: every refund is asked for once more, of any instance.
pub async fn ask_again(harness: &Harness, sessions: &mut [ClientSession]) {
    for session in sessions {
        let Some(path) = session.path("/refund") else { continue };
        for at in 0..session.refunds.len() {
            let (key, body) = (session.refunds[at].key.clone(), session.refunds[at].body());
            if let Some(reply) = post(harness, &path, &key, &body).await {
                session.record_refunded(harness, at, &reply);
            }
        }
    }
}

/// Whether the service has heard of all that happened at the partners.
pub fn agrees(session: &ClientSession, ledger: &Ledger, order: &Value) -> bool {
    let Some(placed) = &session.placed else { return false };
    let known = ledger.of(&placed.id);
    if known.iter().any(|(_, entry)| entry.amount != placed.total) {
        // The partner has another amount: that waits for a person.
        return order["status"] != "paid";
    }
    let paid = known.iter().any(|(_, entry)| is_paid(entry));
    let live = known.iter().filter(|(_, entry)| entry.live).count();
    match order["status"].as_str().unwrap_or_default() {
        "paid" | "refunded" => paid,
        "awaiting_payment" => !paid && live == 1,
        "new" | "payment_failed" | "cancelled" => live == 0,
        _ => false,
    }
}

impl super::client_session::Refund {
    fn is_over(&self, session: &ClientSession) -> bool {
        match self.answer {
            RefundAnswer::None => false,
            RefundAnswer::Done | RefundAnswer::Refused => true,
            RefundAnswer::Task(task) => {
                session.tasks.get(&task).is_some_and(|end| end.as_deref() == Some("review"))
            }
        }
    }
}

pub async fn get(harness: &Harness, path: &str) -> Option<Reply> {
    read(harness.http.get(format!("{}{path}", any(harness)))).await
}

async fn post(harness: &Harness, path: &str, key: &str, body: &Value) -> Option<Reply> {
    let request = harness.http.post(format!("{}{path}", any(harness)));
    let request = request.header("idempotency-key", key).header("content-type", "application/json");
    read(request.body(body.to_string())).await
}

/// Every instance answers for all.
fn any(harness: &Harness) -> &str {
    &harness.apis[fastrand::usize(..harness.apis.len())]
}
