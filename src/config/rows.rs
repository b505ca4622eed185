//! Every variable with its default, as the contract's tables have them. Read this to know what can
//! be set; the type that each must have stands in `vars`.

use crate::core::domain::unavailable::System;

/// A variable, named without its group's prefix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) default: Default,
    pub(super) shown: Shown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Default {
    Text(&'static str),
    /// May stay unset; what that means is decided where the value is used.
    Unset,
    /// Must be set; the stand-in lets the rest be checked in the same run, and goes no further.
    Required(&'static str),
}

/// What people may see of a value. Whatever is not plain may also come from the file `NAME_FILE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Plainly,
    /// A URL in which only the password is secret.
    WithoutPassword,
    Never,
}

pub(super) const fn row(name: &'static str, default: &'static str) -> Row {
    Row { name, default: Default::Text(default), shown: Shown::Plainly }
}

pub(super) const fn unset(name: &'static str) -> Row {
    Row { name, default: Default::Unset, shown: Shown::Plainly }
}

pub(super) const fn required(name: &'static str, stand_in: &'static str) -> Row {
    Row { name, default: Default::Required(stand_in), shown: Shown::Plainly }
}

pub(super) const fn secret(name: &'static str) -> Row {
    Row { name, default: Default::Unset, shown: Shown::Never }
}

pub(super) const fn required_secret(name: &'static str) -> Row {
    Row { name, default: Default::Required("stand-in"), shown: Shown::Never }
}

const fn url(name: &'static str, default: Default) -> Row {
    Row { name, default, shown: Shown::WithoutPassword }
}

/// The knobs that every system has. Where a default differs from its neighbours':
///
/// * Payment systems are reached over the internet. Each tells in its own file where it needs more or
///   less than this.
/// * Catalog and recommendations are next door: they answer at once or not at all, so their calls
///   are short, and nobody queues for them. Their breakers wait for more calls and more failures,
///   because an answer without them costs little.
/// * Recommendations are the first to be dropped: few permits, no retries.
#[rustfmt::skip]
const SYSTEM: &[(&str, [&str; 3])] = &[
    //                               payment    catalog    recommendations
    ("CONNECT_TIMEOUT",            ["5s",      "1s",      "500ms"]),
    ("READ_TIMEOUT",               ["10s",     "2s",      "1s"]),
    ("CALL_TIMEOUT",               ["16s",     "4s",      "2500ms"]),
    ("SLOW_CALL_THRESHOLD",        ["5s",      "1s",      "500ms"]),
    ("MAX_CONCURRENT",             ["20",      "100",     "10"]),
    ("MAX_QUEUE",                  ["5",       "0",       "0"]),
    ("MAX_WAIT",                   ["100ms",   "0ms",     "0ms"]),
    ("CONCURRENCY",                ["fixed",   "fixed",   "fixed"]),
    ("CB_WINDOW",                  ["count",   "count",   "count"]),
    ("CB_WINDOW_SIZE",             ["50",      "50",      "50"]),
    ("CB_WINDOW_DURATION",         ["10s",     "10s",     "10s"]),
    ("CB_WINDOW_BUCKETS",          ["10",      "10",      "10"]),
    ("CB_MIN_REQUESTS",            ["10",      "20",      "20"]),
    ("CB_FAILURE_RATE",            ["0.30",    "0.50",    "0.50"]),
    ("CB_CONSECUTIVE_FAILURES",    ["0",       "0",       "0"]),
    ("CB_SLOW_AS",                 ["failure", "rate",    "ignore"]),
    ("CB_SLOW_CALL_RATE",          ["0.5",     "0.5",     "0.5"]),
    ("CB_OPEN_TIMEOUT",            ["30s",     "30s",     "30s"]),
    ("CB_OPEN_JITTER",             ["0.1",     "0.1",     "0.1"]),
    ("CB_HALF_OPEN_REQUESTS",      ["3",       "3",       "3"]),
    ("CB_HALF_OPEN_MAX_IN_FLIGHT", ["1",       "3",       "3"]),
    ("CB_MODE",                    ["enforce", "enforce", "enforce"]),
    ("CB_CANARY_PERCENT",          ["100",     "100",     "100"]),
    ("RETRY_MAX_ATTEMPTS",         ["3",       "3",       "1"]),
    ("RETRY_BASE",                 ["200ms",   "100ms",   "100ms"]),
    ("RETRY_MAX",                  ["2s",      "500ms",   "500ms"]),
    ("RETRY_BUDGET_RATIO",         ["0.1",     "0.1",     "0.1"]),
    ("RETRY_BUDGET_MIN_PER_SEC",   ["1",       "1",       "1"]),
    ("HEALTH_PATH",                ["/health", "/health", "/health"]),
    ("HEALTH_TTL",                 ["30s",     "30s",     "30s"]),
    ("HEALTH_TIMEOUT",             ["3s",      "3s",      "3s"]),
];

/// What every variable of a system begins with: `SBER_`.
#[must_use]
pub fn prefix(system: System) -> String {
    format!("{}_", system.as_str().to_uppercase())
}

/// `own` are the defaults in which the system differs from its column.
pub(super) fn of_system(system: System, own: &[(&str, &'static str)]) -> Vec<Row> {
    let column = match system {
        System::Payment(_) => 0,
        System::Catalog => 1,
        System::Recommendations => 2,
        // strangers' machines: the adapter's own settings, the same for all
        System::Webhooks => return Vec::new(),
    };
    let base_url = required("BASE_URL", "http://127.0.0.1:9/");
    let knobs = SYSTEM.iter().map(|(name, defaults)| {
        let own = own.iter().find(|(differs, _)| differs == name);
        row(name, own.map_or(defaults[column], |(_, default)| default))
    });
    // As long as CB_OPEN_TIMEOUT, whatever that is.
    let open_timeout_max = unset("CB_OPEN_TIMEOUT_MAX");
    std::iter::once(base_url).chain(knobs).chain([open_timeout_max]).collect()
}

pub(super) const CATALOG: &[Row] = &[
    row("CACHE_CAPACITY", "100000"),
    row("CACHE_TTL", "30s"),
    row("STALE_AFTER", "300ms"),
    row("MAX_STALE", "24h"),
    row("MAX_PRICE_AGE", "10m"),
];

pub(super) const RECOMMENDATIONS: &[Row] = &[row("EMPTY_ON", "any_transient")];

pub(super) const PAYMENT: &[Row] = &[
    row("PROVIDERS", "sber,odnakassa"),
    required("RETURN_URL", "https://stand-in.invalid/"),
    unset("RETURN_HOSTS"),
    row("UNAVAILABLE_MODE", "queue"),
    row("UNKNOWN_GRACE", "60s"),
    row("POLL_INTERVAL", "30s"),
    row("LOOKS", "1h,1d,7d"),
    row("FAILOVER_ON_REJECTED", "false"),
    unset("NUMBER_PREFIX"),
    unset("SYNC_WAIT"),
];

pub(super) const CANCEL: &[Row] = &[row("PAID", "refund")];

pub(super) const TASK: &[Row] = &[
    row("QUEUE_MAX", "10000"),
    row("WORKERS", "4"),
    row("POLL_INTERVAL", "1s"),
    row("LEASE", "60s"),
    row("BACKOFF", "1s"),
    row("BACKOFF_MAX", "1m"),
    row("MAX_AGE", "24h"),
    row("RETENTION", "30d"),
];

pub(super) const AUTH: &[Row] = &[
    unset("MODE"),
    secret("JWT_SECRET"),
    unset("JWT_PUBLIC_KEY_FILE"),
    unset("JWKS_FILE"),
    unset("JWT_ISSUER"),
    unset("JWT_AUDIENCE"),
];

/// What has no prefix.
pub(super) const SERVICE: &[Row] = &[
    row("HTTP_ADDR", "127.0.0.1:8080"),
    row("ADMIN_ADDR", "127.0.0.1:8081"),
    secret("ADMIN_TOKEN"),
    secret("ADMIN_TOKENS"),
    unset("CORS_ALLOWED_ORIGINS"),
    unset("INSTANCE_ID"),
    url("DATABASE_URL", Default::Text("sqlite://data/orders.db")),
    row("DATABASE_MAX_CONNECTIONS", "10"),
    row("CALLBACK_RETENTION", "180d"),
    row("AUDIT_RETENTION", "180d"),
    row("BUYER_RETENTION", "30d"),
    row("ORDER_RETENTION", "off"),
    url("DATABASE_DIRECT_URL", Default::Unset),
    row("DATABASE_PREPARED", "on"),
    row("DATABASE_ACCEPT_ASYNC", "false"),
    row("MIGRATE_ON_START", "true"),
    url("CACHE_URL", Default::Unset),
    row("REQUEST_TIMEOUT", "20s"),
    row("MAX_INFLIGHT_REQUESTS", "1024"),
    row("INFLIGHT_CONCURRENCY", "fixed"),
    row("MAX_BODY_BYTES", "65536"),
    row("BODY_TIMEOUT", "5s"),
    row("MAX_CONNECTIONS", "10000"),
    row("MAX_CONNECTIONS_PER_ADDRESS", "0"),
    row("IDLE_TIMEOUT", "30s"),
    row("WRITE_TIMEOUT", "30s"),
    row("RATE_LIMIT_PER_SECOND", "0"),
    row("RATE_LIMIT_BURST", "0"),
    url("OUTBOUND_PROXY", Default::Unset),
    row("WEBHOOK_TIMEOUT", "10s"),
    row("WEBHOOK_SCHEDULE", "5s,30s,2m,10m,1h,3h,6h,12h,1d"),
    unset("WEBHOOK_ALLOW_HOSTS"),
    row("READINESS_EXTERNAL", "report"),
    unset("LOG_FORMAT"),
    row("RUST_LOG", "info"),
    row("SHUTDOWN_GRACE", "2s"),
    row("SHUTDOWN_TIMEOUT", "20s"),
];
