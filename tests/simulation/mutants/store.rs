//! Bugs around the storage: decisions that see or leave something else than they should.

use super::Mutant;
use crate::simulation::world::World;
use order_service::core::domain::dossier::Dossier;
use order_service::core::domain::ids::{OrderId, TaskId};
use order_service::core::domain::order::{Order, OrderStatus};
use order_service::core::domain::registration::{Ending, RegistrationState};
use order_service::core::domain::task::{TaskKind, TaskState};
use order_service::core::ports::orders::{
    Also, ClaimRequest, Claimed, Decide, KeyedOrder, OrderStore, Placed, Reads, Scene, Scope,
    StorageError, TaskQuery, TaskView,
};
use std::sync::Arc;

/// The storage with its bug, if it has one.
#[derive(Debug)]
pub struct Mutation(Option<Mutant>);

impl Mutation {
    pub fn new(mutant: Option<Mutant>) -> Self {
        Self(mutant)
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.0 == Some(mutant)
    }

    pub async fn place(
        &self,
        world: &Arc<World>,
        order: Order,
        key: Option<KeyedOrder>,
    ) -> Result<Placed, StorageError> {
        if self.is(Mutant::CommitNotAwaited) {
            let (store, told) = (Arc::clone(&world.store), order.clone());
            // In one of four runs the process is gone before the write happens.
            if !order.id.uuid().as_u128().is_multiple_of(4) {
                store.place(order, key).await?;
            }
            return Ok(Placed::New(told));
        }
        world.store.place(order, key).await
    }

    pub async fn change(
        &self,
        world: &World,
        id: OrderId,
        reads: Reads,
        mut decide: Decide,
    ) -> Result<bool, StorageError> {
        let mutant = self.0;
        let wrong: Decide = Box::new(move |dossier: &mut Dossier, scene: &Scene| match mutant {
            Some(Mutant::CallbackBelieved) => believing(dossier, scene, &mut decide),
            Some(Mutant::ConfirmTwice) => confirming_twice(dossier, scene, &mut decide),
            Some(Mutant::PollForgotten) => forgetting(dossier, scene, &mut decide),
            Some(Mutant::RefusedRepeatIsDead) => burying(dossier, scene, &mut decide),
            Some(
                Mutant::FailoverAfterTimeout
                | Mutant::ResendBeforeGrace
                | Mutant::NotFoundIsDead
                | Mutant::FreshNumberEachTime
                | Mutant::DeclineBelieved
                | Mutant::AmountNotCompared
                | Mutant::FinalAnswerDerived
                | Mutant::CommitNotAwaited
                | Mutant::RefundRepeated
                | Mutant::LeaseIgnored
                | Mutant::QueueUnbounded,
            )
            | None => decide(dossier, scene),
        });
        world.store.change(id, reads, wrong).await
    }

    pub async fn task(
        &self,
        world: &World,
        id: TaskId,
        scope: &Scope,
    ) -> Result<Option<TaskView>, StorageError> {
        let mut view = world.store.task(id, scope).await?;
        if self.is(Mutant::FinalAnswerDerived)
            && let Some(view) = &mut view
            && view.task.kind == TaskKind::RegisterPayment
            && view.task.state.is_final()
            && let Some(dossier) = world.store.dossier(view.task.order_id, scope).await?
        {
            view.task.state = match dossier.order.status {
                OrderStatus::AwaitingPayment | OrderStatus::Paid | OrderStatus::Refunded => {
                    TaskState::Succeeded
                }
                OrderStatus::Cancelled => TaskState::Cancelled,
                OrderStatus::New | OrderStatus::Registering | OrderStatus::PaymentFailed => {
                    TaskState::Failed
                }
            };
        }
        Ok(view)
    }

    pub async fn claim(
        &self,
        world: &World,
        request: &ClaimRequest,
    ) -> Result<Vec<Claimed>, StorageError> {
        if self.is(Mutant::LeaseIgnored) {
            let running =
                TaskQuery { state: Some(TaskState::Running), limit: 10, ..TaskQuery::default() };
            for task in world.store.tasks(&running).await? {
                let run_out: Decide = Box::new(move |dossier: &mut Dossier, scene: &Scene| {
                    let held = dossier.tasks.iter_mut().filter_map(|task| task.lease.as_mut());
                    held.for_each(|lease| lease.until = lease.until.min(scene.now));
                    Also::default()
                });
                world.store.change(task.order_id, Reads::Dossier, run_out).await?;
            }
        }
        world.store.claim(request).await
    }
}

fn believing(dossier: &mut Dossier, scene: &Scene, decide: &mut Decide) -> Also {
    let before: Vec<bool> = dossier.registrations.iter().map(|r| r.hinted).collect();
    let also = decide(dossier, scene);
    let mut hinted = false;
    for (was, registration) in before.iter().zip(&mut dossier.registrations) {
        if registration.hinted && !was && registration.state == RegistrationState::Live {
            registration.state = RegistrationState::Paid;
            hinted = true;
        }
    }
    if hinted {
        dossier.order.status = OrderStatus::Paid;
    }
    also
}

/// What a check outside the transaction does: the confirm sees the order as it was before.
fn confirming_twice(dossier: &mut Dossier, scene: &Scene, decide: &mut Decide) -> Also {
    let mut trial = dossier.clone();
    let also = decide(&mut trial, scene);
    if trial != *dossier || dossier.order.status != OrderStatus::Registering {
        *dossier = trial;
        return also;
    }
    let mut masked = dossier.clone();
    masked.order.status = OrderStatus::New;
    for registration in &mut masked.registrations {
        if registration.state.maybe_alive() {
            registration.state = RegistrationState::Dead;
            registration.ending = Some(Ending::Expired);
        }
    }
    for task in &mut masked.tasks {
        if task.kind == TaskKind::RegisterPayment {
            task.state = TaskState::Cancelled;
            task.lease = None;
        }
    }
    let also = decide(&mut masked, scene);
    if masked.registrations.len() > dossier.registrations.len() {
        *dossier = masked;
    }
    also
}

fn forgetting(dossier: &mut Dossier, scene: &Scene, decide: &mut Decide) -> Also {
    let known: Vec<TaskId> = dossier.tasks.iter().map(|task| task.id).collect();
    let also = decide(dossier, scene);
    let hinted = dossier.registrations.iter().any(|registration| registration.hinted);
    dossier
        .tasks
        .retain(|task| hinted || task.kind != TaskKind::SyncPayment || known.contains(&task.id));
    also
}

fn burying(dossier: &mut Dossier, scene: &Scene, decide: &mut Decide) -> Also {
    let also = decide(dossier, scene);
    for registration in &mut dossier.registrations {
        if registration.evidence == "refused_again" {
            registration.state = RegistrationState::Dead;
            registration.ending = Some(Ending::Refused);
        }
    }
    also
}
