//! Reconcile: after the database lost its last commits, ask the payment systems what they know under every
//! number that the orders of that time can have been given, and take up what was forgotten.

mod judge;
mod query;
mod report;

pub use report::{Discovery, Totals, Verdict};

use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::engine::gateway::PaymentGateway;
use crate::core::payment::OrderAggregate;
use crate::core::payment::policy::PaymentPolicy;
use crate::core::payment::registration::LAST_SEQUENCE;
use crate::core::ports::clock::Entropy;
use crate::core::ports::order_repository::{
    LoadOptions, OrderQuery, OrderRepository, Scope, SideWrites, TxContext, decide,
};
use crate::core::ports::payment::Finding;
use crate::core::ports::storage_error::StorageError;
use judge::judge;
use query::payment_status;
use std::sync::Arc;

/// Orders that are read at a time.
const PAGE: usize = 100;

/// Asks the providers about every number that orders of a time can have, also about those that the
/// database has forgotten (docs/payments.md, rule 15).
#[derive(Debug)]
pub struct Reconcile {
    /// What we have.
    pub orders: Arc<dyn OrderRepository>,
    /// Who asks, through the same guards as everybody.
    pub gateway: PaymentGateway,
    /// Which providers, under which numbers.
    pub policy: Arc<PaymentPolicy>,
    /// Where ids of tasks come from.
    pub entropy: Arc<dyn Entropy>,
    /// Tells, and changes nothing.
    pub dry_run: bool,
}

/// Of orders, by when they were placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// This moment is in it.
    pub since: Timestamp,
    /// This moment is not; now, if not said.
    pub until: Option<Timestamp>,
}

impl Reconcile {
    /// From the newest order of the window to the oldest; `tell` hears what is not as the database has it,
    /// `progress` how far it is. Run again, it finds what was taken up in its place.
    ///
    /// # Errors
    /// The storage failed; what was told before holds.
    pub async fn run(
        &self,
        window: Window,
        mut tell: impl FnMut(&Discovery),
        mut progress: impl FnMut(&Totals),
    ) -> Result<Totals, StorageError> {
        let mut totals = Totals::default();
        let mut query = OrderQuery { limit: PAGE, ..OrderQuery::default() };
        loop {
            let page = self.orders.list(&query, &Scope::Anyone).await?;
            let Some(last) = page.last() else { return Ok(totals) };
            query.after = Some((last.order.created_at, last.order.id));
            for aggregate in &page {
                let placed_at = aggregate.order.created_at;
                if placed_at < window.since {
                    return Ok(totals);
                }
                if window.until.is_none_or(|until| placed_at <= until) {
                    self.order(aggregate, &mut totals, &mut tell).await?;
                    totals.orders += 1;
                }
                totals.reached = Some(placed_at);
            }
            progress(&totals);
        }
    }

    /// Every number up to the first that was never given: sequences are given without gaps.
    async fn order(
        &self,
        aggregate: &OrderAggregate,
        totals: &mut Totals,
        tell: &mut impl FnMut(&Discovery),
    ) -> Result<(), StorageError> {
        let order = aggregate.order.id;
        let given = aggregate.registrations.iter().map(|r| r.sequence).max().unwrap_or(0);
        for provider in self.gateway.providers() {
            let Some(port) = self.gateway.port(provider) else { continue };
            for sequence in 1..=LAST_SEQUENCE {
                let number = ProviderNumber::new(&self.policy.number_prefix, order, sequence);
                totals.questions += 1;
                let answer = payment_status(port.as_ref(), &number).await;
                let nothing = answer == Ok(Finding::NotFound);
                let known = aggregate.registration(provider, sequence);
                if let Some((verdict, report)) = judge(aggregate, known, answer) {
                    if matches!(verdict, Verdict::Forgotten | Verdict::Behind) && !self.dry_run {
                        self.take_up(order, provider, &number, sequence).await?;
                    }
                    totals.count(verdict);
                    let placed_at = aggregate.order.created_at;
                    tell(&Discovery { order, placed_at, provider, number, verdict, report });
                    if verdict == Verdict::Unanswered {
                        break;
                    }
                }
                if nothing && sequence > given {
                    break;
                }
            }
        }
        Ok(())
    }

    /// From here on the service itself asks, and its rules for late and surplus money do the rest.
    async fn take_up(
        &self,
        order: OrderId,
        provider: Provider,
        number: &ProviderNumber,
        sequence: u8,
    ) -> Result<(), StorageError> {
        let (number, spare) = (number.clone(), TaskId::new(self.entropy.bits()));
        let max_age = self.policy.max_age;
        let decision = move |aggregate: &mut OrderAggregate, tx: &TxContext| {
            aggregate.adopt(provider, (&number, sequence), tx.now);
            aggregate.request_sync((provider, &number), tx.now, tx.now, spare, max_age);
            ((), SideWrites::default())
        };
        decide(self.orders.as_ref(), order, LoadOptions::Aggregate, decision).await?;
        Ok(())
    }
}
