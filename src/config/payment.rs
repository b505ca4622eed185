//! How payments and tasks are handled, and that the time limits of both fit those of the partners.

use super::environment::Environment;
use super::rows;
use super::vars::{CancelVars, PaymentVars, TaskVars, UnavailableMode};
use crate::core::domain::ids::InstanceId;
use crate::core::domain::provider::Provider;
use crate::core::payment::policy::PaymentPolicy;
use std::time::Duration;

/// Where a client may have the payer sent back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnUrls {
    /// In lower case.
    pub hosts: Vec<String>,
    /// Plain http to this very machine: in the sandbox only.
    pub loopback_http: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerConfig {
    pub workers: usize,
    pub poll_interval: Duration,
    /// How long a finished task is kept.
    pub retention: Duration,
}

/// What of the rest the payments depend on.
pub(super) struct Surroundings {
    pub(super) instance: InstanceId,
    pub(super) request_timeout: Duration,
    /// How long a call to each payment system may last.
    pub(super) calls: Vec<(Provider, Duration)>,
    pub(super) sandbox: bool,
}

/// Before everything else that concerns payments: which payment systems are in use.
pub(super) fn read(env: &mut Environment) -> PaymentVars {
    env.group("PAYMENT_", rows::PAYMENT)
}

pub(super) fn assemble(
    env: &mut Environment,
    payment: PaymentVars,
    around: Surroundings,
) -> (PaymentPolicy, ReturnUrls, WorkerConfig) {
    let cancel: CancelVars = env.group("CANCEL_", rows::CANCEL);
    let task: TaskVars = env.group("TASK_", rows::TASK);
    check_limits(env, &around, &payment, &task);
    let hosts = return_hosts(env, &payment);
    let sync_wait = sync_wait(env, &around, &payment);
    let policy = PaymentPolicy {
        providers: payment.providers.0,
        return_url: payment.return_url.0.into(),
        queueing: payment.unavailable_mode.0 == UnavailableMode::Queue,
        unknown_grace: payment.unknown_grace.0,
        poll_interval: payment.poll_interval.0,
        looks_after_payment: payment.looks.0,
        failover_on_rejected: payment.failover_on_rejected.0,
        cancel_paid: cancel.paid.0,
        number_prefix: payment.number_prefix.unwrap_or_default().0,
        sync_wait,
        queue_max: u64::from(task.queue_max.0),
        lease: task.lease.0,
        backoff: task.backoff.0,
        backoff_max: task.backoff_max.0,
        max_age: task.max_age.0,
        instance: around.instance,
    };
    let worker = WorkerConfig {
        workers: usize::try_from(task.workers.0).unwrap_or(usize::MAX),
        poll_interval: task.poll_interval.0,
        retention: task.retention.0,
    };
    (policy, ReturnUrls { hosts, loopback_http: around.sandbox }, worker)
}

fn check_limits(
    env: &mut Environment,
    around: &Surroundings,
    payment: &PaymentVars,
    task: &TaskVars,
) {
    for &(provider, call) in &around.calls {
        let name = format!("{}CALL_TIMEOUT", rows::prefix(provider.into()));
        let longer = format!("more than {name} ({})", humantime::format_duration(call));
        if payment.unknown_grace.0 <= call {
            // A request that still runs could land after "no such order" was believed.
            env.refuse("PAYMENT_UNKNOWN_GRACE", &longer);
        }
        if task.lease.0 <= call {
            env.refuse("TASK_LEASE", &longer);
        }
    }
    if task.backoff_max.0 < task.backoff.0 {
        env.refuse("TASK_BACKOFF_MAX", "at least TASK_BACKOFF");
    }
    if task.max_age.0 <= payment.unknown_grace.0 {
        env.refuse("TASK_MAX_AGE", "more than PAYMENT_UNKNOWN_GRACE");
    }
}

fn return_hosts(env: &mut Environment, payment: &PaymentVars) -> Vec<String> {
    let own = payment.return_url.0.host_str().unwrap_or_default().to_ascii_lowercase();
    let Some(hosts) = &payment.return_hosts else {
        env.found_out("PAYMENT_RETURN_HOSTS", own.clone());
        return vec![own];
    };
    if !hosts.0.contains(&own) {
        env.refuse("PAYMENT_RETURN_HOSTS", "the host of PAYMENT_RETURN_URL among them");
    }
    hosts.0.clone()
}

/// Confirm waits for the first provider's call, but answers before the request's time is over.
fn sync_wait(env: &mut Environment, around: &Surroundings, payment: &PaymentVars) -> Duration {
    if let Some(wait) = payment.sync_wait {
        if wait.0 >= around.request_timeout {
            env.warn("PAYMENT_SYNC_WAIT", "less than REQUEST_TIMEOUT, which ends the wait before");
        }
        return wait.0;
    }
    let first = payment.providers.0.first();
    let call = around.calls.iter().find(|(provider, _)| *provider == first);
    let call = call.map_or(Duration::MAX, |(_, call)| *call);
    let wait = call.min(around.request_timeout.saturating_sub(Duration::from_secs(1)));
    let wait = wait.max(Duration::from_millis(100));
    env.found_out("PAYMENT_SYNC_WAIT", humantime::format_duration(wait).to_string());
    wait
}
