//! OdnaKassa: JSON over HTTP with idempotency keys that are a promise, so that a repeat serves as a
//! question. One client, one breaker, one semaphore, and what each answer and each silence means.

mod callback;
mod classify;
mod wire;

use crate::adapters::observe::adapter_events::AdapterEvents;
use crate::adapters::outbound::alarm::ConfigAlarm;
use crate::adapters::outbound::http_client::{
    self, BuildError, HttpConfig, PartnerClient, Transport, Url,
};
use crate::adapters::outbound::payment_failure::conclude;
use crate::adapters::resilience::breaker::Breaker;
use crate::adapters::resilience::clock::MonotonicClock;
use crate::adapters::resilience::deadline::CallTimeout;
use crate::adapters::resilience::guards::{GuardConfig, Guards};
use crate::adapters::resilience::observer::Observer;
use crate::adapters::resilience::retry::Retry;
use crate::adapters::resilience::semaphore::Semaphore;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::unavailable::System;
use crate::core::ports::call::Call;
use crate::core::ports::payment::{
    Callback, CallbackError, CancelOrder, Capacity, Finding, PaymentError, PaymentPort, PaymentRef,
    RawCallback, RefundOrder, RegisterOrder, Registered,
};
use classify::{Answer, Failure, Voice};
use http::header::CONTENT_TYPE;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tracing::instrument;
use wire::Refusal;

#[derive(Debug, Clone)]
pub struct OdnaKassaConfig {
    /// Where `v1/payments` is.
    pub base_url: Url,
    pub api_key: SecretString,
    /// All that are valid while one replaces another. Without any, a webhook is an unsigned hint.
    pub webhook_secrets: Vec<SecretString>,
    pub guards: GuardConfig,
    pub transport: Transport,
}

#[derive(Debug)]
pub struct OdnaKassaAdapter {
    base_url: Url,
    api_key: SecretString,
    webhook_secrets: Vec<SecretString>,
    client: PartnerClient,
    breaker: Arc<Breaker>,
    semaphore: Arc<Semaphore>,
    call_timeout: CallTimeout,
    retry: Retry,
    alarm: ConfigAlarm,
}

impl OdnaKassaAdapter {
    /// # Errors
    /// Guards that cannot be, or a client without TLS roots.
    pub fn new(
        config: OdnaKassaConfig,
        clock: MonotonicClock,
        observer: Arc<dyn Observer>,
        events: Arc<dyn AdapterEvents>,
    ) -> Result<Self, BuildError> {
        let system = System::Payment(Provider::OdnaKassa);
        let Guards { breaker, semaphore, call_timeout, retry } =
            Guards::new(system, &config.guards, clock, observer)?;
        let http = HttpConfig::behind(&config.guards, config.base_url.clone(), config.transport);
        let client = http_client::build(&http, Arc::clone(&events))?;
        Ok(Self {
            base_url: config.base_url,
            api_key: config.api_key,
            webhook_secrets: config.webhook_secrets,
            client,
            breaker,
            semaphore,
            call_timeout,
            retry,
            alarm: ConfigAlarm::new(system, events),
        })
    }

    #[must_use]
    pub const fn breaker(&self) -> &Arc<Breaker> {
        &self.breaker
    }

    #[must_use]
    pub const fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }

    /// A call that is not even begun leaves the trace of one that was refused.
    #[instrument(name = "OdnaKassaAdapter.Register", target = "odnakassa-adapter", skip_all, fields(
        external.system = "odnakassa", circuit_breaker.state, otel.status_code, otel.status_description,
    ))]
    fn refuse_at_sight(&self) -> Result<(), PaymentError> {
        self.breaker.check().map_err(|silence| self.conclude(silence.into()))
    }
}

#[async_trait::async_trait]
impl PaymentPort for OdnaKassaAdapter {
    fn provider(&self) -> Provider {
        Provider::OdnaKassa
    }

