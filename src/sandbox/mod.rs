//! The simulated partners: the payment systems, the catalog and the recommendations, each on a port of
//! its own, with another for the control API and the payment pages.
//!
//! It is the second implementation of the partners' protocols, written from the same pages (docs/partners) as the
//! service's adapters and sharing no code with them: an error in one is found by the other.

mod bank;
mod callbacks;
mod calls;
mod catalog;
mod clock;
mod control;
mod fault;
mod faults;
mod frontend;
mod ledger;
mod listener;
mod modes;
mod odnakassa;
mod order;
mod order_view;
mod partners;
mod pay_page;
mod recommendations;
mod reply;
mod sber;
mod settings;
mod wiring;
mod world;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;

pub use self::bank::{Deed, DeedError, LedgerEntry};
pub use self::callbacks::{CallbackRecord, Policy as CallbackPolicy, ReleaseOrder};
pub use self::calls::{CallEnd, CallRecord, CallTotals, NumberCalls};
pub use self::fault::{Answer, ErrorCodeShape, Fault, OrderEffects, Then, When};
pub use self::modes::{Mode, Mood};
pub use self::order::{Protocol, Refund, State, StateChange};
pub use self::order_view::OrderView;
pub use self::partners::{Credential, Operations, PartnerName};
pub use self::settings::{Ports, SandboxConfig};

use self::listener::ListenerControl;
use self::wiring::url_of;
use self::world::World;

/// Running partners. They stop when this is dropped; [`Sandbox::stop`] waits for it.
#[derive(Debug)]
pub struct Sandbox {
    world: Arc<World>,
    control: Arc<ListenerControl>,
    public_url: String,
    tasks: Vec<JoinHandle<()>>,
}

impl Sandbox {
    /// Binds all listeners and serves them until stopped.
    ///
    /// # Errors
    /// A port that cannot be bound; a machine without certificate authorities, which the client of
    /// the callbacks needs to exist.
    pub async fn start(config: SandboxConfig) -> io::Result<Self> {
        let wired = wiring::wire(config)?;
        Ok(Self {
            world: wired.world,
            control: wired.control,
            public_url: wired.public_url,
            tasks: wired.tasks,
        })
    }

    /// `SBER_BASE_URL`, `CATALOG_BASE_URL` and so on; Sber's is that of `SBER_PROTOCOL=classic`.
    pub fn base_url(&self, partner: PartnerName) -> String {
        let path = partner.payment().map_or("", |system| system.path);
        format!("{}{path}", self.host_url(partner))
    }

    /// `SBER_BASE_URL` for `SBER_PROTOCOL=json`.
    pub fn sber_json_base_url(&self) -> String {
        format!("{}{}", self.host_url(PartnerName::Sber), sber::JSON_PATH)
    }

    /// All that the order service's environment has to say about its partners.
    pub fn service_env(&self) -> Vec<(String, String)> {
        let base_urls = PartnerName::ALL.map(|partner| {
            let name = format!("{}_BASE_URL", partner.as_str().to_uppercase());
            (name, self.base_url(partner))
        });
        let known = PartnerName::ALL.into_iter().flat_map(|partner| {
            let credentials = &self.world.credentials[&partner];
            partner.credentials().iter().filter_map(|credential| {
                let value = credentials.get(credential.name);
                Some((credential.variable?.to_owned(), value.to_owned()))
            })
        });
        base_urls.into_iter().chain(known.filter(|(_, value)| !value.is_empty())).collect()
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
        url_of(self.world.frontend(partner).control.address())
    }

    /// The base URL of the service; `/v1/webhooks/…` is appended. `None`: nobody is told anything.
    pub fn set_callback_url(&self, base_url: Option<&str>) {
        for bank in self.world.banks() {
            bank.callbacks.set_target(base_url.map(str::to_owned));
        }
    }

    /// When it returns, the entrance is as asked: a partner that is down refuses connections.
    pub async fn set_mode(&self, partner: PartnerName, mode: impl Into<Mode>) {
        self.world.frontend(partner).set_mode(mode.into()).await;
    }

    /// Scripts a fault; the number takes it back by [`Sandbox::remove_fault`].
    pub fn add_fault(&self, partner: PartnerName, fault: Fault) -> u64 {
        self.world.frontend(partner).faults.add(fault)
    }

    pub fn remove_fault(&self, partner: PartnerName, id: u64) -> bool {
        self.world.frontend(partner).faults.remove(id)
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
        self.world.frontend(partner).calls.recent(usize::MAX, |_| true)
    }

    pub fn call_totals(&self, partner: PartnerName) -> CallTotals {
        self.world.frontend(partner).calls.totals()
    }

    /// The calls that named this order, whether or not it was ever committed.
    pub fn calls_of(&self, partner: PartnerName, number: &str) -> NumberCalls {
        self.world.frontend(partner).calls.of_number(number)
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
    /// What happens after a reset of everything: the service beside us forgets, too.
    pub fn on_reset(&self, forget: Arc<dyn Fn() + Send + Sync>) {
        self.world.after_reset.set(forget);
    }

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
        for partner in PartnerName::ALL {
            self.world.frontend(partner).control.cut_all();
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

/// A panic in a simulated partner must not silence it for the rest of a test run.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
