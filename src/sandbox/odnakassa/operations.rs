//! Reading payments, and what a merchant may do to one that exists.

use http::StatusCode;
use serde_json::{Value, json};

use super::OdnaKassa;
use super::create::is_name;
use super::keys::Reserved;
use super::object::{self, Problem};
use crate::sandbox::ledger::OrderIndex;
use crate::sandbox::order::{Event, Order, Refusal, State};
use crate::sandbox::reply::SimulatedReply;

/// What is asked of an existing payment.
#[derive(Debug)]
pub enum PaymentChange {
    Capture(Option<i64>),
    Cancel,
    Refund { refund_id: String, amount: i64 },
}

impl PaymentChange {
    pub fn parse(operation: &str, body: &Value) -> Result<Self, Problem> {
        let amount = match body.get("amount") {
            None | Some(Value::Null) => None,
            Some(money) => {
                Some(object::kopecks(money).ok_or(Problem::invalid("amount is not money"))?)
            }
        };
        match operation {
            "capture" => Ok(Self::Capture(amount)),
            "cancel" => Ok(Self::Cancel),
            _ => {
                let refund_id =
                    body.get("refund_id").and_then(Value::as_str).filter(|id| is_name(id));
                Ok(Self::Refund {
                    refund_id: refund_id.ok_or(Problem::invalid("refund_id"))?.to_owned(),
                    amount: amount.ok_or(Problem::invalid("amount is not money"))?,
                })
            }
        }
    }

    fn act(&self, order: &mut Order, now_ms: i64) -> Result<Option<Event>, Refusal> {
        match self {
            Self::Capture(amount) => order.capture(*amount, now_ms).map(Some),
            Self::Cancel if order.state == State::Held => order.reverse(None, now_ms).map(Some),
            Self::Cancel => order.cancel(now_ms).map(Some),
            Self::Refund { refund_id, amount } => order.refund(Some(refund_id), *amount, now_ms),
        }
    }
}

impl OdnaKassa {
    pub(super) fn get(&self, id: &str, request_id: &str) -> SimulatedReply {
        let (payment, _receipts) = self.bank.work(|ledger, _| {
            let order = ledger.by_id(id).map(|at| ledger.order_mut(at))?;
            shown(order).then(|| object::payment(order, &self.public_url))
        });
        match payment {
            Some(payment) => SimulatedReply::json(StatusCode::OK, payment, "ok"),
            None => Problem::not_found().reply(request_id),
        }
    }

    pub(super) fn list(&self, order_id: Option<&str>, request_id: &str) -> SimulatedReply {
        let Some(order_id) = order_id else {
            return Problem::invalid("order_id is required").reply(request_id);
        };
        let (found, _receipts) = self.bank.work(|ledger, _| {
            let order = ledger.by_number(order_id).map(|at| ledger.order_mut(at))?;
            shown(order).then(|| object::payment(order, &self.public_url))
        });
        let said = if found.is_some() { "ok" } else { "no items" };
        SimulatedReply::json(StatusCode::OK, json!({"items": Vec::from_iter(found)}), said)
    }

    pub(super) fn change(
        &self,
        id: &str,
        change: &PaymentChange,
        reserved: Reserved,
        request_id: &str,
    ) -> SimulatedReply {
        let base = &self.public_url;
        let in_use = match reserved {
            Reserved::Replay(index) => {
                return self.bank.work(|ledger, _| object::replayed(ledger.order(index), base)).0;
            }
            Reserved::Fresh(in_use) => in_use,
        };
        let (changed, receipts) = self.bank.work(|ledger, now_ms| {
            let index: OrderIndex = ledger.by_id(id).ok_or(Problem::not_found())?;
            ledger.apply(index, now_ms, |order| change.act(order, now_ms)).map_err(problem)?;
            in_use.settle(ledger, index);
            Ok(object::payment(ledger.order(index), base))
        });
        drop(in_use);
        let status = if matches!(change, PaymentChange::Refund { .. }) {
            StatusCode::CREATED
        } else {
            StatusCode::OK
        };
        match changed {
            Ok(payment) => SimulatedReply::json(status, payment, "ok").committed(receipts),
            Err(problem) => Problem::reply(&problem, request_id),
        }
    }
}

/// Whether a query sees the order already.
fn shown(order: &mut Order) -> bool {
    let lagging = order.read_lag > 0;
    order.read_lag = order.read_lag.saturating_sub(1);
    !lagging
}

fn problem(refusal: Refusal) -> Problem {
    match refusal {
        Refusal::WrongState => Problem::invalid_state(),
        Refusal::WrongAmount => Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "amount_exceeded",
            "the amount is more than is left",
        ),
        Refusal::OtherRefund => Problem::new(
            StatusCode::CONFLICT,
            "refund_id_conflict",
            "this refund_id stands for another amount",
        ),
    }
}
