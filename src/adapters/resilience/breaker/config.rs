//! What can be set of a breaker, the defaults, and what is refused or warned of. Field by field these are
//! the `CB_…` variables of a system, plus its slow threshold.

use super::layout;
use super::state::BreakerMode;
use super::word::MAX_PROBES;
use crate::adapters::resilience::settings::{InvalidSetting, InvalidSettings};
use std::time::Duration;

/// What the breaker remembers of the calls so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowKind {
    /// The last `window_size` calls.
    Count,
    /// The calls of the last `window_duration`.
    Time,
    /// Only how many calls failed in a row.
    Consecutive,
}

/// What a call that answered, but slowly, counts as. The caller gets its answer in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SlowAs {
    /// As one that did not answer.
    Failure,
    /// Counted apart, against `slow_call_rate`.
    Rate,
    /// Shown, but it never opens the breaker.
    Ignore,
}

/// Everything that can be set of a breaker. What a field is called in the environment stands beside it,
/// without the system's prefix; the defaults are those of a payment system.
#[derive(Debug, Clone, PartialEq)]
pub struct BreakerConfig {
    /// `CB_MODE`.
    pub mode: BreakerMode,
    /// `CB_CANARY_PERCENT`: share of instances, in percent, that enforce; the others run dry.
    pub canary_percent: u8,
    /// `INSTANCE_ID`: this instance's stable name, for the canary's choice.
    pub instance_id: String,
    /// `CB_WINDOW`.
    pub window: WindowKind,
    /// `CB_WINDOW_SIZE`: calls.
    pub window_size: u32,
    /// `CB_WINDOW_DURATION`.
    pub window_duration: Duration,
    /// `CB_WINDOW_BUCKETS`: parts of that time, of which the oldest leaves the window as a whole.
    pub window_buckets: u32,
    /// `CB_MIN_REQUESTS`: no decision on fewer calls.
    pub min_requests: u32,
    /// `CB_FAILURE_RATE`: opens at this share of failures or more, 0 to 1.
    pub failure_rate: f64,
    /// `CB_CONSECUTIVE_FAILURES`: opens after so many failures in a row, beside the rate; 0 is off.
    pub consecutive_failures: u32,
    /// `SLOW_CALL_THRESHOLD`: from this duration on a call is slow.
    pub slow_call_threshold: Duration,
    /// `CB_SLOW_AS`.
    pub slow_as: SlowAs,
    /// `CB_SLOW_CALL_RATE`: opens at this share of slow calls or more, 0 to 1.
    pub slow_call_rate: f64,
    /// `CB_OPEN_TIMEOUT`: how long it stays open.
    pub open_timeout: Duration,
    /// `CB_OPEN_JITTER`: each open time is longer by a random share of up to this much.
    pub open_jitter: f64,
    /// `CB_OPEN_TIMEOUT_MAX`: opening again within ten open times of closing doubles the open time,
    /// up to here; each such stretch of calm halves it. `None` keeps it as it is.
    pub open_timeout_max: Option<Duration>,
    /// `CB_HALF_OPEN_REQUESTS`: so many probes must succeed, one after the other or together.
    pub half_open_requests: u32,
    /// `CB_HALF_OPEN_MAX_IN_FLIGHT`: so many of them run at a time.
    pub half_open_max_in_flight: u32,
    /// Half-open without any progress for so long gives its probes up for lost. Longer than any
    /// call, or a slow probe is doubled.
    pub probe_timeout: Duration,
    /// How long after recovery [`Breaker::capacity`](super::Breaker::capacity) grows back to all.
    pub ramp: Duration,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self {
            mode: BreakerMode::Enforce,
            canary_percent: 100,
            instance_id: String::new(),
            window: WindowKind::Count,
            window_size: 50,
            window_duration: Duration::from_secs(10),
            window_buckets: 10,
            min_requests: 10,
            failure_rate: 0.30,
            consecutive_failures: 0,
            slow_call_threshold: Duration::from_secs(5),
            slow_as: SlowAs::Failure,
            slow_call_rate: 0.5,
            open_timeout: Duration::from_secs(30),
            open_jitter: 0.1,
            open_timeout_max: None,
            half_open_requests: 3,
            half_open_max_in_flight: 1,
            probe_timeout: Duration::from_secs(60),
            ramp: Duration::from_secs(10),
        }
    }
}

impl BreakerConfig {
    /// A minimum that the window can never hold would switch the breaker off in silence, so it
    /// counts as the whole window.
    #[must_use]
    pub fn effective_min_requests(&self) -> u32 {
        match self.window {
            WindowKind::Count => self.min_requests.min(self.window_size),
            WindowKind::Time | WindowKind::Consecutive => self.min_requests,
        }
    }

    /// Everything that is refused; empty when a breaker can be built.
    #[must_use]
    pub fn validate(&self) -> Vec<InvalidSetting> {
        let mut invalid = InvalidSettings::default();
        self.validate_window(&mut invalid);
        self.validate_shares(&mut invalid);
        self.validate_recovery(&mut invalid);
        invalid.into_vec()
    }

