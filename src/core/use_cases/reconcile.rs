//! Reconcile: after the database lost its last commits, ask the payment systems what they know under every
//! number that the orders of that time can have been given, and take up what was forgotten.

use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::engine::gateway::PaymentGateway;
use crate::core::payment::OrderAggregate;
use crate::core::payment::policy::PaymentPolicy;
use crate::core::payment::registration::{LAST_SEQUENCE, Registration, RegistrationState};
use crate::core::payment::report::{PaymentReport, ReportedStatus};
use crate::core::ports::call::Call;
use crate::core::ports::clock::Entropy;
use crate::core::ports::deadline::Deadline;
use crate::core::ports::order_repository::{
    LoadOptions, OrderQuery, OrderRepository, Scope, SideWrites, TxContext, decide,
};
use crate::core::ports::payment::{Finding, PaymentError, PaymentPort, PaymentRef};
use crate::core::ports::storage_error::StorageError;
use std::sync::Arc;
use std::time::Duration;

/// How often a question is asked that gets no answer.
const ATTEMPTS: u32 = 5;
/// Before the next try, where the guards name no time.
const PAUSE: Duration = Duration::from_secs(1);
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

/// What one number turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The provider has it, the database had forgotten it: it is asked about from now on.
    Forgotten,
    /// Known, and the provider knows more: it is asked again.
    Behind,
    /// Known, and the provider says something else, or nothing: for a person.
    Contradiction,
    /// Nobody knows: ask again later.
    Unanswered,
}

impl Verdict {
    /// Its word in the report.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forgotten => "forgotten",
            Self::Behind => "behind",
            Self::Contradiction => "contradiction",
            Self::Unanswered => "unanswered",
        }
    }
}

/// One line of the report: a number, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// Whose number it is.
    pub order: OrderId,
    /// When that order was placed.
    pub placed_at: Timestamp,
    /// Who was asked.
    pub provider: Provider,
    /// About which number.
    pub number: ProviderNumber,
    /// How the two records stand to each other.
    pub verdict: Verdict,
    /// What the provider told, if it told anything.
    pub report: Option<PaymentReport>,
}

/// What the report comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Orders that were looked at.
    pub orders: u64,
    /// Numbers that were asked about.
    pub questions: u64,
    /// Registrations that only the provider knew of.
    pub forgotten: u64,
    /// Registrations of which the provider knew more.
    pub behind: u64,
    /// Records that contradict each other: for a person.
    pub contradictions: u64,
    /// Questions without an answer: ask again.
    pub unanswered: u64,
    /// Down to where the window has been worked through.
    pub reached: Option<Timestamp>,
}

impl Totals {
    /// Whether nothing is left for a person.
    #[must_use]
    pub const fn agrees(&self) -> bool {
        self.contradictions == 0 && self.unanswered == 0
    }

    const fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Forgotten => self.forgotten += 1,
            Verdict::Behind => self.behind += 1,
            Verdict::Contradiction => self.contradictions += 1,
            Verdict::Unanswered => self.unanswered += 1,
        }
    }
}

impl Reconcile {
    /// From the newest order of the window to the oldest; `tell` hears what is not as the database has it,
    /// `progress` how far it is. KeyUse again, it finds what was taken up in its place.
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
                let answer = ask(port.as_ref(), &number).await;
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

/// Waits for the guards as long as they ask for; a silence is repeated a few times.
async fn ask(port: &dyn PaymentPort, number: &ProviderNumber) -> Result<Finding, PaymentError> {
    let payment = PaymentRef { number: number.clone(), external_id: None };
    let mut attempt = 1;
    loop {
        let call = Call::new(Deadline::after(port.call_limit() * 2), None).in_background();
        let answer = port.payment_status(&payment, &call).await;
        let pause = match &answer {
            Err(PaymentError::NotExecuted(error)) => error.retry_after.unwrap_or(PAUSE).max(PAUSE),
            Err(PaymentError::Unknown(_)) => PAUSE,
            Ok(_) | Err(PaymentError::Duplicate | PaymentError::Rejected(_)) => return answer,
        };
        if attempt == ATTEMPTS {
            return answer;
        }
        attempt += 1;
        tokio::time::sleep(pause).await;
    }
}

/// `None` where both sides agree.
fn judge(
    aggregate: &OrderAggregate,
    known: Option<&Registration>,
    answer: Result<Finding, PaymentError>,
) -> Option<(Verdict, Option<PaymentReport>)> {
    let report = match (answer, known) {
        (Err(_), _) => return Some((Verdict::Unanswered, None)),
        (Ok(Finding::NotFound), Some(known)) if is_sure(known) => {
            return Some((Verdict::Contradiction, None));
        }
        (Ok(Finding::NotFound), _) => return None,
        (Ok(Finding::Found(report)), Some(known)) => {
            let verdict = compare(aggregate, known, &report)?;
            return Some((verdict, Some(report)));
        }
        (Ok(Finding::Found(report)), None) => report,
    };
    Some((Verdict::Forgotten, Some(report)))
}

/// Whether the provider must know it, by its own word.
const fn is_sure(known: &Registration) -> bool {
    matches!(
        known.state,
        RegistrationState::Live | RegistrationState::Paid | RegistrationState::Surplus
    )
}

fn compare(
    aggregate: &OrderAggregate,
    known: &Registration,
    report: &PaymentReport,
) -> Option<Verdict> {
    use RegistrationState::{Absent, Dead, Intent, Live, Paid, Surplus, Unknown};
    if known.differs_from(report) {
        return Some(Verdict::Contradiction);
    }
    let explained = aggregate.explained(known);
    let returned = report.refunded.is_some_and(|told| told.minor() > explained.minor());
    let agreed = match (report.status, known.state) {
        (ReportedStatus::Paid, Paid | Surplus) => !returned,
        (ReportedStatus::Pending | ReportedStatus::Held, Live)
        | (ReportedStatus::Over(_), Dead) => true,
        (ReportedStatus::Over(_), Paid | Surplus) => return Some(Verdict::Contradiction),
        (
            ReportedStatus::Paid
            | ReportedStatus::Pending
            | ReportedStatus::Held
            | ReportedStatus::Over(_),
            _,
        )
        | (ReportedStatus::Strange, Intent | Unknown | Live | Paid | Dead | Absent | Surplus) => {
            false
        }
    };
    (!agreed).then_some(Verdict::Behind)
}
