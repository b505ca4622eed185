//! A service in one piece, without sockets, and what clients do with it.

use crate::fakes::{
    Behaviour, Catalog, CountingEntropy, FakeGuards, FlakyStore, Recommender, RecordingProvider,
    RecordingReceiver, RecordingTraffic, TickingClock,
};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use order_service::adapters::inbound::api::auth::Auth;
use order_service::adapters::inbound::api::quota::{QuotaConfig, Quotas};
use order_service::adapters::inbound::api::{self, App, ReturnUrls, Services, Settings, UseCases};
use order_service::adapters::inbound::http_kit::health::Readiness;
use order_service::adapters::inbound::http_kit::incoming::BodyLimits;
use order_service::adapters::inbound::http_kit::lifecycle::Lifecycle;
use order_service::adapters::inbound::http_kit::origin::OriginRule;
use order_service::adapters::observe::adapter_events::Untold;
use order_service::adapters::resilience::settings::Concurrency;
use order_service::core::domain::ids::{InstanceId, OrderId};
use order_service::core::domain::order::OrderStatus;
use order_service::core::domain::provider::{Preference, Provider};
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::domain::unavailable::System;
use order_service::core::domain::webhook::schedule::WebhookSchedule;
use order_service::core::engine::Engine;
use order_service::core::engine::gateway::PaymentGateway;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::policy::{CancelPaid, PaymentPolicy};
use order_service::core::payment::registration::RegistrationState;
use order_service::core::payment::task::TaskState;
use order_service::core::ports::clock::{Clock, Entropy};
use order_service::core::ports::events::{Events, Unheard};
use order_service::core::ports::order_repository::{
    LoadOptions, OrderRepository, SideWrites, TxContext, decide,
};
use order_service::core::ports::payment::PaymentPort;
use order_service::core::use_cases::cancel_order::CancelOrder;
use order_service::core::use_cases::confirm_order::{ConfirmOrder, RecentRefusals};
use order_service::core::use_cases::deliver_webhooks::DeliverWebhooks;
use order_service::core::use_cases::idempotency::Idempotency;
use order_service::core::use_cases::list_events::ListEvents;
use order_service::core::use_cases::manage_webhooks::ManageWebhooks;
use order_service::core::use_cases::place_order::PlaceOrder;
use order_service::core::use_cases::poll_task::PollTask;
use order_service::core::use_cases::receive_callback::CallbackBudget;
use order_service::core::use_cases::receive_callback::ReceiveCallback;
use order_service::core::use_cases::recommend::Recommend;
use order_service::core::use_cases::refund_order::RefundOrder;
use order_service::core::use_cases::show_order::ShowOrder;
use order_service::core::use_cases::show_product::ShowProduct;
use serde_json::{Value, json};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

pub struct Harness {
    pub router: Router,
    pub app: Arc<App>,
    pub store: Arc<FlakyStore>,
    pub catalog: Arc<Catalog>,
    pub recommender: Arc<Recommender>,
    pub providers: [Arc<RecordingProvider>; Provider::ALL.len()],
    pub sber: Arc<RecordingProvider>,
    pub odnakassa: Arc<RecordingProvider>,
    pub guards: Vec<Arc<FakeGuards>>,
    pub traffic: Arc<RecordingTraffic>,
    pub lifecycle: Arc<Lifecycle>,
    pub readiness: Arc<Readiness>,
    pub engine: Arc<Engine>,
    pub receiver: Arc<RecordingReceiver>,
    pub clock: Arc<TickingClock>,
}

/// What a test may want otherwise.
#[derive(Clone, Copy)]
pub struct Options {
    pub queueing: bool,
    pub strict: bool,
    pub max_inflight: usize,
    pub body_timeout: Duration,
    /// Requests of one client: in a second, and at once. 0: any number.
    pub quota: [u32; 2],
    /// The page that may call from a browser.
    pub allowed_origin: Option<&'static str>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            queueing: true,
            strict: false,
            max_inflight: 64,
            body_timeout: Duration::from_secs(5),
            quota: [0, 0],
            allowed_origin: None,
        }
    }
}

pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
    pub json: Value,
}

impl Reply {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub fn code(&self) -> &str {
        self.json["code"].as_str().unwrap_or_default()
    }

    /// Where the violations are.
    pub fn pointers(&self) -> Vec<&str> {
        let errors = self.json["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        errors.iter().map(|error| error["pointer"].as_str().unwrap()).collect()
    }
}

pub fn one_item() -> Value {
    json!({"customer_id": "c-1", "items": [{"product_id": "p-1", "quantity": 2}]})
}

impl Harness {
    pub fn open() -> Self {
        Self::with(Options::default())
    }

    pub fn with(options: Options) -> Self {
        Self::guarded(options, Auth::Open)
    }

