//! The way of every call through a partner: into the book of calls, past the faults, to the
//! partner's own decision, and back by a reply that may be disfigured or never come.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::response::Response;
use futures_util::future;
use http::request::Parts;

use super::calls::{CallEnd, CallLog, CommitReceipt};
use super::fault::{Answer, Then};
use super::faults::Faults;
use super::listener::{Connection, ListenerControl};
use super::modes::Mode;
use super::reply::SimulatedReply;

/// What all partners have: an entrance, faults, a book of calls.
#[derive(Debug)]
pub struct Frontend {
    pub control: Arc<ListenerControl>,
    pub faults: Faults,
    pub calls: Arc<CallLog>,
}

/// Who calls: the connection to cut, and what the headers say.
#[derive(Debug, Clone)]
pub struct Caller {
    connection: Option<Connection>,
    pub traceparent: Option<String>,
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let connection =
            parts.extensions.get::<ConnectInfo<Connection>>().map(|info| info.0.clone());
        let traceparent = parts
            .headers
            .get("traceparent")
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        Ok(Self { connection, traceparent })
    }
}

impl Frontend {
    /// Switches the mood; when it returns, the entrance is as asked.
    pub async fn set_mode(&self, mode: Mode) {
        let entrance = mode.entrance();
        self.faults.set_mode(mode);
        self.control.set(entrance).await;
    }

    /// Forgets faults, mood and calls.
    pub async fn reset(&self) {
        self.faults.reset();
        self.set_mode(Mode::default()).await;
        self.calls.reset();
    }

    /// One call, from its first byte to its last. `act` is the partner's decision; it is made at
    /// most once, and also when the caller hangs up during a delay before it.
    pub async fn pass(
        &self,
        caller: Caller,
        operation: &'static str,
        number: Option<&str>,
        act: impl FnOnce(&Then) -> SimulatedReply + Send + 'static,
    ) -> Response {
        let mut ticket = self.calls.begin(operation, number, caller.traceparent);
        let mut then = self.faults.pick(operation, number);
        let receipt = ticket.receipt();
        let answer = std::mem::take(&mut then.answer);
        if matches!(answer, Answer::Hang) {
            ticket.ends(CallEnd::Hung);
        }
        let (delay_after_ms, shape) = (then.delay_after_ms, then.error_code_as);
        let reply = decide(then, receipt, act).await;
        if delay_after_ms > 0 {
            tokio::time::sleep(Duration::from_millis(delay_after_ms)).await;
        }
        if matches!(answer, Answer::Hang) {
            future::pending::<()>().await;
        }
        if matches!(answer, Answer::Drop) {
            ticket.ends(CallEnd::Dropped);
            if let Some(connection) = caller.connection {
                connection.cut();
            }
            return Response::default();
        }
        let breaks_off = matches!(answer, Answer::DropMidBody);
        let response = reply.disfigured(answer, shape);
        if breaks_off {
            ticket.ends(CallEnd::Dropped);
        } else {
            ticket.answered(response.status().as_u16());
        }
        response
    }
}

async fn decide(
    then: Then,
    receipt: CommitReceipt,
    act: impl FnOnce(&Then) -> SimulatedReply + Send + 'static,
) -> SimulatedReply {
    if !then.commit {
        if then.delay_before_ms > 0 {
            tokio::time::sleep(Duration::from_millis(then.delay_before_ms)).await;
        }
        receipt.write(false, "not executed");
        return SimulatedReply::unheard();
    }
    let decision = move |then: &Then| {
        let reply = act(then);
        receipt.write(reply.committed, &reply.said);
        reply
    };
    if !then.is_slow_to_commit() {
        return decision(&then);
    }
    let detached = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(then.delay_before_ms)).await;
        let mut reply = decision(&then);
        if then.await_callbacks {
            future::join_all(reply.receipts.drain(..)).await;
        }
        reply
    });
    // It ends early only with the runtime, when nobody is left to answer.
    detached.await.unwrap_or_else(|_| SimulatedReply::unheard())
}
