//! A payment partner without its protocol: the ledger behind its lock, the callbacks, and what a
//! payer or the bank itself can do to an order. Each payment system is a wording of this.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use super::callbacks::{Callbacks, Receipt};
use super::calls::NumberCalls;
use super::clock::SandboxClock;
use super::frontend::Frontend;
use super::ledger::{Ledger, OrderIndex};
use super::locked;
use super::order::{Order, Refusal};
use super::order_view::OrderView;

#[derive(Debug)]
pub struct Bank {
    pub frontend: Arc<Frontend>,
    pub callbacks: Arc<Callbacks>,
    clock: SandboxClock,
    ledger: Mutex<Ledger>,
}

/// What happens to an order from outside its protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    Pay,
    /// The money is put on hold, whatever the merchant asked for.
    Hold,
    /// The bank does not know any more what became of the money.
    LoseSight,
    Decline,
    FailAttempt,
    Expire,
    Cancel,
    Reverse,
    /// All that is left.
    Refund,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeedError {
    #[error("no such order")]
    NotFound,
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// An order with the calls that named it.
#[derive(Debug, Clone, Serialize)]
pub struct LedgerEntry {
    #[serde(flatten)]
    pub order: OrderView,
    pub calls: NumberCalls,
}

impl Bank {
    pub fn new(
        frontend: Arc<Frontend>,
        callbacks: Arc<Callbacks>,
        clock: SandboxClock,
        ledger: Ledger,
    ) -> Self {
        Self { frontend, callbacks, clock, ledger: Mutex::new(ledger) }
    }

    /// Works on the ledger, what is due first, and sends the callbacks that come of it.
    pub fn work<R>(&self, act: impl FnOnce(&mut Ledger, i64) -> R) -> (R, Vec<Receipt>) {
        let now_ms = self.clock.now_ms();
        let (result, outbox) = {
            let mut ledger = locked(&self.ledger);
            ledger.work_off(now_ms);
            let result = act(&mut ledger, now_ms);
            (result, ledger.take_outbox())
        };
        let receipts = outbox
            .into_iter()
            .map(|(message, policy)| self.callbacks.send(message, policy))
            .collect();
        (result, receipts)
    }

    /// How far this bank's clock is ahead of the caller's. An absolute time in a request is a time
    /// on the caller's clock, and means the same distance on this one.
    pub fn ahead_ms(&self) -> i64 {
        self.clock.ahead_ms()
    }

    pub fn work_off(&self) {
        self.work(|_, _| ());
    }

    /// Acts as the payer or the bank on the order of that number.
    pub fn act(&self, number: &str, deed: Deed) -> Result<OrderView, DeedError> {
        self.act_on(|ledger| ledger.by_number(number), deed)
    }

    /// As [`Bank::act`], by the partner's own id.
    pub fn act_by_id(&self, id: &str, deed: Deed) -> Result<OrderView, DeedError> {
        self.act_on(|ledger| ledger.by_id(id), deed)
    }

    fn act_on(
        &self,
        find: impl FnOnce(&Ledger) -> Option<OrderIndex>,
        deed: Deed,
    ) -> Result<OrderView, DeedError> {
        let (done, _receipts) = self.work(|ledger, now_ms| {
            let index = find(ledger).ok_or(DeedError::NotFound)?;
            ledger.apply(index, now_ms, |order| match deed {
                Deed::Pay => order.pay(now_ms).map(Some),
                Deed::Hold => order.hold(now_ms).map(Some),
                Deed::LoseSight => order.lose_sight(now_ms).map(Some),
                Deed::Decline => order.decline(now_ms).map(Some),
                Deed::FailAttempt => order.fail_attempt(now_ms).map(Some),
                Deed::Expire => order.expire(now_ms).map(Some),
                Deed::Cancel => order.cancel(now_ms).map(Some),
                Deed::Reverse => order.reverse(None, now_ms).map(Some),
                Deed::Refund => order.refund(None, order.deposited - order.refunded, now_ms),
            })?;
            Ok(ledger.order(index).view())
        });
        done
    }

    pub fn entry(&self, number: &str) -> Option<LedgerEntry> {
        let (order, _receipts) =
            self.work(|ledger, _| ledger.by_number(number).map(|at| ledger.order(at).view()));
        order.map(|order| LedgerEntry { order, calls: self.frontend.calls.of_number(number) })
    }

    pub fn view_by_id<R>(&self, id: &str, look: impl FnOnce(&Order) -> R) -> Option<R> {
        self.work(|ledger, _| ledger.by_id(id).map(|at| look(ledger.order(at)))).0
    }

    /// Every committed order, oldest first.
    pub fn entries(&self) -> Vec<LedgerEntry> {
        let (orders, _receipts) =
            self.work(|ledger, _| ledger.orders().iter().map(Order::view).collect::<Vec<_>>());
        let with_calls = |order: OrderView| {
            let calls = self.frontend.calls.of_number(&order.number);
            LedgerEntry { order, calls }
        };
        orders.into_iter().map(with_calls).collect()
    }

    /// The frontend is its own.
    pub fn reset(&self) {
        self.callbacks.reset();
        locked(&self.ledger).reset();
    }
}
