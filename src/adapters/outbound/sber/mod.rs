//! Sber's internet acquiring: one adapter for both generations of the gateway. It has one client,
//! one breaker, one semaphore, and says what each answer, and each silence, means for an order.

mod basket;
mod callback;
mod classify;
mod config;
mod decline;
mod fields;
mod sums;
mod wire;

pub use config::{CallbackKey, Credentials, Protocol, SberConfig};

use crate::adapters::observe::adapter_events::AdapterEvents;
use crate::adapters::outbound::alarm::ConfigAlarm;
use crate::adapters::outbound::http_client::{self, BuildError, HttpConfig, PartnerClient, Url};
use crate::adapters::outbound::payment_failure::conclude;
use crate::adapters::resilience::breaker::Breaker;
use crate::adapters::resilience::clock::MonotonicClock;
use crate::adapters::resilience::deadline::CallTimeout;
use crate::adapters::resilience::guards::Guards;
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
use classify::{Failure, Voice};
use fields::Fields;
use http::header::CONTENT_TYPE;
use std::sync::Arc;
use std::time::Duration;
use tracing::instrument;
use wire::BankReply;

#[derive(Debug)]
pub struct SberAdapter {
    base_url: Url,
    protocol: Protocol,
    credentials: Credentials,
    callback_key: Option<CallbackKey>,
    client: PartnerClient,
    breaker: Arc<Breaker>,
    semaphore: Arc<Semaphore>,
    call_timeout: CallTimeout,
    retry: Retry,
    alarm: ConfigAlarm,
}

impl SberAdapter {
    /// # Errors
    /// Guards that cannot be, or a client without TLS roots.
    pub fn new(
        config: SberConfig,
        clock: MonotonicClock,
        observer: Arc<dyn Observer>,
        events: Arc<dyn AdapterEvents>,
    ) -> Result<Self, BuildError> {
        let system = System::Payment(Provider::Sber);
        let Guards { breaker, semaphore, call_timeout, retry } =
            Guards::new(system, &config.guards, clock, observer)?;
        let http = HttpConfig::behind(&config.guards, config.base_url.clone(), config.transport);
        let client = http_client::build(&http, Arc::clone(&events))?;
        Ok(Self {
            base_url: config.base_url,
            protocol: config.protocol,
            credentials: config.credentials,
            callback_key: config.callback_key,
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
    #[instrument(name = "SberAdapter.Register", target = "sber-adapter", skip_all, fields(
        external.system = "sber", circuit_breaker.state, otel.status_code, otel.status_description,
    ))]
    fn refuse_at_sight(&self) -> Result<(), PaymentError> {
        self.breaker.check().map_err(|silence| self.conclude(silence.into()))
    }
}

#[async_trait::async_trait]
impl PaymentPort for SberAdapter {
    fn provider(&self) -> Provider {
        Provider::Sber
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

    /// The classic protocol has no key for refunds: each request that is taken gives money back.
    fn deduplicates_refunds(&self) -> bool {
        self.protocol == Protocol::Json
    }

    /// A repeated number is answered with code 1, without the form.
    fn repeats_safely(&self) -> bool {
        false
    }

    #[instrument(name = "SberAdapter.Register", target = "sber-adapter", skip_all, fields(
        external.system = "sber", deadline.remaining_ms = call.deadline.remaining_ms(),
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
            let exchange = self.call_timeout.cap(call.deadline, self.post_register(order, call));
            permit.hold(self.breaker.call("register", exchange)).await
        };
        guarded.await.map_err(|failure| self.conclude(failure))
    }

    #[instrument(name = "SberAdapter.PaymentStatus", target = "sber-adapter", skip_all, fields(
        external.system = "sber", deadline.remaining_ms = call.deadline.remaining_ms(),
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
            let query = self.post_query(&payment.number, call);
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

    #[instrument(name = "SberAdapter.Cancel", target = "sber-adapter", skip_all, fields(
        external.system = "sber", deadline.remaining_ms = call.deadline.remaining_ms(),
        circuit_breaker.state, bulkhead.wait_ms, slow_call,
        otel.status_code, otel.status_description,
    ))]
    async fn cancel(&self, order: &CancelOrder, call: &Call) -> Result<(), PaymentError> {
        let guarded = async {
            self.breaker.check()?;
            let permit = self.semaphore.acquire(call.deadline).await?;
            let exchange =
                self.call_timeout.cap(call.deadline, self.post_cancel(&order.payment, call));
            permit.hold(self.breaker.call("cancel", exchange)).await
        };
        guarded.await.map_err(|failure| self.conclude(failure))
    }

    #[instrument(name = "SberAdapter.Refund", target = "sber-adapter", skip_all, fields(
        external.system = "sber", deadline.remaining_ms = call.deadline.remaining_ms(),
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
        callback::read(raw, self.callback_key.as_ref())
    }
}

