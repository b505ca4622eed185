//! The knobs of one system outside, handed to the machines that turn by them.

use super::environment::Environment;
use super::rows;
use super::vars::{BreakerMode, BreakerWindow, SlowCalls, SystemVars};
use crate::adapters::out::http_client::HttpConfig;
use crate::adapters::resilience::breaker::{BreakerConfig, Mode, SlowAs, WindowKind};
use crate::adapters::resilience::settings::{BulkheadConfig, Fault, RetryConfig, TimeoutConfig};
use crate::core::ports::unavailable::System;
use std::path::PathBuf;
use std::time::Duration;

/// A probe that hangs for so long is lost, however short the system's calls are.
const SHORTEST_PROBE_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub struct SystemConfig {
    pub http: HttpConfig,
    pub timeouts: TimeoutConfig,
    pub bulkhead: BulkheadConfig,
    pub breaker: BreakerConfig,
    pub retry: RetryConfig,
    pub health: HealthConfig,
}

/// How a system is asked whether it lives, apart from its business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthConfig {
    /// At the host's root, whatever the path of the base URL.
    pub path: String,
    /// For how long an answer serves everyone who asks.
    pub ttl: Duration,
    pub timeout: Duration,
}

pub(super) fn read(env: &mut Environment, system: System, instance_id: &str) -> SystemConfig {
    let prefix = rows::prefix(system);
    let vars: SystemVars = env.group(prefix, &rows::of_system(system));
    let config = SystemConfig {
        http: HttpConfig {
            base_url: vars.base_url.0.clone(),
            connect_timeout: vars.connect_timeout.0,
            read_timeout: vars.read_timeout.0,
            max_concurrent: vars.max_concurrent.0,
            ca_file: None,
        },
        timeouts: TimeoutConfig {
            connect: vars.connect_timeout.0,
            read: vars.read_timeout.0,
            call: vars.call_timeout.0,
        },
        bulkhead: BulkheadConfig {
            max_concurrent: vars.max_concurrent.0,
            max_queue: vars.max_queue.0,
            max_wait: vars.max_wait.0,
        },
        breaker: breaker(&vars, instance_id),
        retry: RetryConfig {
            max_attempts: vars.retry_max_attempts.0,
            base: vars.retry_base.0,
            max: vars.retry_max.0,
            budget_ratio: vars.retry_budget_ratio.0,
            budget_min_per_sec: vars.retry_budget_min_per_sec.0,
        },
        health: HealthConfig {
            path: vars.health_path.0,
            ttl: vars.health_ttl.0,
            timeout: vars.health_timeout.0,
        },
    };
    check(env, prefix, &config);
    config
}

impl SystemConfig {
    /// The same with a certificate authority of its own.
    pub(super) fn trusting(mut self, ca_file: Option<PathBuf>) -> Self {
        self.http.ca_file = ca_file;
        self
    }
}

fn breaker(vars: &SystemVars, instance_id: &str) -> BreakerConfig {
    BreakerConfig {
        mode: match vars.cb_mode {
            BreakerMode::Off => Mode::Off,
            BreakerMode::DryRun => Mode::DryRun,
            BreakerMode::Enforce => Mode::Enforce,
            BreakerMode::ForcedOpen => Mode::ForcedOpen,
            BreakerMode::ForcedClosed => Mode::ForcedClosed,
        },
        canary_percent: u8::try_from(vars.cb_canary_percent.0).unwrap_or(100),
        instance_id: instance_id.to_owned(),
        window: match vars.cb_window {
            BreakerWindow::Count => WindowKind::Count,
            BreakerWindow::Time => WindowKind::Time,
            BreakerWindow::Consecutive => WindowKind::Consecutive,
        },
        window_size: vars.cb_window_size.0,
        window_duration: vars.cb_window_duration.0,
        window_buckets: vars.cb_window_buckets.0,
        min_requests: vars.cb_min_requests.0,
        failure_rate: vars.cb_failure_rate.0,
        consecutive_failures: vars.cb_consecutive_failures.0,
        slow_call_threshold: vars.slow_call_threshold.0,
        slow_as: match vars.cb_slow_as {
            SlowCalls::Failure => SlowAs::Failure,
            SlowCalls::Rate => SlowAs::Rate,
            SlowCalls::Ignore => SlowAs::Ignore,
        },
        slow_call_rate: vars.cb_slow_call_rate.0,
        open_timeout: vars.cb_open_timeout.0,
        open_jitter: vars.cb_open_jitter.0,
        half_open_requests: vars.cb_half_open_requests.0,
        half_open_max_in_flight: vars.cb_half_open_max_in_flight.0,
        probe_timeout: SHORTEST_PROBE_TIMEOUT.max(vars.call_timeout.0 * 2),
        ..BreakerConfig::default()
    }
}

fn check(env: &mut Environment, prefix: &str, config: &SystemConfig) {
    let SystemConfig { timeouts, bulkhead, breaker, retry, .. } = config;
    let name = |fault: &Fault| format!("{prefix}{}", fault.knob);
    for fault in [timeouts.validate(), bulkhead.validate(), breaker.validate(), retry.validate()]
        .into_iter()
        .flatten()
    {
        env.refuse(&name(&fault), fault.expected);
    }
    for fault in [bulkhead.warnings(), breaker.warnings()].into_iter().flatten() {
        env.warn(&name(&fault), fault.expected);
    }
    if breaker.slow_call_threshold >= timeouts.call {
        let name = format!("{prefix}SLOW_CALL_THRESHOLD");
        env.warn(
            &name,
            "less than CALL_TIMEOUT: a slow call would time out before it counts as slow",
        );
    }
}
