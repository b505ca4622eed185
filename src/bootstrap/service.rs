//! One instance of the service: built from its configuration, run until it is told to stop.

use super::database::{self, Database};
use super::partners::{self, Partners};
use super::parts::{Parts, adapter_events, clock, entropy, events, traffic};
use super::shutdown::{GracefulShutdown, Signals};
use super::workers::{housekeeping, webhook_worker, worker};
use super::{simulated, webhooks};
use crate::adapters::inbound::admin::{self, AdminState, Exposition};
use crate::adapters::inbound::api;
use crate::adapters::inbound::api::auth::Auth;
use crate::adapters::inbound::api::quota::Quotas;
use crate::adapters::inbound::api::{
    ApiHousekeeping, App, ReturnUrls, Services, Settings, UseCases,
};
use crate::adapters::inbound::http_kit::connections::{ConnectionLimits, HttpServer};
use crate::adapters::inbound::http_kit::health::Readiness;
use crate::adapters::inbound::http_kit::lifecycle::Lifecycle;
use crate::adapters::inbound::http_kit::origin::OriginRule;
use crate::adapters::inbound::worker::ModeWatcher;
use crate::adapters::observe::adapter_events::AdapterEvents;
use crate::adapters::observe::log_control::LogControl;
use crate::adapters::observe::metrics::{
    BuildInfo, CONTENT_TYPE, MeteredStore, Metrics, OPENMETRICS,
};
use crate::adapters::observe::service_mode::ModeWatch;
use crate::adapters::observe::systems::SystemHealth;
use crate::adapters::observe::traffic::Uncounted;
use crate::adapters::outbound::health::{HealthProbe, ProbeConfig};
use crate::adapters::outbound::storage::{self, Store};
use crate::config::{Config, EmptyOn, ReadinessExternal};
use crate::core::engine::Engine;
use crate::core::engine::gateway::PaymentGateway;
use crate::core::ports::events::Events;
use crate::core::use_cases::cancel_order::CancelOrder;
use crate::core::use_cases::confirm_order::{ConfirmOrder, RecentRefusals};
use crate::core::use_cases::idempotency::Idempotency;
use crate::core::use_cases::list_events::ListEvents;
use crate::core::use_cases::operate_tasks::OperateTasks;
use crate::core::use_cases::place_order::PlaceOrder;
use crate::core::use_cases::poll_task::PollTask;
use crate::core::use_cases::receive_callback::CallbackBudget;
use crate::core::use_cases::receive_callback::ReceiveCallback;
use crate::core::use_cases::recommend::Recommend;
use crate::core::use_cases::refund_order::RefundOrder;
use crate::core::use_cases::show_order::ShowOrder;
use crate::core::use_cases::show_product::ShowProduct;
use crate::sandbox::Sandbox;
use anyhow::Context;
use axum::Router;
use secrecy::ExposeSecret;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The sockets, bound before anything else so that a taken port is told first.
pub struct Listeners {
    pub http: TcpListener,
    pub admin: TcpListener,
}

impl Listeners {
    /// # Errors
    /// A port that cannot be bound.
    pub async fn bind(http: SocketAddr, admin: SocketAddr) -> anyhow::Result<Self> {
        let bind = async |name: &'static str, address: SocketAddr| {
            TcpListener::bind(address).await.with_context(|| format!("{name}={address}"))
        };
        Ok(Self { http: bind("HTTP_ADDR", http).await?, admin: bind("ADMIN_ADDR", admin).await? })
    }
}

