//! The knobs of semaphore, time limits and retry, and how a bad one is named. The breaker's own are
//! beside the breaker. Names of knobs are those of the environment, without the system's prefix.

use std::fmt;
use std::time::Duration;

pub use super::breaker::BreakerConfig;

/// A knob with a value that cannot be, or that deserves a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The variable's name after the system's prefix.
    pub knob: &'static str,
    pub found: String,
    pub expected: &'static str,
}

impl Fault {
    #[must_use]
    pub fn new(knob: &'static str, found: &dyn fmt::Debug, expected: &'static str) -> Self {
        Self { knob, found: format!("{found:?}"), expected }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}: expected {}", self.knob, self.found, self.expected)
    }
}

/// Collects the faults of a group of knobs.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub(super) fn refuse_if(
        &mut self,
        bad: bool,
        knob: &'static str,
        found: &dyn fmt::Debug,
        expected: &'static str,
    ) {
        if bad {
            self.0.push(Fault::new(knob, found, expected));
        }
    }

    pub(super) fn into_vec(self) -> Vec<Fault> {
        self.0
    }
}

/// How long a call may take, in layers (requirements 077-079).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeoutConfig {
    pub connect: Duration,
    /// The longest silence while reading.
    pub read: Duration,
    pub call: Duration,
}

impl Default for TimeoutConfig {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            read: Duration::from_secs(10),
            call: Duration::from_secs(15),
        }
    }
}

impl TimeoutConfig {
    /// What makes the layers senseless; empty when they are fine.
    #[must_use]
    pub fn validate(&self) -> Vec<Fault> {
        let mut faults = Faults::default();
        faults.refuse_if(
            self.connect.is_zero() || self.connect > Duration::from_secs(10),
            "CONNECT_TIMEOUT",
            &self.connect,
            "more than 0s, at most 10s",
        );
        faults.refuse_if(
            self.read <= self.connect,
            "READ_TIMEOUT",
            &self.read,
            "more than CONNECT_TIMEOUT",
        );
        faults.refuse_if(
            self.read > Duration::from_secs(60),
            "READ_TIMEOUT",
            &self.read,
            "at most 60s; longer work belongs in the task queue",
        );
        faults.refuse_if(
            self.call <= self.read,
            "CALL_TIMEOUT",
            &self.call,
            "more than READ_TIMEOUT",
        );
        let layers = self.connect.saturating_add(self.read).saturating_add(Duration::from_secs(1));
        faults.refuse_if(
            self.call < layers,
            "CALL_TIMEOUT",
            &self.call,
            "at least CONNECT_TIMEOUT + READ_TIMEOUT + 1s",
        );
        faults.into_vec()
    }
}

/// How many calls may run and wait at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkheadConfig {
    pub max_concurrent: u32,
    /// Callers that may wait for a place; more are shed at once.
    pub max_queue: u32,
    pub max_wait: Duration,
}

impl Default for BulkheadConfig {
    fn default() -> Self {
        Self { max_concurrent: 20, max_queue: 5, max_wait: Duration::from_millis(100) }
    }
}

impl BulkheadConfig {
    #[must_use]
    pub fn validate(&self) -> Vec<Fault> {
        let mut faults = Faults::default();
        faults.refuse_if(
            !(1..=10_000).contains(&self.max_concurrent),
            "MAX_CONCURRENT",
            &self.max_concurrent,
            "1 to 10000",
        );
        faults.refuse_if(
            self.max_queue > 50,
            "MAX_QUEUE",
            &self.max_queue,
            "at most 50: a long queue only hides an outage",
        );
        faults.refuse_if(
            self.max_wait > Duration::from_secs(5),
            "MAX_WAIT",
            &self.max_wait,
            "at most 5s",
        );
        faults.into_vec()
    }

    #[must_use]
    pub fn warnings(&self) -> Vec<Fault> {
        let mut faults = Faults::default();
        faults.refuse_if(self.max_queue > 5, "MAX_QUEUE", &self.max_queue, "0 to 5");
        faults.refuse_if(
            self.max_queue > 0 && self.max_wait.is_zero(),
            "MAX_WAIT",
            &self.max_wait,
            "more than 0s, or MAX_QUEUE 0: nobody can wait for no time",
        );
        faults.into_vec()
    }
}

/// How reads are tried again.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryConfig {
    /// The first included; 1 never tries again.
    pub max_attempts: u32,
    /// Upper bound of the first pause; it doubles with every further one.
    pub base: Duration,
    pub max: Duration,
    /// Retries allowed per call, on the long average.
    pub budget_ratio: f64,
    /// Retries a second that are allowed however few calls there are.
    pub budget_min_per_sec: f64,
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            base: Duration::from_millis(200),
            max: Duration::from_secs(2),
            budget_ratio: 0.1,
            budget_min_per_sec: 1.0,
        }
    }
}

impl RetryConfig {
    #[must_use]
    pub fn validate(&self) -> Vec<Fault> {
        let mut faults = Faults::default();
        faults.refuse_if(
            !(1..=5).contains(&self.max_attempts),
            "RETRY_MAX_ATTEMPTS",
            &self.max_attempts,
            "1 to 5, the first attempt included",
        );
        let retries = self.max_attempts > 1;
        faults.refuse_if(
            retries && self.base.is_zero(),
            "RETRY_BASE",
            &self.base,
            "more than 0s: a retry without a pause is a storm",
        );
        faults.refuse_if(
            retries && self.max < self.base,
            "RETRY_MAX",
            &self.max,
            "at least RETRY_BASE",
        );
        faults.refuse_if(
            !(0.0..=1.0).contains(&self.budget_ratio),
            "RETRY_BUDGET_RATIO",
            &self.budget_ratio,
            "0 to 1",
        );
        faults.refuse_if(
            !(0.0..=1000.0).contains(&self.budget_min_per_sec),
            "RETRY_BUDGET_MIN_PER_SEC",
            &self.budget_min_per_sec,
            "0 to 1000",
        );
        faults.into_vec()
    }
}
