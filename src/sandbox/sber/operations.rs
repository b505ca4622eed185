//! The status query, and what a merchant may do to an order that exists.

use super::params::{Generation, Params};
use super::words::{self, Refused};
use crate::sandbox::bank::Bank;
use crate::sandbox::ledger::{Ledger, OrderIndex};
use crate::sandbox::order::{Event, Order, Refusal, State};
use crate::sandbox::reply::SimulatedReply;

pub fn status(bank: &Bank, params: &Params) -> SimulatedReply {
    let generation = params.generation;
    let language = params.text("language").unwrap_or("ru");
    let ids = (params.text("orderId"), params.text("orderNumber"));
    let refusal = match (generation, ids) {
        (Generation::Classic, (None, None)) => Some(Refused::with(1)),
        // Exactly one of the two.
        (Generation::Json, (None, None) | (Some(_), Some(_))) => Some(Refused::bad("orderNumber")),
        (_, (Some(_), _) | (None, Some(_))) => None,
    };
    if let Some(refusal) = refusal {
        return words::refused(generation, refusal, language);
    }
    let (reply, _receipts) = bank.work(|ledger, _| {
        let index = find(ledger, params)?;
        let order = ledger.order_mut(index);
        if order.read_lag > 0 {
            order.read_lag -= 1;
            return None;
        }
        let mut shown = words::order_status(order);
        if shown == 0 && order.acs_polls > 0 {
            order.acs_polls -= 1;
            shown = 5;
        }
        Some(words::status(generation, order, shown))
    });
    reply.unwrap_or_else(|| words::not_found(generation, language))
}

pub fn deposit(bank: &Bank, params: &Params) -> SimulatedReply {
    change(bank, params, true, |order, now_ms| {
        // 0 captures the whole hold; a part is at least one rouble.
        let amount = match params.whole("amount")?.ok_or(Refused::missing("amount"))? {
            0 => None,
            1..=99 => return Err(Refused::bad("amount")),
            part => Some(part),
        };
        order.capture(amount, now_ms).map(Some).map_err(refusal_code)
    })
}

pub fn reverse(bank: &Bank, params: &Params) -> SimulatedReply {
    change(bank, params, false, |order, now_ms| {
        let amount = params.whole("amount")?;
        let one_stage = order.state == State::Paid && !order.asked.two_stage;
        let another_day =
            order.paid_at_ms.is_some_and(|at| words::moscow_day(at) != words::moscow_day(now_ms));
        let captured = order.state == State::Paid && order.asked.two_stage;
        if captured || one_stage && another_day {
            order.reversal_failed = true;
            return Err(Refused::with(7));
        }
        order.reverse(amount, now_ms).map(Some).map_err(refusal_code)
    })
}

pub fn refund(bank: &Bank, params: &Params) -> SimulatedReply {
    change(bank, params, true, |order, now_ms| {
        let amount = params.whole("amount")?.ok_or(Refused::missing("amount"))?;
        let json_params = match params.generation {
            // The classic generation has no refund key.
            Generation::Classic => None,
            Generation::Json => params.object("jsonParams")?,
        };
        let key =
            json_params.as_ref().and_then(|members| members.get("externalRefundId")?.as_str());
        order.refund(key, amount, now_ms).map_err(refusal_code)
    })
}

pub fn decline(bank: &Bank, params: &Params) -> SimulatedReply {
    change(bank, params, false, |order, now_ms| {
        let wrong_state = match params.generation {
            Generation::Classic => Refused::with(7),
            Generation::Json => Refused::bad("orderStatus"),
        };
        order.cancel(now_ms).map(Some).map_err(|_| wrong_state)
    })
}

fn change(
    bank: &Bank,
    params: &Params,
    code_is_a_number: bool,
    verb: impl FnOnce(&mut Order, i64) -> Result<Option<Event>, Refused>,
) -> SimulatedReply {
    let generation = params.generation;
    let (done, receipts) = bank.work(|ledger, now_ms| {
        if params.text("orderId").is_none() && params.text("orderNumber").is_none() {
            return Err(Refused::bad("orderId"));
        }
        let index = find(ledger, params).ok_or(Refused::with(6))?;
        // The ledger's own error has no codes: the verb's is carried past it.
        let mut refused = Refused::with(7);
        ledger
            .apply(index, now_ms, |order| {
                verb(order, now_ms).map_err(|refusal| {
                    refused = refusal;
                    Refusal::WrongState
                })
            })
            .map_err(|_| refused)
    });
    match done {
        Ok(()) => words::done(generation, code_is_a_number).committed(receipts),
        Err(refused) => {
            words::refused(generation, refused, params.text("language").unwrap_or("ru"))
        }
    }
}

/// If both ids are sent, the bank's own wins.
fn find(ledger: &Ledger, params: &Params) -> Option<OrderIndex> {
    match params.text("orderId") {
        Some(id) => ledger.by_id(id),
        None => ledger.by_number(params.text("orderNumber")?),
    }
}

fn refusal_code(refusal: Refusal) -> Refused {
    match refusal {
        Refusal::WrongState => Refused::with(7),
        Refusal::WrongAmount => Refused::bad("amount"),
        Refusal::OtherRefund => Refused::bad("externalRefundId"),
    }
}
