//! Cancelling, and asking for money back.

use super::Client;
use crate::simulation::bank::{Payment, Standing};
use crate::simulation::instance::Instance;
use order_service::core::domain::money::Money;
use order_service::core::ports::idempotency::IdempotencyKey;
use order_service::core::ports::order_repository::Scope;
use order_service::core::use_cases::cancel_order::{CancelError, CancelRequest, Cancellation};
use order_service::core::use_cases::refund_order::{
    KeyedRefund, RefundError, RefundRequest, Refunding,
};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::sleep;

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
            Ok(Cancellation::Queued { task_id, .. }) => self.is_promised(instance, task_id).await,
            Ok(Cancellation::Done) | Err(CancelError::NotCancellable(_)) => {}
            Err(CancelError::NotFound | CancelError::Storage(_)) => return None,
        }
        Some(())
    }

    /// One of three keys, so that some asks are repeats.
    fn refund_key(&self) -> KeyedRefund {
        let key = format!("refund-{}-{}", self.place, self.dice.below(3));
        self.world.records().refund_keys.insert(key.clone(), self.order);
        KeyedRefund {
            key: IdempotencyKey { owner: "shop".to_owned(), route: "refunds", key },
            fingerprint: [7; 32],
            render: Box::new(|verdict| match verdict {
                Ok(task) => (202, task.to_string().into_bytes()),
                Err(refusal) => (409, refusal.to_string().into_bytes()),
            }),
        }
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
        let keyed = self.refund_key();
        let key = keyed.key.key.clone();
        let ask = RefundRequest {
            order_id: self.order,
            scope: Scope::Anyone,
            amount: self.dice.chance(0.6).then_some(part),
            keyed: Some(keyed),
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
            Ok(Refunding::Queued { task_id, .. }) => {
                self.stands_for(&key, true);
                self.is_promised(instance, task_id).await;
            }
            Ok(Refunding::Done) => self.stands_for(&key, true),
            // The key has an answer, or the database has none.
            Err(RefundError::Storage(_)) => return None,
            Err(RefundError::Exceeds | RefundError::NotRefundable(_)) => {
                self.stands_for(&key, false);
            }
            Err(RefundError::NotFound | RefundError::InProgress | RefundError::Rejected) => {}
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
