//! A client: places orders and comes back to them, asks twice, hangs up, and goes to whichever
//! instance it likes.

use super::client_session::{ClientSession, Refund, RefundAnswer, Reply};
use super::harness::Harness;
use super::trouble::pause;
use fastrand::Rng;
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Older sessions are left alone until the end.
const IN_HAND: usize = 12;
const TRIES: usize = 5;

pub struct Client {
    number: usize,
    harness: Arc<Harness>,
    rng: Rng,
    sessions: Vec<ClientSession>,
}

/// A request, still to be addressed.
struct ShopRequest<'a> {
    method: Method,
    path: &'a str,
    key: Option<&'a str>,
    prefer: Option<&'static str>,
    body: Option<&'a Value>,
}

impl<'a> ShopRequest<'a> {
    fn get(path: &'a str) -> Self {
        Self { method: Method::GET, path, key: None, prefer: None, body: None }
    }

    fn post(path: &'a str, body: &'a Value) -> Self {
        Self { method: Method::POST, path, key: None, prefer: None, body: Some(body) }
    }
}

impl Client {
    pub fn new(number: usize, harness: Arc<Harness>, rng: Rng) -> Self {
        Self { number, harness, rng, sessions: vec![] }
    }

    pub async fn work(mut self) -> Vec<ClientSession> {
        while pause(&Arc::clone(&self.harness), &mut self.rng, 0..40).await {
            if self.sessions.is_empty() || self.rng.u8(..3) == 0 {
                let customer = format!("chaos-{}-{}", self.number, self.sessions.len());
                let session = ClientSession::new(customer, self.rng.u8(1..20), self.rng.u8(1..4));
                self.sessions.push(session);
                self.buy(self.sessions.len() - 1).await;
            } else {
                let newest = self.sessions.len();
                let at = self.rng.usize(newest.saturating_sub(IN_HAND)..newest);
                self.come_back(at).await;
            }
        }
        self.sessions
    }

    /// As a shop does: until there is an answer, or for a while.
    async fn buy(&mut self, at: usize) {
        for _ in 0..TRIES {
            self.place(at).await;
            if self.sessions[at].placed.is_some() {
                break;
            }
            pause(&Arc::clone(&self.harness), &mut self.rng, 10..150).await;
        }
        for _ in 0..TRIES {
            self.confirm(at).await;
            let session = &self.sessions[at];
            if !(session.forms.is_empty() && session.tasks.is_empty()) {
                return;
            }
            pause(&Arc::clone(&self.harness), &mut self.rng, 10..150).await;
        }
    }

    async fn come_back(&mut self, at: usize) {
        if self.sessions[at].placed.is_none() {
            return self.place(at).await;
        }
        match self.rng.u8(..12) {
            0..3 => self.confirm(at).await,
            3 => self.cancel(at).await,
            4..8 => self.refund(at).await,
            8..10 => self.poll(at).await,
            _ => drop(self.show(at).await),
        }
    }

    async fn place(&mut self, at: usize) {
        let (key, wanted) = (self.sessions[at].key.clone(), self.sessions[at].wanted.clone());
        let ask = ShopRequest { key: Some(&key), ..ShopRequest::post("/v1/orders", &wanted) };
        for reply in self.ask_once_or_twice(ask).await {
            self.sessions[at].record_placed(&self.harness, &reply);
        }
    }

    async fn confirm(&mut self, at: usize) {
        let Some(path) = self.sessions[at].path("/confirm") else { return };
        let prefer = (self.rng.u8(..8) == 0).then_some("respond-async");
        let nothing = json!({});
        for reply in self
            .ask_once_or_twice(ShopRequest { prefer, ..ShopRequest::post(&path, &nothing) })
            .await
        {
            if let Some(form) = self.sessions[at].record_confirmed(&reply) {
                self.harness.forms.lock().unwrap().push(form);
            }
        }
    }

    async fn cancel(&mut self, at: usize) {
        let Some(path) = self.sessions[at].path("/cancel") else { return };
        for reply in self.ask_once_or_twice(ShopRequest::post(&path, &json!({}))).await {
            self.sessions[at].record_task(&reply);
        }
    }