    fn call_limit(&self) -> Duration {
        self.call_timeout.get()
    }

    fn admits(&self) -> Result<(), PaymentError> {
        if self.breaker.capacity(1).calls > 0 { Ok(()) } else { self.refuse_at_sight() }
    }

    fn capacity(&self) -> Capacity {
        let admitted = self.breaker.capacity(self.semaphore.free());
        Capacity {
            free: admitted.calls,
            limit: self.semaphore.limit(),
            retry_after: admitted.ask_again.unwrap_or(Duration::from_secs(1)),
        }
    }

    /// `refund_id` is unique for each payment, for ever.
    fn deduplicates_refunds(&self) -> bool {
        true
    }

    /// The key is our number: its first outcome is replayed.
    fn repeats_safely(&self) -> bool {
        true
    }

    #[instrument(name = "OdnaKassaAdapter.Register", target = "odnakassa-adapter", skip_all, fields(
        external.system = "odnakassa", deadline.remaining_ms = call.deadline.remaining_ms(),
        circuit_breaker.state, bulkhead.wait_ms, slow_call,
        otel.status_code, otel.status_description,
    ))]
    async fn register(
        &self,
        order: &RegisterOrder,
        call: &Call,
    ) -> Result<Registered, PaymentError> {
        let guarded = async {
            self.breaker.check()?;
            let permit = self.semaphore.acquire(call.deadline).await?;
            let exchange = self.call_timeout.cap(call.deadline, self.post_payment(order, call));
            permit.hold(self.breaker.call("register", exchange)).await
        };
        guarded.await.map_err(|failure| self.conclude(failure))
    }

    #[instrument(name = "OdnaKassaAdapter.PaymentStatus", target = "odnakassa-adapter", skip_all, fields(
        external.system = "odnakassa", deadline.remaining_ms = call.deadline.remaining_ms(),
        circuit_breaker.state, bulkhead.wait_ms, slow_call,
        retry.attempts, otel.status_code, otel.status_description,
    ))]
    async fn payment_status(
        &self,
        payment: &PaymentRef,
        call: &Call,
    ) -> Result<Finding, PaymentError> {
        let attempt = || async {
            self.breaker.check()?;
            let permit = self.semaphore.acquire(call.deadline).await?;
            let query = self.get_finding(&payment.number, call);
            let exchange = self.call_timeout.cap(call.deadline, query);
            if call.background {
                permit.hold(self.breaker.call_in_background("payment_status", exchange)).await
            } else {
                permit.hold(self.breaker.call("payment_status", exchange)).await
            }
        };
        let finding = self.retry.run(call.deadline, attempt).await;
        finding.map_err(|failure| self.conclude(failure))
    }

    #[instrument(name = "OdnaKassaAdapter.Cancel", target = "odnakassa-adapter", skip_all, fields(
        external.system = "odnakassa", deadline.remaining_ms = call.deadline.remaining_ms(),
        circuit_breaker.state, bulkhead.wait_ms, slow_call,
        otel.status_code, otel.status_description,
    ))]
    async fn cancel(&self, order: &CancelOrder, call: &Call) -> Result<(), PaymentError> {
        let guarded = async {
            self.breaker.check()?;
            let permit = self.semaphore.acquire(call.deadline).await?;
            let exchange = self.call_timeout.cap(call.deadline, self.post_cancel(order, call));
            permit.hold(self.breaker.call("cancel", exchange)).await
        };
        guarded.await.map_err(|failure| self.conclude(failure))
    }

    #[instrument(name = "OdnaKassaAdapter.Refund", target = "odnakassa-adapter", skip_all, fields(
        external.system = "odnakassa", deadline.remaining_ms = call.deadline.remaining_ms(),
        circuit_breaker.state, bulkhead.wait_ms, slow_call,
        otel.status_code, otel.status_description,
    ))]
    async fn refund(&self, refund: &RefundOrder, call: &Call) -> Result<(), PaymentError> {
        let guarded = async {
            self.breaker.check()?;
            let permit = self.semaphore.acquire(call.deadline).await?;
            let exchange = self.call_timeout.cap(call.deadline, self.post_refund(refund, call));
            permit.hold(self.breaker.call("refund", exchange)).await
        };
        guarded.await.map_err(|failure| self.conclude(failure))
    }

    fn read_callback(&self, raw: &RawCallback<'_>) -> Result<Callback, CallbackError> {
        callback::read(raw, &self.webhook_secrets)
    }
}

