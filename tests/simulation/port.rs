//! A payment system as the core sees it: the guards of production in the order of production, before
//! the simulated wire. What the guards promise is watched here.

use super::bank::{Kind, Payment, place};
use super::coverage::{self, Word};
use super::instance::Life;
use super::wire::{Answer, Failure, Request, exchange, refused};
use super::world::World;
use order_service::adapters::resilience::breaker::{Breaker, BreakerState};
use order_service::adapters::resilience::clock::MonotonicClock;
use order_service::adapters::resilience::deadline::CallTimeout;
use order_service::adapters::resilience::observer::{Observer, Silent};
use order_service::adapters::resilience::retry::Retry;
use order_service::adapters::resilience::semaphore::Semaphore;
use order_service::adapters::resilience::verdict::Failed;
use order_service::core::domain::provider::{Provider, ProviderNumber};
use order_service::core::domain::unavailable::{System, Unknown};
use order_service::core::ports::call::Call;
use order_service::core::ports::payment::{
    Callback, CallbackError, CancelOrder, Capacity, Finding, PaymentError, PaymentPort, PaymentRef,
    RawCallback, RefundOrder, RegisterOrder, Registered,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Debug)]
pub struct SimPort {
    breaker: Arc<Breaker>,
    semaphore: Semaphore,
    call_timeout: CallTimeout,
    retry: Retry,
    line: Line,
}

/// One instance's connection to one provider.
#[derive(Debug)]
pub struct Line {
    pub provider: Provider,
    pub life: Arc<Life>,
    world: Arc<World>,
    breaker: Arc<Breaker>,
    limit: Duration,
    in_flight: Arc<AtomicUsize>,
}

/// A call in flight.
pub struct Flight(Arc<AtomicUsize>);

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Line {
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// I7: no more calls at a time than the guards allow, and none while the breaker is open.
    pub fn take_off(&self) -> Flight {
        let flying = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        let most = usize::try_from(self.world.plan.bulkhead.max_concurrent).unwrap_or(usize::MAX);
        if flying > most {
            let what = format!("{flying} calls of {} at {}", self.life.name, self.provider);
            self.world.chronicle.violated("I7 calls at a time", what);
        }
        if self.breaker.state() == BreakerState::Open {
            let what = format!("{} calls {}", self.life.name, self.provider);
            self.world.chronicle.violated("I7 no call while the breaker is open", what);
        }
        Flight(Arc::clone(&self.in_flight))
    }
}

impl SimPort {
    pub fn new(world: &Arc<World>, life: &Arc<Life>, provider: Provider) -> Self {
        let system = System::Payment(provider);
        let observer: Arc<dyn Observer> = Arc::new(Silent);
        let (clock, plan) = (MonotonicClock::tokio(), &world.plan);
        let breaker = Breaker::new(system, &plan.breaker, clock.clone(), Arc::clone(&observer));
        let breaker = Arc::new(breaker.expect("the plan draws what is allowed"));
        let semaphore = Semaphore::new(system, &plan.bulkhead, clock, Arc::clone(&observer));
        let semaphore = semaphore.expect("the plan draws what is allowed");
        let limit = plan.call_limit[place(provider)];
        let line = Line {
            provider,
            life: Arc::clone(life),
            world: Arc::clone(world),
            breaker: Arc::clone(&breaker),
            limit,
            in_flight: Arc::default(),
        };
        Self {
            semaphore: semaphore.reporting_to(Arc::clone(&breaker)),
            breaker,
            call_timeout: CallTimeout::new(limit),
            retry: Retry::new(system, plan.retry.clone(), observer).expect("allowed as well"),
            line,
        }
    }

    pub fn world(&self) -> &World {
        self.line.world()
    }

    fn begins(&self, number: &ProviderNumber, verb: Word) {
        let (world, life) = (self.world(), &self.line.life.name);
        world.coverage.calls(world, life, number.as_str(), verb);
    }

    fn ends(&self, number: &ProviderNumber, word: Word) {
        let (world, life) = (self.world(), &self.line.life.name);
        world.coverage.hears(world, life, (self.line.provider, number.as_str()), word);
    }

    async fn ask(&self, request: Request) -> Result<Answer, Failure> {
        exchange(&self.line, request).await
    }

    async fn guarded<T>(
        &self,
        call: &Call,
        operation: &'static str,
        exchange: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        self.breaker.check()?;
        let permit = self.semaphore.acquire(call.deadline).await?;
        let exchange = self.call_timeout.cap(call.deadline, exchange);
        if call.background {
            permit.hold(self.breaker.call_in_background(operation, exchange)).await
        } else {
            permit.hold(self.breaker.call(operation, exchange)).await
        }
    }

    async fn post_register(&self, order: &RegisterOrder) -> Result<Registered, Failure> {
        let number = order.number.as_str().to_owned();
        match self.ask(Request::Register { number, amount: order.amount }).await? {
            Answer::Registered { external_id, form_url, expires_at } => {
                Ok(Registered { external_id, form_url, expires_at: Some(expires_at) })
            }
            Answer::Duplicate => Err(Failed::Answered(PaymentError::Duplicate)),
            Answer::Refused(concerns) => Err(refused(concerns)),
            Answer::Found(_) | Answer::NotFound | Answer::Taken => Err(Unknown::Unreadable.into()),
        }
    }