    /// Of a paid order: the last refund once more, or another one.
    async fn refund(&mut self, at: usize) {
        let Some(order) = self.show(at).await else { return };
        if order["status"] != "paid" && self.sessions[at].refunds.is_empty() {
            return;
        }
        if self.sessions[at].refunds.is_empty() || self.rng.u8(..3) == 0 {
            let session = &mut self.sessions[at];
            let key = format!("refund-{}-{}", session.customer, session.refunds.len());
            let amount = (self.rng.u8(..3) > 0).then(|| self.rng.i64(1..5_000));
            session.refunds.push(Refund { key, amount, answer: RefundAnswer::None });
        }
        let last = self.sessions[at].refunds.len() - 1;
        let Some(path) = self.sessions[at].path("/refund") else { return };
        let refund = &self.sessions[at].refunds[last];
        let (key, body) = (refund.key.clone(), refund.body());
        for reply in self
            .ask_once_or_twice(ShopRequest { key: Some(&key), ..ShopRequest::post(&path, &body) })
            .await
        {
            self.sessions[at].record_refunded(&self.harness, last, &reply);
        }
    }

    async fn poll(&mut self, at: usize) {
        let tasks = &self.sessions[at].tasks;
        let Some(task) = tasks.iter().find_map(|(id, end)| end.is_none().then_some(*id)) else {
            return;
        };
        let path = format!("/v1/tasks/{task}?wait=1s");
        if let Some(reply) = self.ask(&ShopRequest::get(&path)).await {
            self.sessions[at].record_polled(&self.harness, task, &reply);
        }
    }

    async fn show(&mut self, at: usize) -> Option<Value> {
        let path = self.sessions[at].path("")?;
        let reply = self.ask(&ShopRequest::get(&path)).await?;
        self.sessions[at].record_shown(&self.harness, &reply);
        Some(reply.body)
    }

    /// Sometimes two at once, perhaps at two instances.
    async fn ask_once_or_twice(&mut self, ask: ShopRequest<'_>) -> Vec<Reply> {
        if self.rng.u8(..6) > 0 {
            return self.ask(&ask).await.into_iter().collect();
        }
        let (one, other) = (self.try_one(), self.try_one());
        let (one, other) = tokio::join!(self.send(&ask, one), self.send(&ask, other));
        one.into_iter().chain(other).collect()
    }

    async fn ask(&mut self, ask: &ShopRequest<'_>) -> Option<Reply> {
        let how = self.try_one();
        self.send(ask, how).await
    }

    /// Which instance, and how long until we hang up.
    fn try_one(&mut self) -> (String, Duration) {
        let api = self.rng.choice(&self.harness.apis).cloned().unwrap_or_default();
        let impatient = self.rng.u8(..12) == 0;
        let millis = if impatient { self.rng.u64(1..60) } else { 20_000 };
        (api, Duration::from_millis(millis))
    }

    async fn send(
        &self,
        ask: &ShopRequest<'_>,
        (api, patience): (String, Duration),
    ) -> Option<Reply> {
        let mut request =
            self.harness.http.request(ask.method.clone(), format!("{api}{}", ask.path));
        if let Some(key) = ask.key {
            request = request.header("idempotency-key", key);
        }
        if let Some(prefer) = ask.prefer {
            request = request.header("prefer", prefer);
        }
        if let Some(body) = ask.body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        Harness::bump(&self.harness.tally.requests);
        let reply = timeout(patience, read(request)).await.ok().flatten();
        match &reply {
            None => Harness::bump(&self.harness.tally.unanswered),
            Some(reply) if !expected(reply.status) => self.harness.complain(format!(
                "{} {} was answered {}: {}",
                ask.method, ask.path, reply.status, reply.body
            )),
            Some(_) => {}
        }
        reply
    }
}

impl Refund {
    pub fn body(&self) -> Value {
        match self.amount {
            Some(amount) => json!({"amount": {"amount": amount, "currency": "RUB"}}),
            None => json!({}),
        }
    }
}

pub async fn read(request: reqwest::RequestBuilder) -> Option<Reply> {
    let response = request.send().await.ok()?;
    let status = response.status().as_u16();
    let body = serde_json::from_slice(&response.bytes().await.ok()?).unwrap_or(Value::Null);
    Some(Reply { status, body })
}

/// Whatever breaks, these are the answers that a client has to be able to expect. 404 is looked at by
/// who knows what was asked for.
fn expected(status: u16) -> bool {
    matches!(status, 200 | 201 | 202 | 404 | 409 | 422 | 503 | 504)
}
