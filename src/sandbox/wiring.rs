//! How the parts of the sandbox are put together, and what keeps them running.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::task::JoinHandle;

use super::bank::Bank;
use super::callbacks::{self, Callbacks};
use super::calls::CallLog;
use super::catalog::{self, Catalog};
use super::clock::Clock;
use super::door::Door;
use super::faults::Faults;
use super::gate::{Connection, Gate, GatedListener};
use super::ledger::{Ledger, Voice};
use super::odnakassa::{self, Odnakassa};
use super::recommendations::{self, Recommendations};
use super::sber::{self, Sber};
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
    let (sber_gate, sber_listener) = bind(config.ports.sber)?;
    let (odnakassa_gate, odnakassa_listener) = bind(config.ports.odnakassa)?;
    let (catalog_gate, catalog_listener) = bind(config.ports.catalog)?;
    let (recommendations_gate, recommendations_listener) = bind(config.ports.recommendations)?;

    let public_url = config.public_url.clone().unwrap_or_else(|| url_of(control_gate.address()));
    let public_url = public_url.trim_end_matches('/').to_owned();
    let client = callbacks::client().map_err(io::Error::other)?;
    let builder = Builder { clock: Clock::default(), client, config };
    let recommendations_door = builder.door(recommendations_gate);
    let world = Arc::new(World {
        clock: builder.clock.clone(),
        sber: builder.sber(sber_gate, &public_url),
        odnakassa: builder.odnakassa(odnakassa_gate, &public_url),
        catalog: Arc::new(Catalog::new(builder.door(catalog_gate))),
        recommendations: Arc::new(Recommendations::new(recommendations_door)),
    });
    let for_people =
        control::router(Arc::clone(&world)).merge(pay_page::router(Arc::clone(&world)));
    let tasks = vec![
        serve(sber_listener, sber::router(Arc::clone(&world.sber))),
        serve(odnakassa_listener, odnakassa::router(Arc::clone(&world.odnakassa))),
        serve(catalog_listener, catalog::router(Arc::clone(&world.catalog))),
        serve(
            recommendations_listener,
            recommendations::router(Arc::clone(&world.recommendations)),
        ),
        serve(control_listener, for_people),
        tokio::spawn(tick(Arc::clone(&world))),
    ];
    Ok(Wired { world, control: control_gate, public_url, tasks })
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
pub fn url_of(address: SocketAddr) -> String {
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V4(_) | IpAddr::V6(_) => address.ip(),
    };
    format!("http://{}", SocketAddr::new(host, address.port()))
}
