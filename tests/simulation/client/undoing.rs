//! Cancelling, and asking for money back.

use super::Client;
use crate::simulation::bank::{Payment, Standing};
use crate::simulation::instance::Instance;
use order_service::core::domain::money::Money;
use order_service::core::ports::idempotency::{IdempotencyKey, IdempotentRequest, Refusal};
use order_service::core::ports::order_repository::Scope;
use order_service::core::use_cases::cancel_order::{CancelError, CancelRequest, Cancellation};
use order_service::core::use_cases::idempotency::Answer;
use order_service::core::use_cases::refund_order::{RefundError, RefundRequest, Refunding};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

impl Client {
    pub async fn cancel(&self, instance: &Arc<Instance>, hangs_up: bool) -> Option<()> {
        let ask = CancelRequest { order_id: self.order, scope: Scope::Anyone, call: self.call() };
        let order = self.world.order_of(&self.order.to_base32());
        self.world.records().cancels.insert(order);
        self.world.chronicle.note(|| format!("{} is cancelled", self.world.name(self.order)));
        let (reply, answer) = oneshot::channel();
        let server = Arc::clone(instance);
        instance.serve(async move {
            // A client that has hung up does not hear it.
            let _ = reply.send(server.cancel.run(ask).await);
        });
        if hangs_up {
            return None;
        }
        match instance.answer(answer).await? {
            Ok(Cancellation::Queued { task_id, .. }) => {
                self.heard_of_cancel();
                self.is_promised(instance, task_id).await;
            }
            Ok(Cancellation::Done) => self.heard_of_cancel(),
            Err(CancelError::NotCancellable(_)) => {}
            Err(CancelError::NotFound | CancelError::Storage(_)) => return None,
        }
        Some(())
    }

    fn heard_of_cancel(&self) {
        let now = Instant::now();
        self.world.records().accepted_cancels.entry(self.order).or_insert(now);
    }

    /// One of three keys, so that some asks are repeats.
    fn refund_key(&self) -> IdempotentRequest {
        let key = format!("refund-{}-{}", self.place, self.dice.below(3));
        self.world.records().refund_keys.insert(key.clone(), self.order);
        let key = IdempotencyKey { owner: "shop".to_owned(), route: "refunds", key };
        IdempotentRequest { key, fingerprint: [7; 32] }
    }

    /// Nobody asks for money back that was not paid, at least not often.
    pub async fn money_is_there(&self) {
        let order = self.world.order_of(&self.order.to_base32());
        for _ in 0..self.dice.between(0, 20) {
            let paid =
                |payment: &Payment| payment.order == order && payment.standing == Standing::Paid;
            if self.world.banks().iter().any(|bank| bank.ledger().values().any(paid)) {
                return;
            }
            sleep(self.dice.millis(1_000, 15_000)).await;
        }
    }

    pub async fn refund(&self, instance: &Arc<Instance>, hangs_up: bool) -> Option<()> {
        let part = Money::rub(self.dice.pick(&[1, 5_000, 15_000])).expect("a small sum");
        let request = self.refund_key();
        let key = request.key.key.clone();
        let ask = RefundRequest {
            order_id: self.order,
            scope: Scope::Anyone,
            amount: self.dice.chance(0.6).then_some(part),
            idempotency: request,
            call: self.call(),
        };
        self.world.chronicle.note(|| {
            format!(
                "{} asks for {:?} back, #{}",
                self.world.name(self.order),
                ask.amount,
                self.place
            )
        });
        let (reply, answer) = oneshot::channel();
        let server = Arc::clone(instance);
        instance.serve(async move {
            // A client that has hung up does not hear it.
            let _ = reply.send(server.refund.run(ask).await);
        });
        if hangs_up {
            return None;
        }
        match instance.answer(answer).await? {
            Ok(
                Answer::First(Refunding::Queued { task_id, .. })
                | Answer::Replayed(Refunding::Queued { task_id, .. }),
            ) => {
                self.stands_for(&key, true);
                self.is_promised(instance, task_id).await;
            }
            Ok(Answer::First(Refunding::Done) | Answer::Replayed(Refunding::Done)) => {
                self.stands_for(&key, true);
            }
            // The key is in use, or the database has no answer.
            Err(RefundError::Idempotency(_) | RefundError::Storage(_)) => return None,
            Err(RefundError::Rejected | RefundError::Replayed(Refusal::RefundRejected)) => {
                self.stands_for(&key, true);
            }
            Err(
                RefundError::Exceeds | RefundError::NotRefundable(_) | RefundError::Replayed(_),
            ) => {
                self.stands_for(&key, false);
            }
            Err(RefundError::NotFound | RefundError::InProgress | RefundError::OtherCurrency) => {}
        }
        Some(())
    }

    /// I9: a key that was refused is never taken, and the other way round.
    fn stands_for(&self, key: &str, taken: bool) {
        let before = *self.world.records().refunds.entry(key.to_owned()).or_insert(taken);
        if before != taken {
            let what = format!("{key} was taken: {before}, is taken: {taken}");
            self.world.chronicle.violated("I9 one key, one answer", what);
        }
    }
}
