//! The simulated partners: Sber, OdnaKassa, the catalog and the recommendations, each on a port of
//! its own, with a fifth for the control API and the payment pages.
//!
//! It is the second implementation of the partners' protocols, written from the same page as the
//! service's adapters and sharing no code with them: an error in one is found by the other.

mod bank;
mod callbacks;
mod calls;
mod catalog;
mod clock;
mod control;
mod door;
mod faults;
mod gate;
mod ledger;
mod modes;
mod odnakassa;
mod order;
mod pay_page;
mod recommendations;
mod reply;
mod sber;
mod settings;
mod world;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use tokio::task::JoinHandle;

pub use self::bank::{Deed, DeedError, LedgerEntry};
pub use self::callbacks::{CallbackRecord, Policy as CallbackPolicy, ReleaseOrder};
pub use self::calls::{CallRecord, CallTotals, NumberCalls, Outcome};
pub use self::door::PartnerName;
pub use self::faults::{Answer, ErrorCodeShape, Fault, OrderEffects, Then, When};
pub use self::modes::{Mode, Mood};
pub use self::order::{Change, OrderView, Protocol, Refund, State};
pub use self::settings::{OdnakassaCredentials, Ports, SandboxConfig, SberCredentials};

use self::bank::Bank;
use self::callbacks::Callbacks;
use self::calls::CallLog;
use self::catalog::Catalog;
use self::clock::Clock;
use self::door::Door;
use self::faults::Faults;
use self::gate::{Connection, Gate, GatedListener};
use self::ledger::{Ledger, Voice};
use self::odnakassa::Odnakassa;
use self::recommendations::Recommendations;
use self::sber::Sber;
use self::world::{PARTNERS, World};

/// How often orders are looked at that nobody asks about.
const TICK: Duration = Duration::from_millis(50);

/// Running partners. They stop when this is dropped; [`Sandbox::stop`] waits for it.
#[derive(Debug)]
pub struct Sandbox {
    world: Arc<World>,
    control: Arc<Gate>,
    public_url: String,
    tasks: Vec<JoinHandle<()>>,
}

impl Sandbox {
    /// Binds the five listeners and serves them until stopped.
    ///
    /// # Errors
    /// A port that cannot be bound; a machine without certificate authorities, which the client of
    /// the callbacks needs to exist.
    pub async fn start(config: SandboxConfig) -> io::Result<Self> {
        let bind = |port| Gate::bind(SocketAddr::new(config.host, port));
        let (control, control_listener) = bind(config.ports.control)?;
        let (sber_gate, sber_listener) = bind(config.ports.sber)?;
        let (odnakassa_gate, odnakassa_listener) = bind(config.ports.odnakassa)?;
        let (catalog_gate, catalog_listener) = bind(config.ports.catalog)?;
        let (recommendations_gate, recommendations_listener) = bind(config.ports.recommendations)?;

        let public_url = config.public_url.clone().unwrap_or_else(|| url_of(control.address()));
        let public_url = public_url.trim_end_matches('/').to_owned();
        let builder = Builder {
            clock: Clock::default(),
            client: callbacks::client().map_err(io::Error::other)?,
            config,
        };
        let world = Arc::new(World {
            clock: builder.clock.clone(),
            sber: builder.sber(sber_gate, &public_url),
            odnakassa: builder.odnakassa(odnakassa_gate, &public_url),
            catalog: Arc::new(Catalog::new(builder.door(catalog_gate))),
            recommendations: Arc::new(Recommendations::new(builder.door(recommendations_gate))),
        });
        let control_router =
            control::router(Arc::clone(&world)).merge(pay_page::router(Arc::clone(&world)));
        let tasks = vec![
            serve(sber_listener, sber::router(Arc::clone(&world.sber))),
            serve(odnakassa_listener, odnakassa::router(Arc::clone(&world.odnakassa))),
            serve(catalog_listener, catalog::router(Arc::clone(&world.catalog))),
            serve(
                recommendations_listener,
                recommendations::router(Arc::clone(&world.recommendations)),
            ),
            serve(control_listener, control_router),
            tokio::spawn(tick(Arc::clone(&world))),
        ];
        Ok(Self { world, control, public_url, tasks })
    }

    /// `SBER_BASE_URL` for `SBER_PROTOCOL=classic`.
    pub fn sber_base_url(&self) -> String {
        format!("{}{}", self.host_url(PartnerName::Sber), sber::CLASSIC_PATH)
    }

    /// `SBER_BASE_URL` for `SBER_PROTOCOL=json`.
    pub fn sber_json_base_url(&self) -> String {
        format!("{}{}", self.host_url(PartnerName::Sber), sber::JSON_PATH)
    }

    /// `ODNAKASSA_BASE_URL`; the protocol's paths begin with `/v1`.
    pub fn odnakassa_base_url(&self) -> String {
        self.host_url(PartnerName::Odnakassa)
    }

    /// `CATALOG_BASE_URL`.
    pub fn catalog_base_url(&self) -> String {
        self.host_url(PartnerName::Catalog)
    }

    /// `RECOMMENDATIONS_BASE_URL`.
    pub fn recommendations_base_url(&self) -> String {
        self.host_url(PartnerName::Recommendations)
    }

    /// Where `/control` is.
    pub fn control_url(&self) -> String {
        url_of(self.control.address())
    }

    /// What form URLs begin with.
    pub fn public_url(&self) -> &str {
        &self.public_url
    }

    fn host_url(&self, partner: PartnerName) -> String {
        url_of(self.world.door(partner).gate.address())
    }

    /// The base URL of the service; `/v1/webhooks/…` is appended. `None`: nobody is told anything.
    pub fn set_callback_url(&self, base_url: Option<&str>) {
        for bank in self.world.banks() {
            bank.callbacks.set_target(base_url.map(str::to_owned));
        }
    }

