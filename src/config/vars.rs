//! The environment as `envy` reads it: one flat struct for each group of variables, every field of
//! a type that refuses what could hurt. A field's name is the variable's, in lower case and without
//! the group's prefix; its default stands in `rows`.

use super::durations::{DAY, HOUR, Looks, MINUTE, Pauses, SECOND, Span, SpanOrOff};
use super::words::{
    Address, BaseUrl, Choice, DatabaseUrl, Fraction, Hosts, Label, LogFilter, NamedTokens,
    NumberPrefix, OneOf, Origins, OutboundProxy, Providers, ReturnUrl, RootPath, SharedCache,
    Token, Whole,
};
use crate::adapters::resilience::breaker::{BreakerMode, SlowAs, WindowKind};
use crate::adapters::resilience::settings::Concurrency;
use crate::core::payment::policy::CancelPaid;
use secrecy::SecretString;
use serde::Deserialize;
use std::path::PathBuf;

/// What every system outside has. The relations between these are the machines' own to check.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SystemVars {
    pub(super) base_url: BaseUrl,
    pub(super) connect_timeout: Span<1, { 10 * SECOND }>,
    pub(super) read_timeout: Span<1, { 60 * SECOND }>,
    pub(super) call_timeout: Span<1, { 5 * MINUTE }>,
    pub(super) slow_call_threshold: Span<1, { 5 * MINUTE }>,
    pub(super) max_concurrent: Whole<1, 10_000>,
    pub(super) max_queue: Whole<0, 50>,
    pub(super) max_wait: Span<0, { 5 * SECOND }>,
    pub(super) concurrency: OneOf<Concurrency>,
    pub(super) cb_window: OneOf<WindowKind>,
    pub(super) cb_window_size: Whole<1, 4_095>,
    pub(super) cb_window_duration: Span<100, { HOUR }>,
    pub(super) cb_window_buckets: Whole<1, 120>,
    pub(super) cb_min_requests: Whole<1, 100_000>,
    pub(super) cb_failure_rate: Fraction<1>,
    pub(super) cb_consecutive_failures: Whole<0, 1_000>,
    pub(super) cb_slow_as: OneOf<SlowAs>,
    pub(super) cb_slow_call_rate: Fraction<1>,
    pub(super) cb_open_timeout: Span<1, { HOUR }>,
    pub(super) cb_open_timeout_max: Option<Span<1, { HOUR }>>,
    pub(super) cb_open_jitter: Fraction<1>,
    pub(super) cb_half_open_requests: Whole<1, 63>,
    pub(super) cb_half_open_max_in_flight: Whole<1, 63>,
    pub(super) cb_mode: OneOf<BreakerMode>,
    pub(super) cb_canary_percent: Whole<0, 100>,
    pub(super) retry_max_attempts: Whole<1, 5>,
    pub(super) retry_base: Span<1, { 30 * SECOND }>,
    pub(super) retry_max: Span<1, { 30 * SECOND }>,
    pub(super) retry_budget_ratio: Fraction<1>,
    pub(super) retry_budget_min_per_sec: Fraction<1_000>,
    pub(super) health_path: RootPath,
    pub(super) health_ttl: Span<{ SECOND }, { HOUR }>,
    pub(super) health_timeout: Span<1, { 10 * SECOND }>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CatalogVars {
    pub(super) cache_capacity: Whole<1, 10_000_000>,
    pub(super) cache_ttl: Span<0, { DAY }>,
    pub(super) stale_after: Span<0, { MINUTE }>,
    pub(super) max_stale: Span<0, { 7 * DAY }>,
    pub(super) max_price_age: Span<0, { DAY }>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecommendationsVars {
    pub(super) empty_on: OneOf<EmptyOn>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PaymentVars {
    pub(super) providers: Providers,
    pub(super) return_url: ReturnUrl,
    pub(super) return_hosts: Option<Hosts>,
    pub(super) unavailable_mode: OneOf<UnavailableMode>,
    pub(super) unknown_grace: Span<{ SECOND }, { HOUR }>,
    pub(super) poll_interval: Span<100, { 5 * MINUTE }>,
    pub(super) looks: Looks,
    pub(super) failover_on_rejected: OneOf<bool>,
    pub(super) number_prefix: Option<NumberPrefix>,
    pub(super) sync_wait: Option<Span<1, { 5 * MINUTE }>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelVars {
    pub(super) paid: OneOf<CancelPaid>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskVars {
    pub(super) queue_max: Whole<0, 10_000_000>,
    pub(super) workers: Whole<1, 256>,
    pub(super) poll_interval: Span<10, { MINUTE }>,
    pub(super) lease: Span<{ SECOND }, { HOUR }>,
    pub(super) backoff: Span<10, { HOUR }>,
    pub(super) backoff_max: Span<10, { DAY }>,
    pub(super) max_age: Span<{ SECOND }, { 30 * DAY }>,
    pub(super) retention: Span<{ MINUTE }, { 3650 * DAY }>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuthVars {
    pub(super) mode: Option<OneOf<AuthMode>>,
    pub(super) jwt_secret: Option<SecretString>,
    pub(super) jwt_public_key_file: Option<PathBuf>,
    pub(super) jwks_file: Option<PathBuf>,
    pub(super) jwt_issuer: Option<String>,
    pub(super) jwt_audience: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServiceVars {
    pub(super) http_addr: Address,
    pub(super) cors_allowed_origins: Option<Origins>,
    pub(super) admin_addr: Address,
    pub(super) admin_token: Option<Token>,
    pub(super) admin_tokens: Option<NamedTokens>,
    pub(super) instance_id: Option<Label>,
    pub(super) database_url: DatabaseUrl,
    pub(super) database_max_connections: Whole<1, 1_000>,
    pub(super) callback_retention: Span<{ MINUTE }, { 3650 * DAY }>,
    pub(super) audit_retention: Span<{ MINUTE }, { 3650 * DAY }>,
    pub(super) buyer_retention: Span<{ MINUTE }, { 3650 * DAY }>,
    pub(super) order_retention: SpanOrOff<{ 7 * DAY }, { 3650 * DAY }>,
    pub(super) outbound_proxy: Option<OutboundProxy>,
    pub(super) webhook_timeout: Span<100, { MINUTE }>,
    pub(super) webhook_schedule: Pauses,
    pub(super) webhook_allow_hosts: Option<Hosts>,
    pub(super) database_direct_url: Option<DatabaseUrl>,
    pub(super) database_prepared: OneOf<Switch>,
    pub(super) database_accept_async: OneOf<bool>,
    pub(super) migrate_on_start: OneOf<bool>,
    pub(super) cache_url: Option<SharedCache>,
    pub(super) request_timeout: Span<{ SECOND }, { 5 * MINUTE }>,
    pub(super) max_inflight_requests: Whole<1, 1_000_000>,
    pub(super) inflight_concurrency: OneOf<Concurrency>,
    pub(super) max_body_bytes: Whole<1_024, 16_777_216>,
    pub(super) body_timeout: Span<100, { 5 * MINUTE }>,
    pub(super) max_connections: Whole<1, 1_000_000>,
    pub(super) max_connections_per_address: Whole<0, 1_000_000>,
    pub(super) idle_timeout: Span<{ SECOND }, { HOUR }>,
    pub(super) write_timeout: Span<{ SECOND }, { HOUR }>,
    pub(super) rate_limit_per_second: Whole<0, 1_000_000>,
    pub(super) rate_limit_burst: Whole<0, 1_000_000>,
    pub(super) readiness_external: OneOf<ReadinessExternal>,
    pub(super) log_format: Option<OneOf<LogFormat>>,
    pub(super) rust_log: LogFilter,
    pub(super) shutdown_grace: Span<0, { 5 * MINUTE }>,
    pub(super) shutdown_timeout: Span<0, { 10 * MINUTE }>,
}

/// Which failures of the recommendations a client sees as an empty list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyOn {
    AnyTransient,
    /// Only what never left this process.
    NotExecuted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnavailableMode {
    Queue,
    Reject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthMode {
    None,
    Jwt,
}

/// Whether a partner's outage makes this service unready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadinessExternal {
    Report,
    Strict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Pretty,
    Json,
}

impl Choice for Concurrency {
    const WORDS: &'static [(&'static str, Self)] =
        &[("fixed", Self::Fixed), ("observe", Self::Observe), ("adaptive", Self::Adaptive)];
}

impl Choice for WindowKind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("count", Self::Count), ("time", Self::Time), ("consecutive", Self::Consecutive)];
}

impl Choice for SlowAs {
    const WORDS: &'static [(&'static str, Self)] =
        &[("failure", Self::Failure), ("rate", Self::Rate), ("ignore", Self::Ignore)];
}