/// Serves until a signal comes, then ends in order.
///
/// # Errors
/// The database cannot be reached at start, or an adapter cannot be built.
pub async fn serve(
    config: Config,
    listeners: Listeners,
    log: Arc<dyn LogControl>,
    sandbox: Option<&Sandbox>,
) -> anyhow::Result<()> {
    let signals = Signals::listen()?;
    let parts = build(config, log).await?;
    if let Some(sandbox) = sandbox {
        simulated::join(sandbox, &parts.partners);
        simulated::tell_of_orphans(sandbox, &*parts.store).await?;
    }
    let app = app(&parts);
    let admin_state = admin_state(&parts, Arc::clone(&app.services.readiness));
    let Listeners { http: http_listener, admin: admin_listener } = listeners;
    let (quit_http, quit_admin) = (CancellationToken::new(), CancellationToken::new());
    let patience = parts.config.service.shutdown.timeout;
    let http = HttpServer {
        router: api::router(&app),
        limits: parts.config.service.limits.connections,
        lifecycle: Arc::clone(&parts.lifecycle),
        traffic: traffic(&parts),
        end: quit_http.clone(),
        patience,
    };
    let admin = admin_server(&parts, admin::router(&admin_state), quit_admin.clone());
    let http = tokio::spawn(http.serve(http_listener));
    let admin = tokio::spawn(admin.serve(admin_listener));
    let worker = tokio::spawn(worker(&parts).run());
    let housekeeping = tokio::spawn(housekeeping(&parts).run());
    let mode_watcher = ModeWatcher { watch: Arc::clone(&parts.mode), stop: parts.stop.clone() };
    let mode_watcher = tokio::spawn(mode_watcher.run());
    let webhook_worker = tokio::spawn(webhook_worker(&parts).run());
    let api_housekeeping = tokio::spawn(ApiHousekeeping { app, stop: parts.stop.clone() }.run());

    let shutdown = GracefulShutdown {
        lifecycle: parts.lifecycle,
        stop: parts.stop,
        work: parts.detached,
        queue: parts.store,
        metrics: parts.metrics,
        instance: parts.config.payment.instance.clone(),
        limits: parts.config.service.shutdown.clone(),
        quit_http,
    };
    shutdown
        .run(
            signals,
            http,
            vec![worker, housekeeping, mode_watcher, webhook_worker, api_housekeeping],
        )
        .await;
    quit_admin.cancel();
    admin.abort();
    drop(parts.file_lock);
    Ok(())
}

/// With tokens no page of a foreign site has a right to lend.
fn origin_rule(config: &Config) -> OriginRule {
    match (&config.service.tokens, config.service.http_addr.ip().is_loopback()) {
        (Some(_), _) => OriginRule::Any,
        (None, true) => OriginRule::Loopback,
        (None, false) => OriginRule::SameOrigin,
    }
}

/// Operators are few, look on until the process ends, and are not counted among the clients.
fn admin_server(parts: &Parts, router: Router, end: CancellationToken) -> HttpServer {
    HttpServer {
        router,
        limits: ConnectionLimits {
            max: 256,
            per_address: 256,
            ..parts.config.service.limits.connections
        },
        lifecycle: Arc::default(),
        traffic: Arc::new(Uncounted),
        end,
        patience: parts.config.service.shutdown.timeout,
    }
}

async fn build(config: Config, log: Arc<dyn LogControl>) -> anyhow::Result<Parts> {
    let metrics = Arc::new(Metrics::new(BuildInfo::CURRENT));
    let url = config.service.database.url.expose_secret();
    let events = Arc::clone(&metrics) as Arc<dyn AdapterEvents>;
    let Database { store, file_lock } = database::open(&config, events).await?;
    metrics.watch_connections(store.clone());
    let store: Arc<dyn Store> =
        Arc::new(MeteredStore::new(store, Arc::clone(&metrics), storage::system_name(url)?));
    // Whatever this instance's predecessor held when it died is due again at once.
    store.release_leases(&config.payment.instance).await.context("leases cannot be released")?;
    let made_at = storage::payment_systems(url).await.context("the database cannot be reached")?;
    partners::tell_of_absent(&made_at, &config.payment_systems);
    let partners = Partners::connect(&config, &metrics)?;
    let (runs, stop) = (TaskTracker::new(), CancellationToken::new());
    let engine = Arc::new(Engine {
        orders: store.clone(),
        queue: store.clone(),
        gateway: PaymentGateway::new(partners.payments.clone()),
        policy: Arc::new(config.payment.clone()),
        entropy: entropy(),
        events: Arc::clone(&metrics) as Arc<dyn Events>,
        watch: Arc::default(),
        runs: runs.clone(),
    });
    // A process that starts in the middle of a maintenance begins with it.
    let mode = Arc::new(ModeWatch::new(store.clone() as _, Arc::clone(engine.gateway.hold())));
    mode.look().await.context("the service's mode cannot be read")?;
    let probes = probes(&config, &metrics)?;
    let lifecycle = Arc::new(Lifecycle::default());
    let webhooks = webhooks::sender(&config)?;
    let detached = runs;
    Ok(Parts {
        config,
        store,
        file_lock,
        metrics,
        partners,
        engine,
        mode,
        log,
        webhooks,
        probes,
        lifecycle,
        detached,
        stop,
    })
}

fn probes(config: &Config, metrics: &Metrics) -> anyhow::Result<Vec<Arc<dyn SystemHealth>>> {
    let mut probes: Vec<Arc<dyn SystemHealth>> = Vec::new();
    for health in config.health() {
        let probe = HealthProbe::new(ProbeConfig {
            system: health.system,
            url: health.url.clone(),
            transport: health.transport.clone(),
            ttl: health.ttl,
            timeout: health.timeout,
        })?;
        // The first look sends the first probe: who scrapes a moment later finds its finding.
        probe.look();
        metrics.watch_health(Arc::new(probe.clone()));
        probes.push(Arc::new(probe));
    }
    Ok(probes)
}

