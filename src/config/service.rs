//! What concerns this process itself: its doors, its storage, its limits, its end.

use super::auth;
use super::environment::Environment;
use super::rows;
use super::vars::{LogFormat, ReadinessExternal, ServiceVars, Switch};
use super::words::{Hosts, NamedTokens, Token};
use crate::adapters::inbound::api::auth::TokensConfig;
use crate::adapters::inbound::api::quota::QuotaConfig;
use crate::adapters::inbound::http_kit::connections::ConnectionLimits;
use crate::adapters::inbound::http_kit::incoming::BodyLimits;
use crate::adapters::outbound::http_client::ProxyUrl;
use crate::adapters::outbound::remote_cache::CacheUrl;
use crate::adapters::resilience::settings::Concurrency;
use crate::core::domain::ids::InstanceId;
use crate::core::domain::webhook::schedule::WebhookSchedule;
use secrecy::SecretString;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct ServiceConfig {
    pub http_addr: SocketAddr,
    pub admin_addr: SocketAddr,
    /// The one of `ADMIN_TOKEN` is named `operator`.
    pub admin_tokens: Vec<(String, SecretString)>,
    /// `AUTH_MODE=jwt`; without it nobody is asked who he is.
    pub tokens: Option<TokensConfig>,
    /// `CORS_ALLOWED_ORIGINS`
    pub allowed_origins: Vec<String>,
    pub instance_id: InstanceId,
    pub database: DatabaseConfig,
    /// Where instances share the catalog's answers; without it each has its own.
    pub cache_url: Option<CacheUrl>,
    pub webhooks: WebhooksConfig,
    /// `OUTBOUND_PROXY`: partners are called through it; webhooks never.
    pub outbound_proxy: Option<ProxyUrl>,
    pub limits: LimitsConfig,
    pub readiness_external: ReadinessExternal,
    pub telemetry: TelemetryConfig,
    pub shutdown: ShutdownConfig,
}

/// How shops are told.
#[derive(Debug, Clone)]
pub struct WebhooksConfig {
    /// `WEBHOOK_TIMEOUT`: of one attempt.
    pub timeout: Duration,
    /// `WEBHOOK_SCHEDULE`: the pauses between attempts.
    pub schedule: WebhookSchedule,
    /// `WEBHOOK_ALLOW_HOSTS`: these may be plain HTTP and anywhere; in the sandbox this machine, too.
    pub allowed_hosts: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    /// Its scheme chooses the database.
    pub url: SecretString,
    pub max_connections: u32,
    /// How long callbacks are kept, since they first came.
    pub callback_retention: Duration,
    /// How long is kept what operators did.
    pub audit_retention: Duration,
    pub buyer_retention: Duration,
    /// `None`: orders are kept for ever.
    pub order_retention: Option<Duration>,
    /// Past a pooler, for what needs a session: migrations, and listening to other instances.
    pub direct_url: Option<SecretString>,
    /// `DATABASE_PREPARED`: `off` behind a pooler that gives each transaction another session.
    pub prepared: bool,
    /// `DATABASE_ACCEPT_ASYNC`: no alert that a failover may lose commits.
    pub accept_async: bool,
    /// Whether a SQLite file that is not there is made: the sandbox's privilege.
    pub create: bool,
    /// `MIGRATE_ON_START`: otherwise `order-service migrate` is a step of the deploy.
    pub migrate_on_start: bool,
}