    /// A service that asks who comes.
    pub fn guarded(options: Options, auth: Auth) -> Self {
        let ticking = Arc::<TickingClock>::default();
        let clock: Arc<dyn Clock> = ticking.clone();
        let entropy: Arc<dyn Entropy> = Arc::new(CountingEntropy::default());
        let store = Arc::new(FlakyStore::new(Arc::clone(&clock)));
        let (catalog, recommender) = (Arc::<Catalog>::default(), Arc::<Recommender>::default());
        let providers = Provider::ALL.map(|provider| Arc::new(RecordingProvider::new(provider)));
        let [sber, odnakassa] = [Provider::Sber, Provider::OdnaKassa].map(|p| of(&providers, p));
        let guards: Vec<_> =
            System::ALL.into_iter().map(|system| Arc::new(FakeGuards::new(system))).collect();
        let traffic = Arc::<RecordingTraffic>::default();
        let lifecycle = Arc::<Lifecycle>::default();
        let readiness = Arc::new(Readiness {
            database: store.clone(),
            lifecycle: lifecycle.clone(),
            systems: guards.iter().map(|guards| guards.clone() as _).collect(),
            probes: Vec::new(),
            traffic: traffic.clone(),
            strict: options.strict,
        });
        let events = Arc::new(Unheard);
        let outside = Outside { store: store.clone(), clock, entropy, events };
        let partners = Partners {
            catalog: catalog.clone(),
            recommender: recommender.clone(),
            payments: providers.clone().map(|fake| fake as Arc<dyn PaymentPort>).to_vec(),
        };
        let receiver = Arc::<RecordingReceiver>::default();
        let (use_cases, engine) = use_cases(&outside, partners, &receiver, options);
        let Outside { clock, entropy, .. } = outside;
        let services = Services {
            clock,
            entropy,
            events: Arc::new(Untold),
            traffic: traffic.clone(),
            readiness: readiness.clone(),
            auth,
            quotas: quotas(options),
            detached: TaskTracker::new(),
        };
        let app = App::new(use_cases, services, settings(options));
        let router = api::router(&app);
        Self {
            router,
            app,
            store,
            receiver,
            catalog,
            recommender,
            providers,
            sber,
            odnakassa,
            guards,
            traffic,
            lifecycle,
            readiness,
            engine,
            clock: ticking,
        }
    }

    pub fn every_provider_behaves(&self, behaviour: Behaviour) {
        self.providers.iter().for_each(|fake| fake.behave(behaviour));
    }

    pub async fn send(&self, request: Request<Body>) -> Reply {
        send(&self.router, request).await
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send(request("GET", path, &[], None)).await
    }

    pub async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        self.send(request("GET", path, headers, None)).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Reply {
        self.send(request("PATCH", path, &[], Some(body))).await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        self.send(request("DELETE", path, &[], None)).await
    }

    /// Brings whatever is due.
    pub async fn deliver_webhooks(&self) {
        self.deliver_webhooks_by(&[5, 60]).await;
    }

    /// Brings whatever is due, with these pauses in seconds between attempts.
    pub async fn deliver_webhooks_by(&self, pauses: &[u64]) {
        let pauses = pauses.iter().copied().map(Duration::from_secs).collect();
        let deliver = DeliverWebhooks {
            queue: self.store.store.clone(),
            outbox: self.store.clone(),
            orders: self.store.clone(),
            sender: self.receiver.clone(),
            schedule: WebhookSchedule::new(pauses).unwrap(),
            at_a_time: 4,
            timeout: Duration::from_secs(10),
            body: api::event_json,
            entropy: self.engine.entropy.clone(),
            events: Arc::new(Unheard),
        };
        for held in deliver.claim(10).await.unwrap() {
            deliver.serve(held, &CancellationToken::new()).await.unwrap();
        }
    }

    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.post_with(path, body, &[]).await
    }

    pub async fn post_with(&self, path: &str, body: &Value, headers: &[(&str, &str)]) -> Reply {
        self.send(request("POST", path, headers, Some(body))).await
    }

    /// POST without a body.
    pub async fn act(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        self.send(request("POST", path, headers, None)).await
    }

    /// The id of a new order.
    pub async fn order(&self) -> String {
        let placed = self.post("/v1/orders", &one_item()).await;
        assert_eq!(placed.status, 201, "{}", placed.json);
        placed.json["id"].as_str().unwrap().to_owned()
    }

    pub async fn confirm(&self, id: &str) -> Reply {
        self.act(&format!("/v1/orders/{id}/confirm"), &[]).await
    }

    /// An order whose payer has paid, and we know it.
    pub async fn paid_order(&self) -> String {
        let id = self.order().await;
        assert_eq!(self.confirm(&id).await.status, 200);
        self.change(&id, |aggregate, now| {
            aggregate.order.status = OrderStatus::Paid;
            aggregate.registrations[0].state = RegistrationState::Paid;
            aggregate.registrations[0].paid_at = Some(now);
            for task in &mut aggregate.tasks {
                task.state = TaskState::Succeeded;
            }
        })
        .await;
        id
    }

    /// What a worker would do now.
    pub async fn work(&self) {
        for lane in Provider::ALL.map(Some).into_iter().chain([None]) {
            for claimed in self.engine.claim(lane, 10).await.unwrap() {
                self.engine.run_claimed(claimed).await.unwrap();
            }
        }
    }