    fn validate_window(&self, invalid: &mut InvalidSettings) {
        match self.window {
            WindowKind::Count => invalid.refuse_if(
                !(1..=layout::MAX_CALLS).contains(&u64::from(self.window_size)),
                "CB_WINDOW_SIZE",
                &self.window_size,
                "1 to 4095 calls",
            ),
            WindowKind::Time => {
                invalid.refuse_if(
                    !(1..=120).contains(&self.window_buckets),
                    "CB_WINDOW_BUCKETS",
                    &self.window_buckets,
                    "1 to 120",
                );
                invalid.refuse_if(
                    self.window_duration < Duration::from_millis(100)
                        || self.window_duration > Duration::from_secs(3600),
                    "CB_WINDOW_DURATION",
                    &self.window_duration,
                    "100ms to 1h",
                );
            }
            WindowKind::Consecutive => invalid.refuse_if(
                self.consecutive_failures == 0,
                "CB_CONSECUTIVE_FAILURES",
                &self.consecutive_failures,
                "at least 1 when CB_WINDOW is consecutive",
            ),
        }
        invalid.refuse_if(
            self.min_requests == 0,
            "CB_MIN_REQUESTS",
            &self.min_requests,
            "at least 1",
        );
    }

    fn validate_shares(&self, invalid: &mut InvalidSettings) {
        // A NaN is in no range, so it is refused as well.
        let share = |value: f64| value > 0.0 && value <= 1.0;
        invalid.refuse_if(
            !share(self.failure_rate),
            "CB_FAILURE_RATE",
            &self.failure_rate,
            "more than 0, at most 1",
        );
        invalid.refuse_if(
            !share(self.slow_call_rate),
            "CB_SLOW_CALL_RATE",
            &self.slow_call_rate,
            "more than 0, at most 1",
        );
        invalid.refuse_if(
            self.slow_call_threshold.is_zero(),
            "SLOW_CALL_THRESHOLD",
            &self.slow_call_threshold,
            "more than 0s",
        );
        invalid.refuse_if(
            self.canary_percent > 100,
            "CB_CANARY_PERCENT",
            &self.canary_percent,
            "0 to 100",
        );
    }

    fn validate_recovery(&self, invalid: &mut InvalidSettings) {
        let hour = Duration::from_secs(3600);
        invalid.refuse_if(
            self.open_timeout < Duration::from_millis(1) || self.open_timeout > hour,
            "CB_OPEN_TIMEOUT",
            &self.open_timeout,
            "1ms to 1h",
        );
        invalid.refuse_if(
            self.open_timeout_max.is_some_and(|max| max < self.open_timeout || max > hour),
            "CB_OPEN_TIMEOUT_MAX",
            &self.open_timeout_max,
            "at least CB_OPEN_TIMEOUT, at most 1h",
        );
        invalid.refuse_if(
            !(0.0..=1.0).contains(&self.open_jitter),
            "CB_OPEN_JITTER",
            &self.open_jitter,
            "0 to 1",
        );
        let probes = 1..=u32::try_from(MAX_PROBES).unwrap_or(u32::MAX);
        invalid.refuse_if(
            !probes.contains(&self.half_open_requests),
            "CB_HALF_OPEN_REQUESTS",
            &self.half_open_requests,
            "1 to 63",
        );
        invalid.refuse_if(
            !probes.contains(&self.half_open_max_in_flight),
            "CB_HALF_OPEN_MAX_IN_FLIGHT",
            &self.half_open_max_in_flight,
            "1 to 63",
        );
        invalid.refuse_if(
            self.probe_timeout.is_zero() || self.probe_timeout > hour,
            "CB_PROBE_TIMEOUT",
            &self.probe_timeout,
            "more than 0s, at most 1h",
        );
    }

    /// What works, but is rarely meant.
    #[must_use]
    pub fn warnings(&self) -> Vec<InvalidSetting> {
        let mut invalid = InvalidSettings::default();
        invalid.refuse_if(
            self.window == WindowKind::Count && self.window_size < 10,
            "CB_WINDOW_SIZE",
            &self.window_size,
            "10 or more: a small window makes a nervous breaker",
        );
        invalid.refuse_if(
            self.window != WindowKind::Consecutive && self.min_requests < 5,
            "CB_MIN_REQUESTS",
            &self.min_requests,
            "5 or more: a few calls prove little",
        );
        invalid.refuse_if(
            self.window == WindowKind::Count && self.min_requests > self.window_size,
            "CB_MIN_REQUESTS",
            &self.min_requests,
            "at most CB_WINDOW_SIZE; it counts as that",
        );
        invalid.refuse_if(
            !(2..=5).contains(&self.half_open_requests),
            "CB_HALF_OPEN_REQUESTS",
            &self.half_open_requests,
            "2 to 5: one probe is fragile, many are a load",
        );
        invalid.into_vec()
    }
}
