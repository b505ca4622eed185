//! What a payment adapter makes of each answer of its partner.

use super::calls::{Alarms, Method, call};
use super::{Answer, StubPartner};
use order_service::adapters::resilience::breaker::{Breaker, BreakerConfig};
use order_service::adapters::resilience::guards::GuardConfig;
use order_service::adapters::resilience::settings::{BulkheadConfig, RetryConfig, TimeoutConfig};
use order_service::core::ports::payment::{Concern, PaymentError, PaymentPort, Rejection};
use std::sync::Arc;
use std::time::Duration;

/// Longer than a busy machine needs to answer itself, a breaker that opens after ten failures among ten
/// calls, and each question asked once.
pub fn guards() -> GuardConfig {
    let [connect, read, call] = [5, 5, 11].map(Duration::from_secs);
    GuardConfig {
        timeouts: TimeoutConfig { connect, read, call },
        bulkhead: BulkheadConfig {
            max_concurrent: 2,
            max_queue: 0,
            max_wait: Duration::ZERO,
            ..BulkheadConfig::default()
        },
        breaker: BreakerConfig { failure_rate: 1.0, ..BreakerConfig::default() },
        retry: RetryConfig { max_attempts: 1, ..RetryConfig::default() },
    }
}

/// An adapter, the partner it talks to, and the alarms it rings.
#[derive(Debug)]
pub struct Rig<A> {
    pub stub: StubPartner,
    pub adapter: A,
    pub alarms: Arc<Alarms>,
}

pub trait Guarded: PaymentPort {
    fn guard(&self) -> &Breaker;
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

pub fn rejected(code: &str, concerns: Concern) -> PaymentError {
    PaymentError::Rejected(Rejection { code: code.to_owned(), concerns })
}

impl<A: Guarded> Rig<A> {
    pub async fn check(&self, method: Method, rows: Vec<Row>) {
        let breaker = self.adapter.guard();
        for Row(answer, error, alarm, blame) in rows {
            let told: String = format!("{method:?} {answer:?}").chars().take(200).collect();
            breaker.reset();
            self.stub.then(answer);
            let failed = method.call(&self.adapter, &call()).await.unwrap_err();
            assert_eq!(failed, error, "{told}");
            assert!(!failed.to_string().contains("secret"), "{failed}");
            assert_eq!(self.alarms.rung(), usize::from(alarm == Alarm::Rings), "{told}");
            let snapshot = breaker.snapshot();
            let blamed = (snapshot.window.calls, snapshot.window.failures);
            assert_eq!(blamed, (1, u64::from(blame == Blame::Partner)), "{told}");
        }
    }
}