/// The exchanges behind the guards.
impl SberAdapter {
    async fn post_register(
        &self,
        order: &RegisterOrder,
        call: &Call,
    ) -> Result<Registered, Failure> {
        let fields = wire::register(self.protocol, order).ok_or_else(classify::not_in_roubles)?;
        let reply = self.post("register.do", fields, order.number.as_str(), call).await?;
        if classify::needs_a_look(self.protocol, &reply) {
            let look = self.post_query(&order.number, call).await;
            return Err(classify::refusal_after(look));
        }
        classify::registration(self.protocol, &reply)
    }

    /// Always by our number: it is what we know for certain, and what the core compares.
    async fn post_query(&self, number: &ProviderNumber, call: &Call) -> Result<Finding, Failure> {
        let fields = wire::by_number(number);
        let reply = self.post("getOrderStatusExtended.do", fields, "", call).await?;
        classify::query(self.protocol, &reply)
    }

    /// A decline is for what nobody has begun to pay. Where the order's state forbids it, money may be on
    /// hold: that is reversed.
    async fn post_cancel(&self, payment: &PaymentRef, call: &Call) -> Result<(), Failure> {
        let reply = self.post("decline.do", wire::by_number(&payment.number), "", call).await?;
        let declined = classify::change(self.protocol, &reply);
        if !classify::may_be_held(self.protocol, &reply) {
            return declined;
        }
        let look = self.post_query(&payment.number, call).await;
        let held = look.ok().and_then(|found| classify::held_id(found, payment));
        let Some(held) = held else { return declined };
        let reply = self.post("reverse.do", wire::by_id(&held), "", call).await?;
        classify::change(self.protocol, &reply)
    }

    async fn post_refund(&self, refund: &RefundOrder, call: &Call) -> Result<(), Failure> {
        let order_id = match &refund.payment.external_id {
            Some(id) => id.clone(),
            None => classify::known_id(self.post_query(&refund.payment.number, call).await?)?,
        };
        let fields = wire::refund(self.protocol, &order_id, refund.amount, &refund.refund_id)
            .ok_or_else(classify::not_in_roubles)?;
        let reply = self.post("refund.do", fields, &refund.refund_id, call).await?;
        classify::change(self.protocol, &reply)
    }

    /// One exchange. `key` goes along where the generation knows such a header; the bank calls it
    /// "under development", so nothing relies on it.
    async fn post(
        &self,
        method: &str,
        fields: Fields,
        key: &str,
        call: &Call,
    ) -> Result<BankReply, Failure> {
        let mut request = self
            .client
            .post(format!("{}{method}", self.base_url))
            .header(CONTENT_TYPE, self.protocol.content_type())
            .body(self.protocol.encode(&self.credentials, fields));
        if self.protocol == Protocol::Json && !key.is_empty() {
            request = request.header("x-idempotencyKey", key);
        }
        let reply = self.client.send(request, call.trace.as_ref()).await?;
        if classify::locked_out(reply.status) {
            self.alarm.raise(reply.status.as_str());
        }
        let voice = classify::exchange(reply.status, reply.retry_after)?;
        let body = BankReply::parse(&reply.body().await?);
        match voice {
            Voice::Bank => body.ok_or_else(classify::unreadable),
            Voice::Doubtful => classify::doubtful(body),
        }
    }

    fn conclude(&self, failure: Failure) -> PaymentError {
        conclude(Provider::Sber, &self.alarm, failure)
    }
}
