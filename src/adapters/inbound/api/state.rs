//! What the public routes are served from: the use cases, a few ports, and the limits.

use crate::adapters::inbound::api::auth::Auth;
use crate::adapters::inbound::api::quota::Quotas;
use crate::adapters::inbound::api::return_url::ReturnUrls;
use crate::adapters::inbound::http_kit::health::Readiness;
use crate::adapters::inbound::http_kit::incoming::BodyLimits;
use crate::adapters::inbound::http_kit::origin::OriginRule;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::observe::adapter_events::AdapterEvents;
use crate::adapters::observe::traffic::Traffic;
use crate::adapters::resilience::settings::Concurrency;
use crate::core::ports::clock::{Clock, Entropy};
use crate::core::use_cases::cancel_order::CancelOrder;
use crate::core::use_cases::confirm_order::ConfirmOrder;
use crate::core::use_cases::list_events::ListEvents;
use crate::core::use_cases::manage_webhooks::ManageWebhooks;
use crate::core::use_cases::place_order::PlaceOrder;
use crate::core::use_cases::poll_task::PollTask;
use crate::core::use_cases::receive_callback::ReceiveCallback;
use crate::core::use_cases::recommend::Recommend;
use crate::core::use_cases::refund_order::RefundOrder;
use crate::core::use_cases::show_order::ShowOrder;
use crate::core::use_cases::show_product::ShowProduct;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// What can be done.
#[derive(Debug)]
pub struct UseCases {
    pub place_order: PlaceOrder,
    pub show_order: ShowOrder,
    pub list_events: ListEvents,
    pub confirm_order: ConfirmOrder,
    pub cancel_order: CancelOrder,
    pub refund_order: RefundOrder,
    pub poll_task: PollTask,
    pub show_product: ShowProduct,
    pub recommend: Recommend,
    pub receive_callback: ReceiveCallback,
    pub manage_webhooks: ManageWebhooks,
}

/// What the routes need beside the use cases.
#[derive(Debug)]
pub struct Services {
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub events: Arc<dyn AdapterEvents>,
    pub traffic: Arc<dyn Traffic>,
    pub readiness: Arc<Readiness>,
    pub auth: Auth,
    /// `None`: everybody may ask as often as there is place.
    pub quotas: Option<Quotas>,
    /// Work that outlives its request; shutdown waits for it.
    pub detached: TaskTracker,
}

#[derive(Debug, Clone)]
pub struct Settings {
    pub request_timeout: Duration,
    pub max_inflight_requests: usize,
    pub inflight_concurrency: Concurrency,
    pub body: BodyLimits,
    pub origin: OriginRule,
    /// `CORS_ALLOWED_ORIGINS`: pages of other sites that may call.
    pub allowed_origins: Vec<String>,
    pub return_urls: ReturnUrls,
}

#[derive(Debug)]
pub struct App {
    pub use_cases: UseCases,
    pub services: Services,
    pub settings: Settings,
}

impl App {
    pub fn new(use_cases: UseCases, services: Services, settings: Settings) -> Arc<Self> {
        Arc::new(Self { use_cases, services, settings })
    }

    /// Runs work to its end even if the client hangs up, and waits for its outcome.
    ///
    /// # Errors
    /// `internal` when the work panicked.
    pub async fn detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Problem> {
        let run = self.services.detached.spawn(work.in_current_span());
        run.await.map_err(|_| Problem::internal("detached work panicked"))
    }
}