/// How much one request, and all together, may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitsConfig {
    pub request_timeout: Duration,
    pub max_inflight_requests: usize,
    pub inflight_concurrency: Concurrency,
    pub body: BodyLimits,
    pub connections: ConnectionLimits,
    /// Of one client; `None` without `RATE_LIMIT_PER_SECOND`.
    pub quota: Option<QuotaConfig>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryConfig {
    pub format: LogFormat,
    /// `RUST_LOG`.
    pub filter: String,
    /// The collector's address for spans, if there is one.
    pub spans_to: Option<String>,
    /// `OTEL_SERVICE_NAME`.
    pub service_name: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShutdownConfig {
    /// From "not ready" to refusing, so that load balancers notice.
    pub grace: Duration,
    /// For what is in flight to finish.
    pub timeout: Duration,
}

pub(super) fn read(env: &mut Environment, sandbox: bool) -> ServiceConfig {
    let vars: ServiceVars = env.group("", rows::SERVICE);
    let tokens = auth::read(env, vars.http_addr.0.ip().is_loopback());
    env.foreign("OTEL_");
    check_listeners(env, &vars);
    check_pooler(env, &vars);
    let quota = quota(env, &vars);
    let connections = connections(env, &vars);
    let instance_id = vars.instance_id.map_or_else(host_name, |label| label.0);
    env.found_out("INSTANCE_ID", instance_id.as_str());
    let format = vars.log_format.map_or_else(|| format_for_stderr(env), |format| format.0);
    ServiceConfig {
        http_addr: vars.http_addr.0,
        admin_addr: vars.admin_addr.0,
        admin_tokens: admin_tokens(vars.admin_token, vars.admin_tokens),
        tokens,
        allowed_origins: vars.cors_allowed_origins.map(|origins| origins.0).unwrap_or_default(),
        instance_id: InstanceId::new(&instance_id),
        database: DatabaseConfig {
            url: vars.database_url.0,
            max_connections: vars.database_max_connections.0,
            callback_retention: vars.callback_retention.0,
            audit_retention: vars.audit_retention.0,
            buyer_retention: vars.buyer_retention.0,
            order_retention: vars.order_retention.0,
            direct_url: vars.database_direct_url.map(|url| url.0),
            prepared: vars.database_prepared.0 == Switch::On,
            accept_async: vars.database_accept_async.0,
            create: sandbox,
            migrate_on_start: vars.migrate_on_start.0,
        },
        cache_url: vars.cache_url.map(|url| url.0),
        outbound_proxy: vars.outbound_proxy.map(|proxy| proxy.0),
        webhooks: WebhooksConfig {
            timeout: vars.webhook_timeout.0,
            schedule: vars.webhook_schedule.0,
            allowed_hosts: webhook_hosts(vars.webhook_allow_hosts, sandbox),
        },
        limits: LimitsConfig {
            request_timeout: vars.request_timeout.0,
            max_inflight_requests: size(vars.max_inflight_requests.0),
            inflight_concurrency: vars.inflight_concurrency.0,
            body: BodyLimits {
                max_bytes: size(vars.max_body_bytes.0),
                timeout: vars.body_timeout.0,
            },
            connections,
            quota,
        },
        readiness_external: vars.readiness_external.0,
        telemetry: TelemetryConfig {
            format,
            filter: vars.rust_log.0,
            spans_to: collector(env),
            service_name: env.text("OTEL_SERVICE_NAME").unwrap_or("order-service").to_owned(),
        },
        shutdown: ShutdownConfig { grace: vars.shutdown_grace.0, timeout: vars.shutdown_timeout.0 },
    }
}

fn check_listeners(env: &mut Environment, vars: &ServiceVars) {
    let (http, admin) = (vars.http_addr.0, vars.admin_addr.0);
    if http == admin && http.port() != 0 {
        env.refuse("ADMIN_ADDR", "another address than HTTP_ADDR");
    }
    if !admin.ip().is_loopback() && vars.admin_token.is_none() && vars.admin_tokens.is_none() {
        env.refuse("ADMIN_TOKEN", "a token, because ADMIN_ADDR is not a loopback address");
    }
}

/// The lock under which one of many migrates is a session's.
fn check_pooler(env: &mut Environment, vars: &ServiceVars) {
    let pooled = vars.database_prepared.0 == Switch::Off;
    if pooled && vars.migrate_on_start.0 && vars.database_direct_url.is_none() {
        env.refuse(
            "DATABASE_DIRECT_URL",
            "the server's own address, because DATABASE_PREPARED=off (or MIGRATE_ON_START=false)",
        );
    }
}

/// A shop that is being built listens on the machine on which the sandbox runs.
fn webhook_hosts(given: Option<Hosts>, sandbox: bool) -> Vec<String> {
    let local = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
    let given = given.map(|hosts| hosts.0).unwrap_or_default();
    if sandbox { given.into_iter().chain(local).collect() } else { given }
}

fn admin_tokens(one: Option<Token>, named: Option<NamedTokens>) -> Vec<(String, SecretString)> {
    let operator = one.map(|token| ("operator".to_owned(), token.0));
    operator.into_iter().chain(named.map(|named| named.0).unwrap_or_default()).collect()
}

/// A burst of 0 is one second's worth.
fn quota(env: &mut Environment, vars: &ServiceVars) -> Option<QuotaConfig> {
    let (rate, burst) = (vars.rate_limit_per_second.0, vars.rate_limit_burst.0);
    let Some(per_second) = NonZeroU32::new(rate) else {
        if burst > 0 {
            env.warn(
                "RATE_LIMIT_BURST",
                "no value: it has no effect without RATE_LIMIT_PER_SECOND",
            );
        }
        return None;
    };
    let burst = NonZeroU32::new(burst).unwrap_or(per_second);
    env.found_out("RATE_LIMIT_BURST", burst.to_string());
    Some(QuotaConfig { per_second, burst })
}

/// An address's share of 0 is a quarter.
fn connections(env: &mut Environment, vars: &ServiceVars) -> ConnectionLimits {
    let max = size(vars.max_connections.0);
    let per_address = match vars.max_connections_per_address.0 {
        0 => max.div_ceil(4),
        own => size(own).min(max),
    };
    env.found_out("MAX_CONNECTIONS_PER_ADDRESS", per_address.to_string());
    if vars.body_timeout.0 >= vars.request_timeout.0 {
        env.warn(
            "BODY_TIMEOUT",
            "less than REQUEST_TIMEOUT: a body that does not come is 408 then",
        );
    }
    let (idle, write) = (vars.idle_timeout.0, vars.write_timeout.0);
    ConnectionLimits { max, per_address, idle, write }
}

fn format_for_stderr(env: &mut Environment) -> LogFormat {
    let (format, word) = if std::io::stderr().is_terminal() {
        (LogFormat::Pretty, "pretty")
    } else {
        (LogFormat::Json, "json")
    };
    env.found_out("LOG_FORMAT", word);
    format
}

/// Where the standard variables say that spans go: the one for spans as it is, or the one for
/// everything with the path for spans.
fn collector(env: &Environment) -> Option<String> {
    let own = env.text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").map(str::to_owned);
    let shared = env.text("OTEL_EXPORTER_OTLP_ENDPOINT");
    own.or_else(|| shared.map(|base| format!("{}/v1/traces", base.trim_end_matches('/'))))
}

/// Leases are held under this name, so it must outlive a restart; a random one would not.
fn host_name() -> String {
    let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
    let named = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    let mut named = named.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    named.next().unwrap_or_else(|| "order-service".into())
}

fn size(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
