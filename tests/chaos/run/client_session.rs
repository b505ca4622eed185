//! A client's session: an order as its client knows it. Everything that the service promised is kept here.

use super::harness::Harness;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug)]
pub struct ClientSession {
    /// Of nobody else: whatever is listed under it came of this session's one key.
    pub customer: String,
    pub key: String,
    pub wanted: Value,
    pub placed: Option<Placed>,
    /// Forms that a 200 of confirm gave us.
    pub forms: Vec<String>,
    /// Tasks that a 202 gave us, with their final answers as soon as there was one.
    pub tasks: BTreeMap<i64, Option<String>>,
    pub refunds: Vec<Refund>,
    pub settled: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    pub id: String,
    pub total: i64,
}

#[derive(Debug)]
pub struct Refund {
    pub key: String,
    /// `None`: all that is left.
    pub amount: Option<i64>,
    pub answer: RefundAnswer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundAnswer {
    None,
    Task(i64),
    Done,
    Refused,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub body: Value,
}

impl ClientSession {
    pub fn new(customer: String, product: u8, quantity: u8) -> Self {
        let item = json!({"product_id": format!("p-{product}"), "quantity": quantity});
        Self {
            key: format!("place-{customer}"),
            wanted: json!({"customer_id": customer, "items": [item]}),
            customer,
            placed: None,
            forms: vec![],
            tasks: BTreeMap::new(),
            refunds: vec![],
            settled: false,
        }
    }

    pub fn path(&self, verb: &str) -> Option<String> {
        Some(format!("/v1/orders/{}{verb}", self.placed.as_ref()?.id))
    }

    pub fn record_placed(&mut self, harness: &Harness, reply: &Reply) {
        if reply.status != 201 {
            return;
        }
        let id = reply.body["id"].as_str().unwrap_or_default().to_owned();
        let total = reply.body["total"]["amount"].as_i64().unwrap_or(0);
        let placed = Placed { id, total };
        if let Some(before) = self.placed.replace(placed.clone())
            && before != placed
        {
            harness.complain(format!("DOUBLE key {} placed {before:?} and {placed:?}", self.key));
        }
    }

    /// Confirm's answer: a form (told to the caller) or a task.
    pub fn record_confirmed(&mut self, reply: &Reply) -> Option<String> {
        self.record_task(reply);
        let form = reply.body["form_url"].as_str().filter(|_| reply.status == 200)?.to_owned();
        if !self.forms.contains(&form) {
            self.forms.push(form.clone());
        }
        Some(form)
    }

    pub fn record_task(&mut self, reply: &Reply) {
        if reply.status == 202
            && let Some(task) = reply.body["task_id"].as_i64()
        {
            self.tasks.entry(task).or_default();
        }
    }

    pub fn record_refunded(&mut self, harness: &Harness, at: usize, reply: &Reply) {
        self.record_task(reply);
        let code = reply.body["code"].as_str().unwrap_or_default();
        let refund = &mut self.refunds[at];
        let answer = match (reply.status, code) {
            (200, _) => RefundAnswer::Done,
            (202, _) => {
                reply.body["task_id"].as_i64().map_or(RefundAnswer::None, RefundAnswer::Task)
            }
            (409, "order_not_refundable") | (422, _) => RefundAnswer::Refused,
            _ => return,
        };
        let contradiction = match (refund.answer, answer) {
            (RefundAnswer::Task(before), RefundAnswer::Task(now)) => before != now,
            (RefundAnswer::Done, RefundAnswer::Refused)
            | (RefundAnswer::Refused, RefundAnswer::Done) => true,
            // Of two that were asked at once, the one that waited answers last.
            (RefundAnswer::Done | RefundAnswer::Refused, RefundAnswer::Task(_)) => return,
            _ => false,
        };
        if contradiction {
            let before = refund.answer;
            harness.complain(format!("DOUBLE refund {} was {before:?}, is {answer:?}", refund.key));
        }
        refund.answer = answer;
    }

    /// A task as it is shown; a final answer never changes.
    pub fn record_polled(&mut self, harness: &Harness, task: i64, reply: &Reply) {
        if reply.status == 404 {
            harness.complain(format!("LOST task {task} of {}", self.customer));
        }
        if reply.status != 200 {
            return;
        }
        let status = reply.body["status"].as_str().unwrap_or_default();
        let is_final = matches!(status, "succeeded" | "failed" | "cancelled" | "review");
        let before = self.tasks.entry(task).or_default();
        // An operator may take a task out of review, but nobody operates here.
        if let Some(before) = before
            && before != status
        {
            harness.complain(format!("task {task} was {before}, is {status}"));
        }
        if is_final {
            *before = Some(status.to_owned());
        }
    }

    /// The order as it is shown; its price never changes.
    pub fn record_shown(&self, harness: &Harness, reply: &Reply) {
        let Some(placed) = &self.placed else { return };
        if reply.status == 404 {
            harness.complain(format!("LOST order {}", placed.id));
        }
        if reply.status == 200 && reply.body["total"]["amount"].as_i64() != Some(placed.total) {
            harness.complain(format!(
                "{} costs {}, not {}",
                placed.id, reply.body["total"], placed.total
            ));
        }
    }
}
