//! After the storm: everything that was promised is asked for until it has come, within bounded time.

use super::client::read;
use super::errand::{Errand, RefundAnswer, Reply};
use super::ledger::{Ledger, is_paid};
use super::stage::Stage;
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const AT_ONCE: usize = 8;

/// Ends when every errand is settled, or when patience ends; who is not settled then is judged as such.
pub async fn until_quiet(stage: &Stage, errands: &mut [Errand], patience: Duration) {
    let end = Instant::now() + patience;
    loop {
        let ledger = Ledger::read(stage);
        let waiting = errands.iter_mut().filter(|errand| !errand.settled);
        stream::iter(waiting)
            .for_each_concurrent(AT_ONCE, |errand| settle(stage, &ledger, errand))
            .await;
        if errands.iter().all(|errand| errand.settled) || Instant::now() > end {
            return;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

async fn settle(stage: &Stage, ledger: &Ledger, errand: &mut Errand) {
    if let Some(reply) = post(stage, "/v1/orders", &errand.key, &errand.wanted).await {
        errand.learn_placed(stage, &reply);
    }
    finish_refunds(stage, errand).await;
    let waiting: Vec<_> = errand.tasks.keys().copied().collect();
    for task in waiting {
        if let Some(reply) = get(stage, &format!("/v1/tasks/{task}")).await {
            errand.learn_polled(stage, task, &reply);
        }
    }
    let Some(path) = errand.path("") else { return };
    let Some(shown) = get(stage, &path).await else { return };
    errand.learn_shown(stage, &shown);
    let tasks_ended = errand.tasks.values().all(Option::is_some);
    let refunds_ended = errand.refunds.iter().all(|refund| refund.is_over(errand));
    errand.settled = tasks_ended && refunds_ended && agrees(errand, ledger, &shown.body);
}

async fn finish_refunds(stage: &Stage, errand: &mut Errand) {
    let Some(path) = errand.path("/refund") else { return };
    for at in 0..errand.refunds.len() {
        let refund = &errand.refunds[at];
        if matches!(refund.answer, RefundAnswer::None | RefundAnswer::Task(_)) {
            let (key, body) = (refund.key.clone(), refund.body());
            if let Some(reply) = post(stage, &path, &key, &body).await {
                errand.learn_refunded(stage, at, &reply);
            }
        }
    }
}

/// A key that has its answer has it for ever: every refund is asked for once more, of any instance.
pub async fn ask_again(stage: &Stage, errands: &mut [Errand]) {
    for errand in errands {
        let Some(path) = errand.path("/refund") else { continue };
        for at in 0..errand.refunds.len() {
            let (key, body) = (errand.refunds[at].key.clone(), errand.refunds[at].body());
            if let Some(reply) = post(stage, &path, &key, &body).await {
                errand.learn_refunded(stage, at, &reply);
            }
        }
    }
}

/// Whether the service has heard of all that happened at the partners.
pub fn agrees(errand: &Errand, ledger: &Ledger, order: &Value) -> bool {
    let Some(placed) = &errand.placed else { return false };
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

impl super::errand::Refund {
    fn is_over(&self, errand: &Errand) -> bool {
        match self.answer {
            RefundAnswer::None => false,
            RefundAnswer::Done | RefundAnswer::Refused => true,
            RefundAnswer::Task(task) => {
                errand.tasks.get(&task).is_some_and(|end| end.as_deref() == Some("review"))
            }
        }
    }
}

pub async fn get(stage: &Stage, path: &str) -> Option<Reply> {
    read(stage.http.get(format!("{}{path}", any(stage)))).await
}

async fn post(stage: &Stage, path: &str, key: &str, body: &Value) -> Option<Reply> {
    let request = stage.http.post(format!("{}{path}", any(stage)));
    let request = request.header("idempotency-key", key).header("content-type", "application/json");
    read(request.body(body.to_string())).await
}

/// Every instance answers for all.
fn any(stage: &Stage) -> &str {
    &stage.apis[fastrand::usize(..stage.apis.len())]
}
