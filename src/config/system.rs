//! The knobs that every system outside has, handed to the machines that turn by them.

use super::environment::Environment;
use super::rows;
use super::vars::SystemVars;
use crate::adapters::outbound::http_client::{ProxyUrl, Transport, Url};
use crate::adapters::resilience::breaker::BreakerConfig;
use crate::adapters::resilience::guards::GuardConfig;
use crate::adapters::resilience::settings::{
    BulkheadConfig, InvalidSetting, RetryConfig, TimeoutConfig,
};
use crate::core::domain::unavailable::System;
use std::time::Duration;

/// A probe that hangs for so long is lost, however short the system's calls are.
const SHORTEST_PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// What each vendor's own config is made of.
pub(super) struct SystemParts {
    pub(super) base_url: Url,
    pub(super) guards: GuardConfig,
    pub(super) health: HealthConfig,
    pub(super) transport: Transport,
}

/// What this process brings along to each system.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outward<'a> {
    pub(super) instance_id: &'a str,
    pub(super) proxy: Option<&'a ProxyUrl>,
}

impl Outward<'_> {
    fn transport(self) -> Transport {
        Transport { proxy: self.proxy.cloned(), ..Transport::default() }
    }
}

/// How a system is asked whether it lives, apart from its business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthConfig {
    pub system: System,
    /// At the host's root, whatever the path of the base URL.
    pub url: Url,
    pub transport: Transport,
    /// For how long an answer serves everyone who asks.
    pub ttl: Duration,
    pub timeout: Duration,
}

/// `own` are the defaults in which the system differs from its column.
pub(super) fn read(
    env: &mut Environment,
    system: System,
    own: &[(&str, &'static str)],
    outward: Outward<'_>,
) -> SystemParts {
    let prefix = rows::prefix(system);
    let vars: SystemVars = env.group(&prefix, &rows::of_system(system, own));
    let mut health_url = vars.base_url.0.clone();
    health_url.set_path(&vars.health_path.0);
    let parts = SystemParts {
        guards: GuardConfig {
            timeouts: TimeoutConfig {
                connect: vars.connect_timeout.0,
                read: vars.read_timeout.0,
                call: vars.call_timeout.0,
            },
            bulkhead: BulkheadConfig {
                max_concurrent: vars.max_concurrent.0,
                max_queue: vars.max_queue.0,
                max_wait: vars.max_wait.0,
                concurrency: vars.concurrency.0,
            },
            breaker: breaker(&vars, outward.instance_id),
            retry: RetryConfig {
                max_attempts: vars.retry_max_attempts.0,
                base: vars.retry_base.0,
                max: vars.retry_max.0,
                budget_ratio: vars.retry_budget_ratio.0,
                budget_min_per_sec: vars.retry_budget_min_per_sec.0,
            },
        },
        health: HealthConfig {
            system,
            url: health_url,
            transport: outward.transport(),
            ttl: vars.health_ttl.0,
            timeout: vars.health_timeout.0,
        },
        base_url: vars.base_url.0,
        transport: outward.transport(),
    };
    check(env, &prefix, &parts);
    parts
}

fn breaker(vars: &SystemVars, instance_id: &str) -> BreakerConfig {
    BreakerConfig {
        mode: vars.cb_mode.0,
        canary_percent: u8::try_from(vars.cb_canary_percent.0).unwrap_or(100),
        instance_id: instance_id.to_owned(),
        window: vars.cb_window.0,
        window_size: vars.cb_window_size.0,
        window_duration: vars.cb_window_duration.0,
        window_buckets: vars.cb_window_buckets.0,
        min_requests: vars.cb_min_requests.0,
        failure_rate: vars.cb_failure_rate.0,
        consecutive_failures: vars.cb_consecutive_failures.0,
        slow_call_threshold: vars.slow_call_threshold.0,
        slow_as: vars.cb_slow_as.0,
        slow_call_rate: vars.cb_slow_call_rate.0,
        open_timeout: vars.cb_open_timeout.0,
        open_jitter: vars.cb_open_jitter.0,
        open_timeout_max: vars.cb_open_timeout_max.map(|max| max.0),
        half_open_requests: vars.cb_half_open_requests.0,
        half_open_max_in_flight: vars.cb_half_open_max_in_flight.0,
        probe_timeout: SHORTEST_PROBE_TIMEOUT.max(vars.call_timeout.0 * 2),
        ..BreakerConfig::default()
    }
}

fn check(env: &mut Environment, prefix: &str, parts: &SystemParts) {
    let GuardConfig { timeouts, bulkhead, breaker, retry } = &parts.guards;
    let name = |setting: &InvalidSetting| format!("{prefix}{}", setting.name);
    for invalid in [timeouts.validate(), bulkhead.validate(), breaker.validate(), retry.validate()]
        .into_iter()
        .flatten()
    {
        env.refuse(&name(&invalid), invalid.expected);
    }
    for doubtful in [bulkhead.warnings(), breaker.warnings()].into_iter().flatten() {
        env.warn(&name(&doubtful), doubtful.expected);
    }
    if breaker.open_timeout_max.is_none() {
        let unchanged = humantime::format_duration(breaker.open_timeout).to_string();
        env.found_out(&format!("{prefix}CB_OPEN_TIMEOUT_MAX"), unchanged);
    }
    if breaker.slow_call_threshold >= timeouts.call {
        let name = format!("{prefix}SLOW_CALL_THRESHOLD");
        env.warn(
            &name,
            "less than CALL_TIMEOUT: a slow call would time out before it counts as slow",
        );
    }
}