    /// When it returns, the entrance is as asked: a partner that is down refuses connections.
    pub async fn set_mode(&self, partner: PartnerName, mode: impl Into<Mode>) {
        self.world.door(partner).set_mode(mode.into()).await;
    }

    /// Scripts a fault; the number takes it back by [`Sandbox::remove_fault`].
    pub fn add_fault(&self, partner: PartnerName, fault: Fault) -> u64 {
        self.world.door(partner).faults.add(fault)
    }

    pub fn remove_fault(&self, partner: PartnerName, id: u64) -> bool {
        self.world.door(partner).faults.remove(id)
    }

    /// Every committed order of a payment partner, oldest first.
    pub fn orders(&self, partner: PartnerName) -> Vec<LedgerEntry> {
        self.world.bank(partner).map(|bank| bank.entries()).unwrap_or_default()
    }

    pub fn order(&self, partner: PartnerName, number: &str) -> Option<LedgerEntry> {
        self.world.bank(partner)?.entry(number)
    }

    /// The newest calls, oldest first.
    pub fn calls(&self, partner: PartnerName) -> Vec<CallRecord> {
        self.world.door(partner).calls.recent(usize::MAX, |_| true)
    }

    pub fn call_totals(&self, partner: PartnerName) -> CallTotals {
        self.world.door(partner).calls.totals()
    }

    /// The calls that named this order, whether or not it was ever committed.
    pub fn calls_of(&self, partner: PartnerName, number: &str) -> NumberCalls {
        self.world.door(partner).calls.of_number(number)
    }

    /// Acts as the payer or the bank.
    ///
    /// # Errors
    /// No such order, or it is not in a state for it.
    pub fn act(
        &self,
        partner: PartnerName,
        number: &str,
        deed: Deed,
    ) -> Result<OrderView, DeedError> {
        self.world.bank(partner).ok_or(DeedError::NotFound)?.act(number, deed)
    }

    /// How a payment partner's callbacks behave from now on.
    pub fn set_callback_policy(&self, partner: PartnerName, policy: CallbackPolicy) {
        if let Some(bank) = self.world.bank(partner) {
            bank.callbacks.set_policy(policy);
        }
    }

    /// Oldest first.
    pub fn callbacks(&self, partner: PartnerName) -> Vec<CallbackRecord> {
        self.world.bank(partner).map(|bank| bank.callbacks.book()).unwrap_or_default()
    }

    /// Lets the sandbox's clock jump; what is due by then happens now.
    pub fn advance(&self, by: Duration) {
        self.world.advance_ms(i64::try_from(by.as_millis()).unwrap_or(i64::MAX));
    }

    /// Everything as at the start, but for the ports and the callback URL.
    pub async fn reset(&self) {
        self.world.reset_all().await;
    }

    /// Closes all listeners and connections.
    pub async fn stop(mut self) {
        self.shut();
        for task in std::mem::take(&mut self.tasks) {
            // Ends by the abort.
            let _aborted = task.await;
        }
    }

    fn shut(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.control.cut_all();
        for partner in PARTNERS {
            self.world.door(partner).gate.cut_all();
        }
        for bank in self.world.banks() {
            bank.callbacks.reset();
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.shut();
    }
}

struct Builder {
    clock: Clock,
    client: reqwest::Client,
    config: SandboxConfig,
}

impl Builder {
    fn door(&self, gate: Arc<Gate>) -> Arc<Door> {
        let calls = Arc::new(CallLog::new(self.clock.clone()));
        Arc::new(Door { gate, faults: Faults::new(self.config.seed), calls })
    }

    fn bank(
        &self,
        door: Arc<Door>,
        voice: Voice,
        id_prefix: Option<&'static str>,
        secret: Option<String>,
    ) -> Arc<Bank> {
        let target = self.config.callback_url.clone();
        let callbacks =
            Arc::new(Callbacks::new(self.client.clone(), secret, target, self.config.time_scale));
        let ledger = Ledger::new(voice, id_prefix, self.config.seed);
        Arc::new(Bank::new(door, callbacks, self.clock.clone(), ledger))
    }

    fn sber(&self, gate: Arc<Gate>, public_url: &str) -> Arc<Sber> {
        let credentials = self.config.sber.clone();
        let secret = credentials.callback_secret.clone();
        let bank = self.bank(self.door(gate), sber::voice, None, secret);
        Arc::new(Sber { bank, credentials, public_url: public_url.to_owned() })
    }

    fn odnakassa(&self, gate: Arc<Gate>, public_url: &str) -> Arc<Odnakassa> {
        let credentials = self.config.odnakassa.clone();
        let secret = Some(credentials.webhook_secret.clone());
        let bank = self.bank(self.door(gate), odnakassa::voice, Some("pay_"), secret);
        Arc::new(Odnakassa { bank, credentials, public_url: public_url.to_owned() })
    }
}

fn serve(listener: GatedListener, router: Router) -> JoinHandle<()> {
    let service = router.into_make_service_with_connect_info::<Connection>();
    tokio::spawn(async move {
        // It never returns: the listener does not give up.
        let _unreachable = axum::serve(listener, service).await;
    })
}

async fn tick(world: Arc<World>) {
    let mut ticks = tokio::time::interval(TICK);
    loop {
        ticks.tick().await;
        world.banks().into_iter().for_each(|bank| bank.work_off());
    }
}

/// An address that can be called: not the unspecified one, which can only be bound.
fn url_of(address: SocketAddr) -> String {
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V4(_) | IpAddr::V6(_) => address.ip(),
    };
    format!("http://{}", SocketAddr::new(host, address.port()))
}

/// A panic in a simulated partner must not silence it for the rest of a test run.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
