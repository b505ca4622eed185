//! What can be set of semaphore, time limits and retry, and how a bad setting is named. The breaker's
//! own are beside the breaker. Settings are named as the environment has them, without the system's
//! prefix.

use std::fmt;
use std::time::Duration;

/// A setting that cannot be, or that deserves a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidSetting {
    /// The variable's name after the system's prefix.
    pub name: &'static str,
    /// What it holds.
    pub found: String,
    /// What it should hold, for people.
    pub expected: &'static str,
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}: expected {}", self.name, self.found, self.expected)
    }
}

/// Collects the invalid ones of a group of settings.
#[derive(Debug, Default)]
pub(super) struct InvalidSettings(Vec<InvalidSetting>);

impl InvalidSettings {
    pub(super) fn refuse_if(
        &mut self,
        bad: bool,
        name: &'static str,
        found: &dyn fmt::Debug,
        expected: &'static str,
    ) {
        if bad {
            self.0.push(InvalidSetting { name, found: format!("{found:?}"), expected });
        }
    }

    pub(super) fn into_vec(self) -> Vec<InvalidSetting> {
        self.0
    }
}

/// How long a call may take, in layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeoutConfig {
    /// `CONNECT_TIMEOUT`: until there is a connection, TLS included.
    pub connect: Duration,
    /// `READ_TIMEOUT`: the longest silence while reading.
    pub read: Duration,
    /// `CALL_TIMEOUT`: the whole call.
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
    pub fn validate(&self) -> Vec<InvalidSetting> {
        let mut invalid = InvalidSettings::default();
        invalid.refuse_if(
            self.connect.is_zero() || self.connect > Duration::from_secs(10),
            "CONNECT_TIMEOUT",
            &self.connect,
            "more than 0s, at most 10s",
        );
        invalid.refuse_if(
            self.read <= self.connect,
            "READ_TIMEOUT",
            &self.read,
            "more than CONNECT_TIMEOUT",
        );
        invalid.refuse_if(
            self.read > Duration::from_secs(60),
            "READ_TIMEOUT",
            &self.read,
            "at most 60s; longer work belongs in the task queue",
        );
        invalid.refuse_if(
            self.call <= self.read,
            "CALL_TIMEOUT",
            &self.call,
            "more than READ_TIMEOUT",
        );
        let layers = self.connect.saturating_add(self.read).saturating_add(Duration::from_secs(1));
        invalid.refuse_if(
            self.call < layers,
            "CALL_TIMEOUT",
            &self.call,
            "at least CONNECT_TIMEOUT + READ_TIMEOUT + 1s",
        );
        invalid.into_vec()
    }
}

/// Where the limit of a bulkhead comes from (`CONCURRENCY`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Concurrency {
    /// It is `MAX_CONCURRENT`.
    Fixed,
    /// It is `MAX_CONCURRENT`; what the partner seems to bear is looked for, and only shown. A limit
    /// that nobody has watched must not shed anyone.
    Observe,
    /// It is what the partner seems to bear, at most `MAX_CONCURRENT`.
    Adaptive,
}

/// How many calls may run and wait at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkheadConfig {
    /// `MAX_CONCURRENT`: calls in flight.
    pub max_concurrent: u32,
    /// `MAX_QUEUE`: callers that may wait for a permit; more are shed at once.
    pub max_queue: u32,
    /// `MAX_WAIT`: how long they may wait.
    pub max_wait: Duration,
    /// `CONCURRENCY`: whether the limit finds itself below `max_concurrent`.
    pub concurrency: Concurrency,
}

impl Default for BulkheadConfig {
    fn default() -> Self {
        Self {
            max_concurrent: 20,
            max_queue: 5,
            max_wait: Duration::from_millis(100),
            concurrency: Concurrency::Fixed,
        }
    }
}

impl BulkheadConfig {
    /// Everything that is refused; empty when a semaphore can be built.
    #[must_use]
    pub fn validate(&self) -> Vec<InvalidSetting> {
        let mut invalid = InvalidSettings::default();
        invalid.refuse_if(
            !(1..=10_000).contains(&self.max_concurrent),
            "MAX_CONCURRENT",
            &self.max_concurrent,
            "1 to 10000",
        );
        invalid.refuse_if(
            self.max_queue > 50,
            "MAX_QUEUE",
            &self.max_queue,
            "at most 50: a long queue only hides an outage",
        );
        invalid.refuse_if(
            self.max_wait > Duration::from_secs(5),
            "MAX_WAIT",
            &self.max_wait,
            "at most 5s",
        );
        invalid.into_vec()
    }

    /// What works, but is rarely meant.
    #[must_use]
    pub fn warnings(&self) -> Vec<InvalidSetting> {
        let mut invalid = InvalidSettings::default();
        invalid.refuse_if(self.max_queue > 5, "MAX_QUEUE", &self.max_queue, "0 to 5");
        invalid.refuse_if(
            self.max_queue > 0 && self.max_wait.is_zero(),
            "MAX_WAIT",
            &self.max_wait,
            "more than 0s, or MAX_QUEUE 0: nobody can wait for no time",
        );
        invalid.into_vec()
    }
}

/// How reads are tried again.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryConfig {
    /// `RETRY_MAX_ATTEMPTS`: the first included; 1 never tries again.
    pub max_attempts: u32,
    /// `RETRY_BASE`: upper bound of the first pause; it doubles with every further one.
    pub base: Duration,
    /// `RETRY_MAX`: upper bound of every pause.
    pub max: Duration,
    /// `RETRY_BUDGET_RATIO`: retries allowed per call, on the long average.
    pub budget_ratio: f64,
    /// `RETRY_BUDGET_MIN_PER_SEC`: retries a second that are allowed however few calls there are.
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
    /// Everything that is refused; empty when a retry can be built.
    #[must_use]
    pub fn validate(&self) -> Vec<InvalidSetting> {
        let mut invalid = InvalidSettings::default();
        invalid.refuse_if(
            !(1..=5).contains(&self.max_attempts),
            "RETRY_MAX_ATTEMPTS",
            &self.max_attempts,
            "1 to 5, the first attempt included",
        );
        let retries = self.max_attempts > 1;
        invalid.refuse_if(
            retries && self.base.is_zero(),
            "RETRY_BASE",
            &self.base,
            "more than 0s: a retry without a pause is a storm",
        );
        invalid.refuse_if(
            retries && self.max < self.base,
            "RETRY_MAX",
            &self.max,
            "at least RETRY_BASE",
        );
        invalid.refuse_if(
            !(0.0..=1.0).contains(&self.budget_ratio),
            "RETRY_BUDGET_RATIO",
            &self.budget_ratio,
            "0 to 1",
        );
        invalid.refuse_if(
            !(0.0..=1000.0).contains(&self.budget_min_per_sec),
            "RETRY_BUDGET_MIN_PER_SEC",
            &self.budget_min_per_sec,
            "0 to 1000",
        );
        invalid.into_vec()
    }
}