/// The exchanges behind the guards.
impl OdnaKassaAdapter {
    async fn post_payment(
        &self,
        order: &RegisterOrder,
        call: &Call,
    ) -> Result<Registered, Failure> {
        let body = wire::create(order).ok_or_else(classify::amount_refused)?;
        let key = order.number.as_str();
        let answer = self.post("v1/payments", key, &body, call).await?;
        classify::registration(answer, order)
    }

    /// Always by our number: it is what we know for certain, and what the core compares.
    async fn get_finding(&self, number: &ProviderNumber, call: &Call) -> Result<Finding, Failure> {
        let path = format!("v1/payments?order_id={number}");
        classify::finding(self.exchange(&path, None, call).await?)
    }

    /// Also releases what is on hold.
    async fn post_cancel(&self, order: &CancelOrder, call: &Call) -> Result<(), Failure> {
        let id = self.id_of(&order.payment, call).await?;
        let path = format!("v1/payments/{id}/cancel");
        classify::change(self.post(&path, &order.cancel_id, &wire::nothing(), call).await?)
    }

    async fn post_refund(&self, refund: &RefundOrder, call: &Call) -> Result<(), Failure> {
        let body = wire::refund(refund).ok_or_else(classify::amount_refused)?;
        let id = self.id_of(&refund.payment, call).await?;
        let path = format!("v1/payments/{id}/refunds");
        classify::change(self.post(&path, &refund.refund_id, &body, call).await?)
    }

    /// Changes go by OdnaKassa's own id; when it was never told, it is asked for.
    async fn id_of(&self, payment: &PaymentRef, call: &Call) -> Result<String, Failure> {
        match &payment.external_id {
            Some(id) => Ok(id.clone()),
            None => classify::known_id(self.get_finding(&payment.number, call).await?),
        }
    }

    async fn post(
        &self,
        path: &str,
        key: &str,
        body: &Value,
        call: &Call,
    ) -> Result<Answer, Failure> {
        self.exchange(path, Some((key, body)), call).await
    }

    /// One exchange, a write under its key.
    async fn exchange(
        &self,
        path: &str,
        write: Option<(&str, &Value)>,
        call: &Call,
    ) -> Result<Answer, Failure> {
        let url = format!("{}{path}", self.base_url);
        let request = match write {
            Some((key, body)) => self
                .client
                .post(url)
                .header("Idempotency-Key", key)
                .header(CONTENT_TYPE, "application/json")
                .body(body.to_string()),
            None => self.client.get(url),
        };
        let request = request.bearer_auth(self.api_key.expose_secret());
        let reply = self.client.send(request, call.trace.as_ref()).await?;
        let status = reply.status;
        let voice = classify::exchange(status, reply.retry_after)?;
        let body = reply.body().await?;
        match voice {
            Voice::Success => Ok(Answer::Success(body)),
            Voice::Refusal => {
                let refusal = Refusal::parse(&body);
                match refusal.code.as_deref() {
                    Some(classify::KEY_REUSED) => self.alarm.raise(classify::KEY_REUSED),
                    None if classify::locked_out(status) => self.alarm.raise(status.as_str()),
                    Some(_) | None => {}
                }
                Ok(Answer::Refusal(status, refusal))
            }
        }
    }

    fn conclude(&self, failure: Failure) -> PaymentError {
        conclude(Provider::OdnaKassa, &self.alarm, failure)
    }
}
