//! What both payment adapters have to prove at their one port.

use super::{Answer, Stub, status, status_with, text};
use order_service::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use order_service::adapters::resilience::breaker::{
    Breaker, BreakerConfig, BreakerMode, BreakerState,
};
use order_service::adapters::resilience::semaphore::Semaphore;
use order_service::adapters::resilience::settings::{BulkheadConfig, RetryConfig, TimeoutConfig};
use order_service::core::domain::money::Money;
use order_service::core::domain::provider::{Provider, ProviderNumber};
use order_service::core::domain::unavailable::PaymentSystemUnavailableError;
use order_service::core::domain::unavailable::{NotExecuted, Shed, Unknown};
use order_service::core::ports::call::Call;
use order_service::core::ports::deadline::Deadline;
use order_service::core::ports::payment::{
    Concern, PaymentError, PaymentPort, PaymentRef, RefundOrder, RegisterOrder, Rejection,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub const NUMBER: &str = "01JDTESTORDER0000000000001-01";

/// A partner's own id, in the alphabet of both.
pub const EXTERNAL_ID: &str = "6f0c1f0e-1";

/// Counts the alarms.
#[derive(Debug, Default)]
pub struct Alarms(AtomicUsize);

impl Alarms {
    pub fn rung(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl AdapterEvents for Alarms {
    fn tell(&self, event: &AdapterEvent) {
        if matches!(event, AdapterEvent::Misconfigured { .. }) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Longer than a busy machine needs to answer itself.
pub fn timeouts() -> TimeoutConfig {
    let [connect, read, call] = [5, 5, 11].map(Duration::from_secs);
    TimeoutConfig { connect, read, call }
}

/// Short, so that silence is proven soon.
pub fn impatient() -> TimeoutConfig {
    let [connect, read, call] = [1_000, 150, 400].map(Duration::from_millis);
    TimeoutConfig { connect, read, call }
}

pub fn bulkhead() -> BulkheadConfig {
    BulkheadConfig {
        max_concurrent: 2,
        max_queue: 0,
        max_wait: Duration::ZERO,
        ..BulkheadConfig::default()
    }
}

/// Opens after ten failures among ten calls.
pub fn breaker() -> BreakerConfig {
    BreakerConfig { failure_rate: 1.0, ..BreakerConfig::default() }
}

pub fn no_retry() -> RetryConfig {
    RetryConfig { max_attempts: 1, ..RetryConfig::default() }
}

pub fn quick_retry() -> RetryConfig {
    let millisecond = Duration::from_millis(1);
    RetryConfig { max_attempts: 3, base: millisecond, max: millisecond, ..RetryConfig::default() }
}

pub fn call() -> Call {
    call_within(Duration::from_secs(30))
}

pub fn call_within(budget: Duration) -> Call {
    Call::new(Deadline::after(budget), None)
}

pub fn order() -> RegisterOrder {
    RegisterOrder {
        number: ProviderNumber::told(NUMBER),
        amount: Money::rub(19_900).unwrap(),
        return_url: "https://shop.example/back?a=1&b=%20".to_owned(),
    }
}

pub fn payment(external_id: Option<&str>) -> PaymentRef {
    PaymentRef { number: ProviderNumber::told(NUMBER), external_id: external_id.map(str::to_owned) }
}

pub fn refund(external_id: Option<&str>) -> RefundOrder {
    RefundOrder {
        payment: payment(external_id),
        amount: Money::rub(5_000).unwrap(),
        refund_id: "R7".to_owned(),
    }
}

/// An adapter, the partner it talks to, and the alarms it rings.
#[derive(Debug)]
pub struct Rig<A> {
    pub stub: Stub,
    pub adapter: A,
    pub alarms: Arc<Alarms>,
}

pub trait Guarded: PaymentPort {
    fn guards(&self) -> (&Breaker, &Semaphore);
}

#[derive(Debug, Clone, Copy)]
pub enum Method {
    Register,
    PaymentStatus,
    Cancel,
    Refund,
}

impl Method {
    pub const ALL: [Self; 4] = [Self::Register, Self::PaymentStatus, Self::Cancel, Self::Refund];

    pub async fn call(self, port: &dyn PaymentPort, call: &Call) -> Result<(), PaymentError> {
        let known = payment(Some(EXTERNAL_ID));
        match self {
            Self::Register => port.register(&order(), call).await.map(drop),
            Self::PaymentStatus => port.payment_status(&known, call).await.map(drop),
            Self::Cancel => port.cancel(&known, call).await,
            Self::Refund => port.refund(&refund(Some(EXTERNAL_ID)), call).await,
        }
    }
}

/// What an answer must do: the error, whether it rings the alarm, whether the breaker blames the
/// partner for it.
#[derive(Debug)]
pub struct Row(pub Answer, pub PaymentError, pub Alarm, pub Blame);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    Rings,
    Still,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    Partner,
    Nobody,
}

pub fn not_executed(provider: Provider, cause: NotExecuted) -> PaymentError {
    let system = provider.into();
    PaymentError::NotExecuted(PaymentSystemUnavailableError { system, cause, retry_after: None })
}

pub fn unknown(cause: Unknown) -> PaymentError {
    PaymentError::Unknown(cause)
}

pub fn rejected(code: &str, concerns: Concern) -> PaymentError {
    PaymentError::Rejected(Rejection { code: code.to_owned(), concerns })
}

/// Broken connections, HTTP statuses and bodies that are none: the same to every method of both partners.
pub fn common_rows(provider: Provider) -> Vec<Row> {
    use Alarm::{Rings, Still};
    use Blame::Partner;
    let retry_after = Some(Duration::from_secs(7));
    let cause = NotExecuted::Throttled;
    let throttled = PaymentSystemUnavailableError { system: provider.into(), cause, retry_after };
    let huge = format!("{{\"x\":\"{}\"}}", "x".repeat(1 << 20));
    let mut rows = vec![
        Row(status_with(429, "Retry-After: 7"), throttled.into(), Still, Partner),
        Row(status(400), unknown(Unknown::Unreadable), Still, Partner),
        Row(text(200, &huge), unknown(Unknown::Unreadable), Still, Partner),
        Row(Answer::Cut, unknown(Unknown::Broken), Still, Partner),
        Row(Answer::CutMidBody, unknown(Unknown::Broken), Still, Partner),
    ];
    for elsewhere in ["302", "307", "404", "405"] {
        let head = format!("HTTP/1.1 {elsewhere} Elsewhere\r\nLocation: /x");
        let error = not_executed(provider, NotExecuted::Misdirected);
        rows.push(Row(Answer::Http(head, Vec::new()), error, Rings, Partner));
    }
    for failing in [408, 500, 502, 503, 504] {
        rows.push(Row(status(failing), unknown(Unknown::PartnerFailed), Still, Partner));
    }
    for nonsense in ["", "<html>secret gateway text</html>", "{\"errorCo", "[0]", "7"] {
        rows.push(Row(text(200, nonsense), unknown(Unknown::Unreadable), Still, Partner));
    }
    rows
}

/// For a rig with [`impatient`] limits: nothing at all, or a byte now and then for ever.
pub fn silent_rows() -> Vec<Row> {
    let row = |answer| Row(answer, unknown(Unknown::TimedOut), Alarm::Still, Blame::Partner);
    [Answer::Hang, Answer::Drip].map(row).into()
}

impl<A: Guarded> Rig<A> {
    pub async fn check(&self, method: Method, rows: Vec<Row>) {
        let (breaker, _) = self.adapter.guards();
        for Row(answer, error, alarm, blame) in rows {
            let told: String = format!("{method:?} {answer:?}").chars().take(200).collect();
            breaker.reset();
            self.stub.will(answer);
            let failed = method.call(&self.adapter, &call()).await.unwrap_err();
            assert_eq!(failed, error, "{told}");
            assert!(!failed.to_string().contains("secret"), "{failed}");
            assert_eq!(self.alarms.rung(), usize::from(alarm == Alarm::Rings), "{told}");
            let snapshot = breaker.snapshot();
            let blamed = (snapshot.window.calls, snapshot.window.failures);
            assert_eq!(blamed, (1, u64::from(blame == Blame::Partner)), "{told}");
        }
    }

    pub async fn an_open_breaker_sends_nothing(&self) {
        let (breaker, _) = self.adapter.guards();
        for _ in 0..10 {
            self.stub.will(status(500));
            self.adapter.register(&order(), &call()).await.unwrap_err();
        }
        assert_eq!(breaker.state(), BreakerState::Open);
        assert_eq!(self.stub.asked().len(), 10);
        for method in Method::ALL {
            let refused = method.call(&self.adapter, &call()).await.unwrap_err();
            let PaymentError::NotExecuted(unavailable) = refused else { panic!("{refused}") };
            assert_eq!(unavailable.cause, NotExecuted::Shed(Shed::BreakerOpen), "{method:?}");
            assert!(unavailable.retry_after.unwrap() > Duration::from_secs(25));
            let system = self.adapter.provider();
            let expected = format!("payment system {system} unavailable: circuit breaker is open");
            assert_eq!(unavailable.to_string(), expected);
        }
        assert!(self.stub.asked().is_empty());
        assert_eq!(self.adapter.capacity().free, 0);
    }

    pub async fn a_full_bulkhead_sends_nothing(&self) {
        let (breaker, semaphore) = self.adapter.guards();
        assert_eq!(self.adapter.capacity().free, 2);
        let deadline = Deadline::after(Duration::from_secs(9));
        let held = (
            semaphore.acquire(deadline).await.unwrap(),
            semaphore.acquire(deadline).await.unwrap(),
        );
        assert_eq!(self.adapter.capacity().free, 0);
        for method in Method::ALL {
            let refused = method.call(&self.adapter, &call()).await;
            assert_eq!(
                refused,
                Err(not_executed(self.adapter.provider(), NotExecuted::Shed(Shed::BulkheadFull))),
                "{method:?}"
            );
        }
        drop(held);
        assert!(self.stub.asked().is_empty());
        assert_eq!(breaker.snapshot().window.calls, 0, "the partner is not to blame");
    }
}

impl<A: Guarded> Rig<A> {
    /// `good` is the answer of a successful query.
    pub async fn every_method_has_its_span(&self, adapter_name: &str, query: &str, good: Answer) {
        // A span that another test's thread meets first, while only this one listens, is taken for
        // unwanted by all; so each is met once before.
        for method in Method::ALL {
            self.stub.will(status(502));
            method.call(&self.adapter, &call()).await.unwrap_err();
        }
        let heard = super::spans::listen();
        let named = |name: &str| heard.span(&format!("{adapter_name}.{name}"));
        self.stub.will(good);
        Method::PaymentStatus.call(&self.adapter, &call()).await.unwrap();
        let span = named("PaymentStatus");
        assert_eq!(span["external.system"], self.adapter.provider().as_str());
        assert_eq!(span["circuit_breaker.state"], "closed");
        assert_eq!(span["bulkhead.wait_ms"], "0");
        assert!(span["deadline.remaining_ms"].starts_with("29"), "{span:?}");
        assert_eq!(span.get("otel.status_code"), None);

        self.stub.will(status(502));
        Method::PaymentStatus.call(&self.adapter, &call()).await.unwrap_err();
        let span = heard.span("http.client");
        assert_eq!((&*span["otel.name"], &*span["http.response.status_code"]), (query, "502"));

        self.guards_refuse();
        for (method, name) in Method::ALL.into_iter().zip(METHOD_NAMES) {
            method.call(&self.adapter, &call()).await.unwrap_err();
            let span = named(name);
            assert_eq!(span["otel.status_code"], "ERROR");
            assert_eq!(span["otel.status_description"], "circuit open");
        }
    }

    fn guards_refuse(&self) {
        let (breaker, _) = self.adapter.guards();
        breaker.set_mode(BreakerMode::ForcedOpen, None);
    }
}

const METHOD_NAMES: [&str; 4] = ["Register", "PaymentStatus", "Cancel", "Refund"];
