//! How the parts of the sandbox are put together, and what keeps them running.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::task::JoinHandle;

use super::bank::Bank;
use super::callbacks::{self, Callbacks, Post};
use super::calls::CallLog;
use super::catalog::{self, Catalog};
use super::clock::Clock;
use super::door::Door;
use super::faults::Faults;
use super::gate::{Connection, Gate, GatedListener};
use super::ledger::Ledger;
use super::modes;
use super::partners::{PartnerName, PaymentPartner, PaymentSystem, Refusal};
use super::recommendations::{self, Recommendations};
use super::settings::SandboxConfig;
use super::world::World;
use super::{control, pay_page};

/// How often orders are looked at that nobody asks about.
const TICK: Duration = Duration::from_millis(50);

/// The sandbox's parts, running.
pub struct Wired {
    pub world: Arc<World>,
    pub control: Arc<Gate>,
    pub public_url: String,
    pub tasks: Vec<JoinHandle<()>>,
}

/// Binds everything before it serves anything, so that a port that is taken leaves nothing behind.
pub fn wire(config: SandboxConfig) -> io::Result<Wired> {
    let bind = |port| Gate::bind(SocketAddr::new(config.host, port));
    let (control_gate, control_listener) = bind(config.ports.control)?;
    let (mut gates, mut listeners) = (BTreeMap::new(), Vec::new());
    for partner in PartnerName::ALL {
        let (gate, listener) = bind(config.ports.of(partner))?;
        gates.insert(partner, gate);
        listeners.push((partner, listener));
    }
    let public_url = config.public_url.clone().unwrap_or_else(|| url_of(control_gate.address()));
    let public_url = public_url.trim_end_matches('/').to_owned();
    let client = callbacks::client().map_err(io::Error::other)?;
    let builder = Builder { clock: Clock::default(), client, config };
    let world = Arc::new(builder.world(gates, &public_url));
    let mut tasks = vec![tokio::spawn(tick(Arc::clone(&world)))];
    for (partner, listener) in listeners {
        tasks.push(serve(listener, router(&world, partner)));
    }
    let for_people =
        control::router(Arc::clone(&world)).merge(pay_page::router(Arc::clone(&world)));
    tasks.push(serve(control_listener, for_people));
    Ok(Wired { world, control: control_gate, public_url, tasks })
}

fn router(world: &World, partner: PartnerName) -> Router {
    match world.payments.get(&partner) {
        Some(payment) => Arc::clone(payment).router(),
        None if partner == PartnerName::Catalog => catalog::router(Arc::clone(&world.catalog)),
        None => recommendations::router(Arc::clone(&world.recommendations)),
    }
}

struct Builder {
    clock: Clock,
    client: reqwest::Client,
    config: SandboxConfig,
}

impl Builder {
    fn world(&self, gates: BTreeMap<PartnerName, Arc<Gate>>, public_url: &str) -> World {
        let doors: BTreeMap<_, _> =
            gates.into_iter().map(|(partner, gate)| (partner, self.door(partner, gate))).collect();
        let door = |partner| Arc::clone(&doors[&partner]);
        let payments = PartnerName::payment_systems().filter_map(|partner| {
            Some((partner, self.payment(partner, partner.payment()?, door(partner), public_url)))
        });
        let credentials =
            PartnerName::ALL.map(|partner| (partner, self.config.credentials_of(partner)));
        World {
            clock: self.clock.clone(),
            payments: payments.collect(),
            credentials: credentials.into(),
            catalog: Arc::new(Catalog::new(door(PartnerName::Catalog))),
            recommendations: Arc::new(Recommendations::new(door(PartnerName::Recommendations))),
            doors,
        }
    }

    fn door(&self, partner: PartnerName, gate: Arc<Gate>) -> Arc<Door> {
        let calls = Arc::new(CallLog::new(self.clock.clone()));
        let refusal =
            partner.payment().map_or(modes::bad_request as Refusal, |system| system.refusal);
        Arc::new(Door { gate, faults: Faults::new(self.config.seed, refusal), calls })
    }

    fn payment(
        &self,
        partner: PartnerName,
        system: &PaymentSystem,
        door: Arc<Door>,
        public_url: &str,
    ) -> Arc<dyn PaymentPartner> {
        let credentials = self.config.credentials_of(partner);
        let secret = Some(credentials.get(system.signs_with)).filter(|secret| !secret.is_empty());
        let callbacks = Callbacks::new(Post {
            client: self.client.clone(),
            path: format!("/v1/webhooks/{}", partner.as_str()),
            secret: secret.map(str::to_owned),
            target: self.config.callback_url.clone(),
            time_scale: self.config.time_scale,
        });
        let ledger = Ledger::new(system.voice, system.id_prefix, self.config.seed);
        let bank = Bank::new(door, Arc::new(callbacks), self.clock.clone(), ledger);
        (system.open)(Arc::new(bank), credentials, public_url.to_owned())
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
        world.banks().for_each(|bank| bank.work_off());
    }
}

/// An address that can be called: not the unspecified one, which can only be bound.
pub fn url_of(address: SocketAddr) -> String {
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V4(_) | IpAddr::V6(_) => address.ip(),
    };
    format!("http://{}", SocketAddr::new(host, address.port()))
}