fn app(parts: &Parts) -> Arc<App> {
    let readiness = Arc::new(Readiness {
        database: parts.store.clone(),
        lifecycle: Arc::clone(&parts.lifecycle),
        systems: parts.partners.controls.clone(),
        probes: parts.probes.clone(),
        traffic: traffic(parts),
        strict: parts.config.service.readiness_external == ReadinessExternal::Strict,
    });
    let services = Services {
        clock: clock(),
        entropy: entropy(),
        events: adapter_events(parts),
        traffic: traffic(parts),
        readiness,
        auth: Auth::new(parts.config.service.tokens.clone()),
        quotas: parts.config.service.limits.quota.map(Quotas::new),
        detached: parts.detached.clone(),
    };
    let limits = &parts.config.service.limits;
    parts.metrics.inflight_limit(limits.max_inflight_requests);
    for documented in api::documented_routes() {
        let api::Documented { method, route, successes } = documented;
        parts.metrics.declare_route(method, &route, &successes);
    }
    let settings = Settings {
        request_timeout: limits.request_timeout,
        max_inflight_requests: limits.max_inflight_requests,
        inflight_concurrency: limits.inflight_concurrency,
        body: limits.body,
        origin: origin_rule(&parts.config),
        allowed_origins: parts.config.service.allowed_origins.clone(),
        return_urls: ReturnUrls {
            hosts: parts.config.return_urls.hosts.clone(),
            loopback_http: parts.config.return_urls.loopback_http,
        },
    };
    App::new(use_cases(parts), services, settings)
}

fn admin_state(parts: &Parts, readiness: Arc<Readiness>) -> Arc<AdminState> {
    let (metrics, store) = (Arc::clone(&parts.metrics), Arc::clone(&parts.store));
    Arc::new(AdminState {
        systems: parts.partners.controls.clone(),
        operate_tasks: OperateTasks { engine: Arc::clone(&parts.engine) },
        detached: parts.detached.clone(),
        metrics: Box::new(move |exposition| {
            let (metrics, store) = (Arc::clone(&metrics), Arc::clone(&store));
            Box::pin(async move {
                metrics.refresh_tasks(store.as_ref()).await;
                match exposition {
                    Exposition::Text => (CONTENT_TYPE, metrics.render()),
                    Exposition::OpenMetrics => (OPENMETRICS, metrics.render_openmetrics()),
                }
            })
        }),
        readiness,
        entropy: entropy(),
        tokens: parts.config.service.admin_tokens.clone(),
        audit: Arc::clone(&parts.store) as _,
        records: Arc::clone(&parts.store) as _,
        mode: Arc::clone(&parts.mode),
        log: Arc::clone(&parts.log),
        build: BuildInfo::CURRENT,
        instance: parts.config.payment.instance.as_str().to_owned(),
    })
}

fn use_cases(parts: &Parts) -> UseCases {
    let store = || Arc::clone(&parts.store);
    let engine = || Arc::clone(&parts.engine);
    let idempotency = Arc::new(Idempotency::new(store(), events(parts)));
    UseCases {
        place_order: PlaceOrder {
            catalog: Arc::clone(&parts.partners.catalog),
            orders: store(),
            idempotency: Arc::clone(&idempotency),
            clock: clock(),
            entropy: entropy(),
            events: events(parts),
            max_price_age: parts.config.max_price_age,
        },
        show_order: ShowOrder { orders: store() },
        list_events: ListEvents { orders: store(), outbox: store() },
        confirm_order: ConfirmOrder { engine: engine(), refused: RecentRefusals::default() },
        cancel_order: CancelOrder { engine: engine() },
        refund_order: RefundOrder { engine: engine(), idempotency },
        poll_task: PollTask { engine: engine() },
        show_product: ShowProduct {
            catalog: Arc::clone(&parts.partners.catalog),
            events: events(parts),
        },
        recommend: Recommend {
            recommendations: Arc::clone(&parts.partners.recommendations),
            events: events(parts),
            only_not_executed: parts.config.recommendations_empty_on == EmptyOn::NotExecuted,
        },
        manage_webhooks: webhooks::manage(&parts.store, &parts.webhooks, entropy()),
        receive_callback: ReceiveCallback { engine: engine(), budget: CallbackBudget::default() },
    }
}
