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
use super::clock::SandboxClock;
use super::faults::Faults;
use super::frontend::Frontend;
use super::ledger::Ledger;
use super::listener::{Connection, ControlledListener, ListenerControl};
use super::modes;
use super::partners::{PartnerName, PaymentPartner, PaymentSystem, Refusal};
use super::recommendations::{self, Recommendations};
use super::settings::SandboxConfig;
use super::world::{AfterReset, World};
use super::{control, pay_page};

/// How often orders are looked at that nobody asks about.
const TICK: Duration = Duration::from_millis(50);

/// The sandbox's parts, running.
pub struct Wired {
    pub world: Arc<World>,
    pub control: Arc<ListenerControl>,
    pub public_url: String,
    pub tasks: Vec<JoinHandle<()>>,
}

/// Binds everything before it serves anything, so that a port that is taken leaves nothing behind.
pub fn wire(config: SandboxConfig) -> io::Result<Wired> {
    let bind = |port| ListenerControl::bind(SocketAddr::new(config.host, port));
    let (control_listening, control_listener) = bind(config.ports.control)?;
    let (mut controls, mut listeners) = (BTreeMap::new(), Vec::new());
    for partner in PartnerName::ALL {
        let (control, listener) = bind(config.ports.of(partner))?;
        controls.insert(partner, control);
        listeners.push((partner, listener));
    }
    let public_url =
        config.public_url.clone().unwrap_or_else(|| url_of(control_listening.address()));
    let public_url = public_url.trim_end_matches('/').to_owned();
    let client = callbacks::client().map_err(io::Error::other)?;
    let builder = Builder { clock: SandboxClock::default(), client, config };
    let world = Arc::new(builder.world(controls, &public_url));
    let mut tasks = vec![tokio::spawn(tick(Arc::clone(&world)))];
    for (partner, listener) in listeners {
        tasks.push(serve(listener, router(&world, partner)));
    }
    let for_people =
        control::router(Arc::clone(&world)).merge(pay_page::router(Arc::clone(&world)));
    tasks.push(serve(control_listener, for_people));
    Ok(Wired { world, control: control_listening, public_url, tasks })
}

fn router(world: &World, partner: PartnerName) -> Router {
    match world.payments.get(&partner) {
        Some(payment) => Arc::clone(payment).router(),
        None if partner == PartnerName::Catalog => catalog::router(Arc::clone(&world.catalog)),
        None => recommendations::router(Arc::clone(&world.recommendations)),
    }
}

struct Builder {
    clock: SandboxClock,
    client: reqwest::Client,
    config: SandboxConfig,
}

impl Builder {
    fn world(
        &self,
        controls: BTreeMap<PartnerName, Arc<ListenerControl>>,
        public_url: &str,
    ) -> World {
        let frontends: BTreeMap<_, _> = controls
            .into_iter()
            .map(|(partner, control)| (partner, self.frontend(partner, control)))
            .collect();
        let frontend = |partner| Arc::clone(&frontends[&partner]);
        let payments = PartnerName::payment_systems().filter_map(|partner| {
            Some((
                partner,
                self.payment(partner, partner.payment()?, frontend(partner), public_url),
            ))
        });
        let credentials =
            PartnerName::ALL.map(|partner| (partner, self.config.credentials_of(partner)));
        World {
            after_reset: AfterReset::default(),
            clock: self.clock.clone(),
            payments: payments.collect(),
            credentials: credentials.into(),
            catalog: Arc::new(Catalog::new(frontend(PartnerName::Catalog))),
            recommendations: Arc::new(Recommendations::new(frontend(PartnerName::Recommendations))),
            frontends,
        }
    }

    fn frontend(&self, partner: PartnerName, control: Arc<ListenerControl>) -> Arc<Frontend> {
        let calls = Arc::new(CallLog::new(self.clock.clone()));
        let refusal =
            partner.payment().map_or(modes::bad_request as Refusal, |system| system.refusal);
        Arc::new(Frontend { control, faults: Faults::new(self.config.seed, refusal), calls })
    }

    fn payment(
        &self,
        partner: PartnerName,
        system: &PaymentSystem,
        frontend: Arc<Frontend>,
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
        let bank = Bank::new(frontend, Arc::new(callbacks), self.clock.clone(), ledger);
        (system.open)(Arc::new(bank), credentials, public_url.to_owned())
    }
}

fn serve(listener: ControlledListener, router: Router) -> JoinHandle<()> {
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