    /// Something happens to an order behind the API's back.
    pub async fn change(&self, id: &str, change: fn(&mut OrderAggregate, Timestamp)) {
        let store: &dyn OrderRepository = &*self.store;
        let change = move |aggregate: &mut OrderAggregate, context: &TxContext| {
            change(aggregate, context.now);
            ((), SideWrites::default())
        };
        let id = OrderId::parse(id).unwrap();
        decide(store, id, LoadOptions::Aggregate, change).await.unwrap().unwrap();
    }
}

pub async fn send(router: &Router, request: Request<Body>) -> Reply {
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes().to_vec();
    let json = serde_json::from_slice(&bytes).unwrap_or_default();
    Reply { status: parts.status, headers: parts.headers, bytes, json }
}

pub fn request(
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    match body {
        Some(body) => {
            let request = request.header("content-type", "application/json");
            request.body(Body::from(body.to_string())).unwrap()
        }
        None => request.body(Body::empty()).unwrap(),
    }
}

struct Outside {
    store: Arc<FlakyStore>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    events: Arc<dyn Events>,
}

struct Partners {
    catalog: Arc<Catalog>,
    recommender: Arc<Recommender>,
    payments: Vec<Arc<dyn PaymentPort>>,
}

fn use_cases(
    outside: &Outside,
    partners: Partners,
    receiver: &Arc<RecordingReceiver>,
    options: Options,
) -> (UseCases, Arc<Engine>) {
    let Outside { store, clock, entropy, events } = outside;
    let engine = Arc::new(Engine {
        orders: store.clone(),
        queue: store.clone(),
        gateway: PaymentGateway::new(partners.payments),
        policy: Arc::new(policy(options)),
        entropy: entropy.clone(),
        events: events.clone(),
        watch: Arc::default(),
        runs: TaskTracker::new(),
    });
    let idempotency = Arc::new(Idempotency::new(store.clone(), events.clone()));
    let use_cases = UseCases {
        place_order: PlaceOrder {
            catalog: partners.catalog.clone(),
            orders: store.clone(),
            idempotency: idempotency.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
            events: events.clone(),
            max_price_age: Duration::from_secs(600),
        },
        show_order: ShowOrder { orders: store.clone() },
        list_events: ListEvents { orders: store.clone(), outbox: store.clone() },
        confirm_order: ConfirmOrder { engine: engine.clone(), refused: RecentRefusals::default() },
        cancel_order: CancelOrder { engine: engine.clone() },
        refund_order: RefundOrder { engine: engine.clone(), idempotency },
        poll_task: PollTask { engine: engine.clone() },
        show_product: ShowProduct { catalog: partners.catalog, events: events.clone() },
        recommend: Recommend {
            recommendations: partners.recommender,
            events: events.clone(),
            only_not_executed: true,
        },
        manage_webhooks: ManageWebhooks {
            endpoints: store.store.clone(),
            orders: store.clone(),
            sender: receiver.clone(),
            entropy: entropy.clone(),
        },
        receive_callback: ReceiveCallback {
            engine: engine.clone(),
            budget: CallbackBudget::default(),
        },
    };
    (use_cases, engine)
}

fn policy(options: Options) -> PaymentPolicy {
    PaymentPolicy {
        providers: Preference::new(Provider::ALL).unwrap(),
        return_url: "https://shop.example/paid".to_owned(),
        queueing: options.queueing,
        unknown_grace: Duration::from_secs(60),
        poll_interval: Duration::from_secs(30),
        looks_after_payment: vec![Duration::from_secs(3_600)],
        failover_on_rejected: false,
        cancel_paid: CancelPaid::Refund,
        number_prefix: String::new(),
        sync_wait: Duration::from_secs(10),
        queue_max: 100,
        lease: Duration::from_secs(60),
        backoff: Duration::from_secs(1),
        backoff_max: Duration::from_secs(60),
        max_age: Duration::from_secs(86_400),
        instance: InstanceId::new("test"),
    }
}

fn quotas(options: Options) -> Option<Quotas> {
    let [per_second, burst] = options.quota.map(NonZeroU32::new);
    let quota = per_second.zip(burst);
    quota.map(|(per_second, burst)| Quotas::new(QuotaConfig { per_second, burst }))
}

fn settings(options: Options) -> Settings {
    Settings {
        request_timeout: Duration::from_secs(20),
        max_inflight_requests: options.max_inflight,
        inflight_concurrency: Concurrency::Fixed,
        body: BodyLimits { max_bytes: 4_096, timeout: options.body_timeout },
        origin: OriginRule::Loopback,
        allowed_origins: options.allowed_origin.map(str::to_owned).into_iter().collect(),
        return_urls: ReturnUrls { hosts: vec!["shop.example".to_owned()], loopback_http: false },
    }
}

fn of(fakes: &[Arc<RecordingProvider>], provider: Provider) -> Arc<RecordingProvider> {
    Arc::clone(fakes.iter().find(|fake| fake.provider == provider).unwrap())
}