    async fn post_query(&self, number: &ProviderNumber) -> Result<Finding, Failure> {
        match self.ask(Request::Query { number: number.as_str().to_owned() }).await? {
            Answer::Found(report) => Ok(Finding::Found(report)),
            Answer::NotFound => Ok(Finding::NotFound),
            Answer::Refused(concerns) => Err(refused(concerns)),
            Answer::Registered { .. } | Answer::Duplicate | Answer::Taken => {
                Err(Unknown::Unreadable.into())
            }
        }
    }

    async fn post_change(&self, request: Request) -> Result<(), Failure> {
        match self.ask(request).await? {
            Answer::Taken => Ok(()),
            Answer::Refused(concerns) => Err(refused(concerns)),
            Answer::Registered { .. } | Answer::Duplicate | Answer::Found(_) | Answer::NotFound => {
                Err(Unknown::Unreadable.into())
            }
        }
    }

    fn told(&self, failure: Failure) -> PaymentError {
        match failure {
            Failed::NoAnswer(no_answer) => {
                PaymentError::without_answer(self.breaker.system(), no_answer)
            }
            Failed::Answered(error) => error,
        }
    }
}

#[async_trait::async_trait]
impl PaymentPort for SimPort {
    fn provider(&self) -> Provider {
        self.line.provider
    }

    fn call_limit(&self) -> Duration {
        self.call_timeout.get()
    }

    fn capacity(&self) -> Capacity {
        let admitted = self.breaker.capacity(self.semaphore.free());
        Capacity {
            free: admitted.calls,
            limit: self.semaphore.limit(),
            retry_after: admitted.ask_again.unwrap_or(Duration::from_secs(1)),
        }
    }

    fn admits(&self) -> Result<(), PaymentError> {
        let refusal = |silence| PaymentError::without_answer(self.breaker.system(), silence);
        self.breaker.check().map_err(refusal)
    }

    fn repeats_safely(&self) -> bool {
        Kind::of(self.line.provider) == Kind::Keyed
    }

    fn deduplicates_refunds(&self) -> bool {
        self.repeats_safely() || self.world().plan.refund_key
    }

    async fn register(
        &self,
        order: &RegisterOrder,
        call: &Call,
    ) -> Result<Registered, PaymentError> {
        self.begins(&order.number, "register");
        let made = self.guarded(call, "register", self.post_register(order)).await;
        let made = made.map_err(|failure| self.told(failure));
        self.ends(&order.number, coverage::of_registering(&made));
        made
    }

    async fn payment_status(
        &self,
        payment: &PaymentRef,
        call: &Call,
    ) -> Result<Finding, PaymentError> {
        self.begins(&payment.number, "query");
        let attempt = || self.guarded(call, "payment_status", self.post_query(&payment.number));
        let found = self.retry.run(call.deadline, attempt).await;
        let found = found.map_err(|failure| self.told(failure));
        let ours = self.world().records().sent.get(payment.number.as_str()).copied();
        self.ends(&payment.number, coverage::of_asking(&found, ours));
        found
    }

    async fn cancel(&self, order: &CancelOrder, call: &Call) -> Result<(), PaymentError> {
        self.begins(&order.payment.number, "cancel");
        let number = order.payment.number.as_str().to_owned();
        let exchange = self.post_change(Request::Cancel { number });
        let cancelled = self.guarded(call, "cancel", exchange).await;
        let cancelled = cancelled.map_err(|failure| self.told(failure));
        self.ends(&order.payment.number, coverage::of_changing(&cancelled, "cancel taken"));
        cancelled
    }

    async fn refund(&self, refund: &RefundOrder, call: &Call) -> Result<(), PaymentError> {
        self.begins(&refund.payment.number, "refund");
        let number = refund.payment.number.as_str().to_owned();
        let (amount, refund_id) = (refund.amount, refund.refund_id.clone());
        let exchange = self.post_change(Request::Refund { number, amount, refund_id });
        let refunded = self.guarded(call, "refund", exchange).await;
        let refunded = refunded.map_err(|failure| self.told(failure));
        self.ends(&refund.payment.number, coverage::of_changing(&refunded, "refund taken"));
        refunded
    }

    fn read_callback(&self, raw: &RawCallback<'_>) -> Result<Callback, CallbackError> {
        let text = std::str::from_utf8(raw.body).map_err(|_| CallbackError::Malformed("body"))?;
        let mut words = text.split('|');
        let mut word = || words.next().ok_or(CallbackError::Malformed("body"));
        let (number, kind, event_id) = (word()?, word()?, word()?);
        Ok(Callback {
            number: ProviderNumber::told(number),
            event_id: (!event_id.is_empty()).then(|| event_id.to_owned()),
            kind: kind.to_owned(),
            signed: raw.signature.is_some(),
            signed_at: None,
        })
    }
}

/// The number behind a form that a client was given.
pub fn number_of(form_url: &str) -> &str {
    form_url.rsplit('/').next().unwrap_or(form_url)
}

/// Whether a payment is what was asked for.
pub fn exact(payment: &Payment) -> bool {
    payment.told == payment.amount
}
