//! Liveness and readiness. Being alive depends on nothing outside; being ready depends on the
//! database and on not being about to stop. The partners are shown, and count only when the operator
//! says so: a lazy breaker needs traffic to recover, and all instances would leave together.

use crate::adapters::inbound::http_kit::lifecycle::Lifecycle;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::observe::storage_upkeep::StorageUpkeep;
use crate::adapters::observe::systems::{Probed, SystemControl, SystemHealth};
use crate::adapters::observe::traffic::Traffic;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use utoipa::ToSchema;

/// A database that takes longer than this to begin a transaction is not there.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

const DATABASE: &str = "database";
const SHUTDOWN: &str = "shutdown";

/// What readiness looks at.
#[derive(Debug)]
pub struct Readiness {
    pub database: Arc<dyn StorageUpkeep>,
    pub lifecycle: Arc<Lifecycle>,
    pub systems: Vec<Arc<dyn SystemControl>>,
    pub probes: Vec<Arc<dyn SystemHealth>>,
    pub traffic: Arc<dyn Traffic>,
    /// `READINESS_EXTERNAL=strict`: an open breaker fails it.
    pub strict: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Health)]
pub struct HealthBody {
    /// `up` or `down`.
    #[schema(example = "up")]
    status: &'static str,
    #[schema(example = "0.1.0")]
    version: &'static str,
    /// By name: `database`, `shutdown`, and each system outside.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false)]
    checks: BTreeMap<&'static str, CheckBody>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HealthCheck)]
pub struct CheckBody {
    /// `up` or `down`.
    #[schema(example = "up")]
    status: &'static str,
    /// Whether readiness depends on it.
    required: bool,
    /// A system's circuit breaker: `closed`, `open` or `half_open`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    breaker: Option<&'static str>,
    /// How far the breaker's word counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    mode: Option<&'static str>,
    /// What the last health probe of the system saw: `up`, `down` or `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    probe: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    probe_age_ms: Option<u64>,
}

pub fn health_routes<S: Clone + Send + Sync + 'static>(readiness: Arc<Readiness>) -> Router<S> {
    Router::new()
        .route("/health/live", get(live))
        .route("/health/ready", get(ready))
        .with_state(readiness)
}

/// Whether the process lives; depends on nothing outside
#[utoipa::path(
    get,
    path = "/health/live",
    tag = "health",
    responses((status = 200, description = "It lives", body = HealthBody))
)]
pub async fn live() -> Response {
    json(StatusCode::OK, &HealthBody::new(true, BTreeMap::new()))
}

/// Whether to send requests here
#[utoipa::path(
    get,
    path = "/health/ready",
    tag = "health",
    responses(
        (status = 200, description = "Ready", body = HealthBody),
        (status = 503, description = "Not ready", body = HealthBody),
    )
)]
pub async fn ready(State(readiness): State<Arc<Readiness>>) -> Response {
    let checks = readiness.check().await;
    let ready = checks.values().all(|check| check.is_up() || !check.required);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    json(status, &HealthBody::new(ready, checks))
}

impl Readiness {
    async fn check(&self) -> BTreeMap<&'static str, CheckBody> {
        let database = matches!(timeout(PING_TIMEOUT, self.database.ping()).await, Ok(Ok(())));
        let mut checks = BTreeMap::from([
            (DATABASE, CheckBody::own(database)),
            (SHUTDOWN, CheckBody::own(!self.lifecycle.is_stopping())),
        ]);
        for system in &self.systems {
            checks.insert(system.system().as_str(), self.system(&**system));
        }
        for (name, check) in &checks {
            self.traffic.checked(name, check.is_up());
        }
        checks
    }

    fn system(&self, system: &dyn SystemControl) -> CheckBody {
        let breaker = system.describe().breaker;
        let probe = self.probes.iter().find(|probe| probe.system() == system.system());
        let (probe, age) = match probe.map(|probe| probe.look()) {
            None => (None, None),
            Some(Probed::NotYet) => (Some("unknown"), None),
            Some(Probed::Up { age }) => (Some("up"), Some(age)),
            Some(Probed::Down { age }) => (Some("down"), Some(age)),
        };
        CheckBody {
            status: word(!breaker.refuses()),
            required: self.strict,
            breaker: Some(breaker.state.label()),
            mode: Some(breaker.mode.as_str()),
            probe,
            probe_age_ms: age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
        }
    }
}

impl HealthBody {
    fn new(up: bool, checks: BTreeMap<&'static str, CheckBody>) -> Self {
        Self { status: word(up), version: env!("CARGO_PKG_VERSION"), checks }
    }
}

impl CheckBody {
    const fn own(up: bool) -> Self {
        Self {
            status: word(up),
            required: true,
            breaker: None,
            mode: None,
            probe: None,
            probe_age_ms: None,
        }
    }

    fn is_up(&self) -> bool {
        self.status == word(true)
    }
}

const fn word(up: bool) -> &'static str {
    if up { "up" } else { "down" }
}