impl Choice for BreakerMode {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("off", Self::Off),
        ("dry_run", Self::DryRun),
        ("enforce", Self::Enforce),
        ("forced_open", Self::ForcedOpen),
        ("forced_closed", Self::ForcedClosed),
    ];
}

impl Choice for EmptyOn {
    const WORDS: &'static [(&'static str, Self)] =
        &[("any_transient", Self::AnyTransient), ("not_executed", Self::NotExecuted)];
}

impl Choice for UnavailableMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("queue", Self::Queue), ("reject", Self::Reject)];
}

impl Choice for CancelPaid {
    const WORDS: &'static [(&'static str, Self)] =
        &[("refund", Self::Refund), ("review", Self::Review)];
}

impl Choice for AuthMode {
    const WORDS: &'static [(&'static str, Self)] = &[("none", Self::None), ("jwt", Self::Jwt)];
}

impl Choice for ReadinessExternal {
    const WORDS: &'static [(&'static str, Self)] =
        &[("report", Self::Report), ("strict", Self::Strict)];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Switch {
    On,
    Off,
}

impl Choice for Switch {
    const WORDS: &'static [(&'static str, Self)] = &[("on", Self::On), ("off", Self::Off)];
}

impl Choice for LogFormat {
    const WORDS: &'static [(&'static str, Self)] =
        &[("pretty", Self::Pretty), ("json", Self::Json)];
}
