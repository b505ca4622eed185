//! All that a decision may look at beside the aggregate. The decision itself is pure: it runs inside a
//! transaction, as often as the database needs, and does the same each time.

use crate::core::domain::ids::{LeaseToken, TaskId};
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::unavailable::{NotExecuted, PaymentSystemUnavailableError, Shed};
use crate::core::payment::effect::{CallResult, CompletedCall, RegisterResult};
use crate::core::payment::policy::PaymentPolicy;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// What one decision is made in: by whom, when, under which rules, and after what.
#[derive(Debug, Clone)]
pub struct DecisionContext {
    /// The task whose lease is in hand; for a command, the id that its new task gets.
    pub task: TaskId,
    /// The lease that the caller holds. A decision by another token changes nothing.
    pub token: LeaseToken,
    /// The database's clock.
    pub now: Timestamp,
    /// The configured rules.
    pub policy: Arc<PaymentPolicy>,
    /// What the configured payment systems promise.
    pub providers: Arc<ProviderPromises>,
    /// What this run has seen so far.
    pub history: RunHistory,
    /// 0 to 1: the luck by which pauses are spread.
    pub luck: f64,
    /// Where the ids of tasks come from that the decision may have to create: new for each time it runs,
    /// since what an earlier time's commit made of them may be over.
    pub id_seed: u128,
    /// Somebody waits for this run and has no answer yet: if nothing was executed, it may be undone.
    pub client_waits: bool,
    /// Registration tasks that wait for a provider, when they were counted.
    pub queue_length: Option<u64>,
}

/// What the configured payment systems promise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderPromises {
    /// Whose registration may be repeated with the same number, as a question.
    pub repeat_registrations: Vec<Provider>,
    /// Whose refunds may be repeated with the same key.
    pub deduplicate_refunds: Vec<Provider>,
    /// The longest that one step of any of them can last: a lease covers it.
    pub longest_step: Duration,
}

/// What one run of a task has seen so far: the memory that a run needs and no other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunHistory {
    /// Providers that executed nothing in this run, in the order in which they were asked.
    pub skipped: Vec<PaymentSystemUnavailableError>,
    /// Providers that refused the registration in this run; whether on our account's behalf.
    pub refused: Vec<(Provider, bool)>,
    /// Registrations that were sent in this run and brought no form.
    pub formless: u32,
    /// Registrations that were asked about in this run, whatever came of it.
    pub queried: Vec<(Provider, u8)>,
    /// The first call of the run that was certainly not executed, whatever its kind.
    pub unavailable: Option<PaymentSystemUnavailableError>,
    /// The last call that was completed, if one was.
    pub last: Option<CompletedCall>,
}

impl RunHistory {
    /// Of a run that begins with providers which no call would get through to.
    #[must_use]
    pub fn passing_over(refusals: Vec<PaymentSystemUnavailableError>) -> Self {
        Self { unavailable: refusals.first().copied(), skipped: refusals, ..Self::default() }
    }

    /// Whether the last call, or the look at the guards before the first one, found nobody.
    #[must_use]
    pub fn nobody_executed(&self) -> bool {
        match &self.last {
            Some(last) => last.unavailable().is_some(),
            None => !self.skipped.is_empty(),
        }
    }

    /// Remembers what became of a call.
    pub fn push(&mut self, call: CompletedCall) {
        let provider = call.target.provider;
        match &call.result {
            CallResult::Register(RegisterResult::NotExecuted(error)) => self.skipped.push(*error),
            CallResult::Register(RegisterResult::Refused { concerns_account }) => {
                self.refused.push((provider, *concerns_account));
            }
            CallResult::Register(RegisterResult::Duplicate | RegisterResult::Unknown) => {
                self.formless += 1;
            }
            CallResult::Query { .. } => self.queried.push((provider, call.target.sequence)),
            CallResult::Register(RegisterResult::Registered { .. })
            | CallResult::Cancel(_)
            | CallResult::Refund { .. } => {}
        }
        if self.unavailable.is_none() {
            self.unavailable = call.unavailable().copied();
        }
        self.last = Some(call);
    }

    /// Takes back what the last call was told: it turned out to be about another registration.
    pub fn doubt_last(&mut self) {
        if let Some(last) = self.last.take() {
            self.last = Some(last.doubted());
        }
    }

    pub(super) fn tried(&self, provider: Provider) -> bool {
        self.skipped.iter().any(|error| error.system == provider.into())
            || self.refused.iter().any(|(tried, _)| *tried == provider)
    }

    pub(super) fn queried(&self, provider: Provider, sequence: u8) -> bool {
        self.queried.contains(&(provider, sequence))
    }
}

impl DecisionContext {
    /// The id of the `nth` task that this decision creates.
    pub(super) fn fresh_task_id(&self, nth: usize) -> TaskId {
        let seed = Uuid::from_u128(self.id_seed);
        TaskId::new(Uuid::new_v5(&seed, &nth.to_le_bytes()).as_u128())
    }

    /// How long a lease must last to cover the step that comes next.
    pub(super) fn lease_until(&self) -> Timestamp {
        let lease = self.policy.lease;
        self.now + lease.max(self.providers.longest_step + lease / 4)
    }

    /// Exponential with full jitter over the upper half: never at once, never in step with others.
    pub(super) fn backoff(&self, attempts: u32) -> Duration {
        let factor = 2u32.saturating_pow(attempts.min(20));
        let ceiling = self.policy.backoff.saturating_mul(factor).min(self.policy.backoff_max);
        ceiling.mul_f64(0.5 + self.luck / 2.0)
    }

    /// As long as was asked for, or growing. What a guard of ours says is cut: a person who holds a breaker
    /// open for hours may let it go at any moment, and until then workers leave its lane alone.
    pub(super) fn pause_after(
        &self,
        error: &PaymentSystemUnavailableError,
        attempts: u32,
    ) -> Duration {
        match (error.retry_after, error.cause) {
            // No wait is none that was named: nobody is called as fast as he answers.
            (None | Some(Duration::ZERO), _) => self.backoff(attempts),
            (
                Some(pause),
                NotExecuted::Shed(Shed::BreakerOpen | Shed::ProbesTaken | Shed::ForcedOpen),
            ) => pause.min(self.policy.backoff_max),
            (Some(pause), _) => pause,
        }
    }

    /// A wait that was named by somebody, spread so that all who were told it do not come together.
    pub(super) fn spread(&self, pause: Duration) -> Duration {
        pause + (pause / 10 + Duration::from_millis(50)).mul_f64(self.luck)
    }

    /// When the last call was decided: what its answer tells is no younger than that.
    pub(super) fn asked_at(&self) -> Timestamp {
        self.history.last.as_ref().map_or(self.now, |call| call.decided_at)
    }

    pub(super) fn past(&self, deadline: Timestamp) -> bool {
        self.now >= deadline
    }

    pub(super) fn queue_is_full(&self) -> bool {
        self.queue_length.is_some_and(|length| length >= self.policy.queue_max)
    }
}
