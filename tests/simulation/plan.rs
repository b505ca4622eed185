//! What a seed decides before anything happens: the settings, who takes part, and how bad it gets.

use super::Options;
use super::bank::{PROVIDERS, place};
use super::dice::Dice;
use super::faults::Fault;
use order_service::adapters::resilience::breaker::BreakerConfig;
use order_service::adapters::resilience::settings::{BulkheadConfig, RetryConfig};
use order_service::core::domain::ids::InstanceId;
use order_service::core::domain::provider::Preference;
use order_service::core::payment::policy::{CancelPaid, PaymentPolicy};
use std::ops::Range;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Plan {
    pub orders: usize,
    pub instances: usize,
    /// Many orders while nobody answers: what the recovery must not turn into a storm.
    pub backlog: bool,
    /// How long everything goes wrong.
    pub chaos: Duration,
    pub policy: PaymentPolicy,
    /// By provider, as `PROVIDERS`.
    pub call_limit: [Duration; PROVIDERS.len()],
    pub bulkhead: BulkheadConfig,
    pub breaker: BreakerConfig,
    pub retry: RetryConfig,
    pub workers: usize,
    pub worker_poll: Duration,
    /// Whether instances hear of one another's due tasks.
    pub wakeups: bool,
    /// How far each instance's wall clock is off, in seconds.
    pub skew: [i64; 3],
    /// How long a provider keeps an unpaid form.
    pub form_life: Range<u64>,
    /// Whether the bank knows a key for refunds.
    pub refund_key: bool,
    /// By provider: when it is away.
    pub outages: [Vec<Range<Duration>>; PROVIDERS.len()],
    /// By instance: when it cannot reach the database.
    pub dark: Vec<Vec<Range<Duration>>>,
    intensity: [f64; Fault::ALL.len()],
}

impl Plan {
    pub fn draw(seed: u64, options: &Options) -> Self {
        let dice = Dice::new(seed, "plan", 0);
        let backlog = dice.chance(0.04);
        let orders = if backlog { dice.between(12, 30) } else { dice.pick(&[1, 1, 1, 2, 2, 3]) };
        let instances = dice.pick(&[1, 1, 2, 2, 3]).min(options.instances.max(1));
        let chaos = dice.millis(30_000, 240_000);
        let intensity = Fault::ALL.map(|fault| dice.pick(grades(fault)));
        let mut plan = Self {
            orders: orders.min(options.orders.max(1)),
            instances,
            backlog,
            chaos,
            policy: policy(&dice, backlog),
            call_limit: PROVIDERS.map(|provider| {
                dice.millis(5_000, if place(provider) == 0 { 20_000 } else { 15_000 })
            }),
            bulkhead: bulkhead(&dice),
            breaker: breaker(&dice),
            retry: RetryConfig { max_attempts: dice.pick(&[1, 2, 3]), ..RetryConfig::default() },
            workers: dice.pick(&[1, 2, 4]),
            worker_poll: dice.millis(500, 4_000),
            wakeups: dice.chance(0.5),
            skew: [0; 3],
            form_life: 120_000..600_000,
            refund_key: dice.chance(0.3),
            outages: PROVIDERS.map(|_| Vec::new()),
            dark: Vec::new(),
            intensity,
        };
        let offsets = dice.offsets();
        plan.skew = offsets.map(|seconds| if options.skewed { seconds } else { 0 });
        plan.outages = PROVIDERS.map(|_| plan.gaps(&dice, options, Fault::Outage));
        plan.dark = (0..3).map(|_| plan.gaps(&dice, options, Fault::Storage)).collect();
        plan
    }

    pub fn intensity(&self, fault: Fault) -> f64 {
        self.intensity[fault.place()]
    }

