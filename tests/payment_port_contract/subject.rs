//! What the contract is held against.

use crate::calls::{Alarms, NUMBER, call, order, payment};
use order_service::adapters::resilience::clock::MonotonicClock;
use order_service::adapters::resilience::observer::Silent;
use order_service::bootstrap::{PaymentPartner, connect_payment};
use order_service::config::{Config, prefix};
use order_service::core::domain::provider::Provider;
use order_service::core::ports::payment::{Finding, PaymentPort, PaymentReport, Registered};
use order_service::sandbox::{
    Answer, Deed, Fault, LedgerEntry, Mode, Operations, OrderEffects, PartnerName, Sandbox,
    SandboxConfig, Then, When,
};
use std::fmt;
use std::sync::Arc;

/// An adapter, the simulated payment system that it talks to, and the alarms that it rings.
#[derive(Debug)]
pub struct Subject {
    pub provider: Provider,
    pub adapter: PaymentPartner,
    pub alarms: Arc<Alarms>,
    pub sandbox: Sandbox,
    partner: PartnerName,
    /// Of the variables of its system.
    settings: Vec<(String, String)>,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.provider, self.settings)
    }
}

/// Short, so that silence is proven soon.
pub const IMPATIENT: &[(&str, &str)] =
    &[("CONNECT_TIMEOUT", "100ms"), ("READ_TIMEOUT", "300ms"), ("CALL_TIMEOUT", "1500ms")];

/// Reads are asked once, so that each answer is seen.
const ONCE: (&str, &str) = ("RETRY_MAX_ATTEMPTS", "1");

/// The settings for the protocols that a payment system can be spoken to in beside its usual one.
const MORE_PROTOCOLS: &[(Provider, &[(&str, &str)])] = &[(Provider::Sber, &[("PROTOCOL", "json")])];

/// Every payment system, in each of its protocols.
pub async fn all() -> Vec<Subject> {
    all_with(&[]).await
}

/// The same with these settings of each.
pub async fn all_with(settings: &[(&str, &str)]) -> Vec<Subject> {
    let mut subjects = Vec::new();
    let usual = Provider::ALL.map(|provider| (provider, &[][..]));
    for (provider, protocol) in usual.into_iter().chain(MORE_PROTOCOLS.iter().copied()) {
        let settings = [ONCE].iter().chain(protocol).chain(settings);
        subjects.push(Subject::new(provider, settings).await);
    }
    subjects
}

impl Subject {
    async fn new<'a>(
        provider: Provider,
        settings: impl Iterator<Item = &'a (&'a str, &'a str)>,
    ) -> Self {
        let mut partners = PartnerName::ALL.into_iter();
        let partner = partners.find(|partner| partner.as_str() == provider.as_str());
        let partner = partner.unwrap_or_else(|| panic!("nobody simulates {provider}"));
        let sandbox = Sandbox::start(SandboxConfig::default()).await.unwrap();
        let prefix = prefix(provider.into());
        let mut settings: Vec<_> = settings
            .map(|(name, value)| (format!("{prefix}{name}"), (*value).to_owned()))
            .collect();
        if settings.contains(&("SBER_PROTOCOL".to_owned(), "json".to_owned())) {
            settings.push(("SBER_BASE_URL".to_owned(), sandbox.sber_json_base_url()));
        }
        let (adapter, alarms) = connect(provider, &settings, &sandbox);
        Self { provider, adapter, alarms, sandbox, partner, settings }
    }

    /// The same payment system, to whom another secret of that name is told.
    pub fn misinformed(&self, name: &str) -> (PaymentPartner, Arc<Alarms>) {
        let wrong = (name.to_owned(), "wrong".to_owned());
        connect(self.provider, &[&*self.settings, &[wrong]].concat(), &self.sandbox)
    }

    pub fn port(&self) -> &dyn PaymentPort {
        self.adapter.port.as_ref()
    }

    pub fn operations(&self) -> &'static Operations {
        self.partner.operations().unwrap()
    }

    /// Every order that the payment system has.
    pub fn orders(&self) -> Vec<LedgerEntry> {
        self.sandbox.orders(self.partner)
    }

    /// How often it was called.
    pub fn calls(&self) -> u64 {
        self.sandbox.call_totals(self.partner).calls
    }

    pub fn act(&self, deed: Deed) {
        self.sandbox.act(self.partner, NUMBER, deed).unwrap();
    }

    pub async fn set_mode(&self, mode: impl Into<Mode>) {
        self.sandbox.set_mode(self.partner, mode).await;
    }

    pub fn set_callback_policy(&self, policy: order_service::sandbox::CallbackPolicy) {
        self.sandbox.set_callback_policy(self.partner, policy);
    }

    /// The next call of that operation is executed, and answered so.
    pub fn answers_once(&self, operation: &str, answer: Answer) {
        self.script(Some(operation), Then { answer, ..Then::default() });
    }

    /// This becomes of the next order.
    pub fn registers_once(&self, order: OrderEffects) {
        self.script(Some(self.operations().register), Then { order, ..Then::default() });
    }

    /// The next call, whichever it is, is executed, and answered so.
    pub fn distorted_once(&self, answer: Answer) {
        self.script(None, Then { answer, ..Then::default() });
    }

    /// The next call, whichever it is, never reaches the payment system and is answered so.
    pub fn intercepted_once(&self, answer: Answer) {
        self.script(None, Then { commit: false, answer, ..Then::default() });
    }

    fn script(&self, operation: Option<&str>, then: Then) {
        let operation = operation.map(str::to_owned);
        let when = When { operation, times: Some(1), ..When::default() };
        self.sandbox.add_fault(self.partner, Fault { when, then });
    }

    pub async fn register(&self) -> Registered {
        self.port()
            .register(&order(), &call())
            .await
            .unwrap_or_else(|error| panic!("{self}: {error}"))
    }

    pub async fn find(&self) -> Finding {
        let finding = self.port().payment_status(&payment(None), &call()).await;
        finding.unwrap_or_else(|error| panic!("{self}: {error}"))
    }

    pub async fn report(&self) -> PaymentReport {
        match self.find().await {
            Finding::Found(report) => report,
            Finding::NotFound => panic!("{self}: not found"),
        }
    }
}

fn connect(
    provider: Provider,
    settings: &[(String, String)],
    sandbox: &Sandbox,
) -> (PaymentPartner, Arc<Alarms>) {
    let own = settings.iter().map(|(name, value)| (name.into(), value.into()));
    let config = Config::sandbox(own, sandbox.service_env());
    let (config, _) = config.unwrap_or_else(|problems| panic!("{problems}"));
    let mut systems = config.payment_systems.iter();
    let system = systems.find(|system| system.provider == provider).unwrap();
    let alarms = Arc::new(Alarms::default());
    let adapter =
        connect_payment(&system.vendor, MonotonicClock::coarse(), Arc::new(Silent), alarms.clone());
    (adapter.unwrap(), alarms)
}