    /// A few spans within the chaos.
    fn gaps(&self, dice: &Dice, options: &Options, fault: Fault) -> Vec<Range<Duration>> {
        let wanted = self.intensity(fault) > 0.0 && options.faults.has(fault);
        let drawn: Vec<Range<Duration>> = (0..dice.between(0, 2))
            .map(|_| {
                let begin = dice.up_to(self.chaos);
                begin..begin + dice.millis(500, 90_000)
            })
            .collect();
        if self.backlog && fault == Fault::Outage {
            return vec![Duration::ZERO..self.chaos];
        }
        if wanted { drawn } else { Vec::new() }
    }
}

/// How often a fault happens when it can. People's own doings are no exceptions.
fn grades(fault: Fault) -> &'static [f64] {
    match fault {
        Fault::Repeat | Fault::Refund => &[0.0, 0.3, 0.6, 1.0],
        Fault::Cancel => &[0.0, 0.0, 0.1, 0.5],
        Fault::Operator => &[0.0, 0.0, 0.3, 1.0],
        Fault::Stall => &[0.0, 0.0, 0.02, 0.06],
        Fault::Misjudgement => &[0.0, 0.0, 0.0, 0.1, 0.4],
        Fault::Cabinet => &[0.0, 0.0, 0.0, 0.2, 0.5],
        Fault::Held => &[0.0, 0.0, 0.0, 0.3, 1.0],
        Fault::Mismatch | Fault::PassingMismatch => &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.05, 0.3],
        Fault::Slow
        | Fault::Loss
        | Fault::Hang
        | Fault::Failure
        | Fault::Unreachable
        | Fault::Throttle
        | Fault::Duplicate
        | Fault::Outage
        | Fault::ReadLag
        | Fault::Refusal
        | Fault::RefusedRepeat
        | Fault::StrangeStatus
        | Fault::SilentSum
        | Fault::LateRefund
        | Fault::Revival
        | Fault::Callbacks
        | Fault::Forgery
        | Fault::Storage
        | Fault::LostCommit
        | Fault::Rerun
        | Fault::Crash
        | Fault::Stop
        | Fault::HangUp => &[0.0, 0.0, 0.03, 0.1, 0.2, 0.4],
    }
}

fn policy(dice: &Dice, backlog: bool) -> PaymentPolicy {
    let mut providers = PROVIDERS.to_vec();
    match dice.below(10) {
        0 => providers.truncate(1),
        1 => drop(providers.drain(..1)),
        2 | 3 => providers.reverse(),
        4.. => {}
    }
    PaymentPolicy {
        providers: Preference::new(providers).expect("some of them, each once"),
        return_url: "https://shop.example/back".to_owned(),
        queueing: dice.chance(0.85),
        unknown_grace: dice.millis(30_000, 60_000),
        poll_interval: dice.millis(10_000, 30_000),
        looks_after_payment: vec![Duration::from_secs(900)],
        failover_on_rejected: dice.chance(0.5),
        cancel_paid: CancelPaid::Refund,
        number_prefix: String::new(),
        sync_wait: dice.millis(1_000, 15_000),
        queue_max: if dice.chance(if backlog { 0.7 } else { 0.3 }) {
            dice.pick(&[1, 2])
        } else {
            10_000
        },
        lease: dice.millis(15_000, 60_000),
        backoff: Duration::from_secs(1),
        backoff_max: dice.pick(&[MINUTE / 4, MINUTE]),
        max_age: if dice.chance(0.1) { 3 * MINUTE } else { 24 * 60 * MINUTE },
        instance: InstanceId::new(""),
    }
}

fn bulkhead(dice: &Dice) -> BulkheadConfig {
    BulkheadConfig {
        max_concurrent: dice.pick(&[1, 2, 4, 20]),
        max_queue: dice.pick(&[0, 2, 5]),
        max_wait: Duration::from_millis(100),
        ..BulkheadConfig::default()
    }
}

fn breaker(dice: &Dice) -> BreakerConfig {
    BreakerConfig {
        min_requests: dice.pick(&[2, 4, 10]),
        open_timeout: dice.millis(2_000, 30_000),
        half_open_requests: dice.pick(&[1, 3]),
        ramp: dice.pick(&[Duration::ZERO, Duration::from_secs(10)]),
        ..BreakerConfig::default()
    }
}
