//! What a sandbox is started with. The defaults are public knowledge: they open nothing but a simulation.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use super::partners::{Credentials, PartnerName};

/// Everything that [`Sandbox::start`](super::Sandbox::start) needs.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// Where all listeners are bound.
    pub host: IpAddr,
    pub ports: Ports,
    /// How a browser reaches the control listener, with its payment pages; without it, the bound address.
    pub public_url: Option<String>,
    /// Base URL of the service that wants callbacks; can be set later, see
    /// [`Sandbox::set_callback_url`](super::Sandbox::set_callback_url).
    pub callback_url: Option<String>,
    /// Others than the defaults. An empty one is none: callbacks are unsigned without their secret.
    pub credentials: BTreeMap<(PartnerName, &'static str), String>,
    /// The documented waits between callback retries are multiplied by this: 0.001 makes ten minutes 0.6 s.
    pub time_scale: f64,
    /// Makes order ids and the dice of probable faults the same in every run.
    pub seed: Option<u64>,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            ports: Ports::default(),
            public_url: None,
            callback_url: None,
            credentials: BTreeMap::new(),
            time_scale: 0.01,
            seed: None,
        }
    }
}

impl SandboxConfig {
    pub(super) fn credentials_of(&self, partner: PartnerName) -> Credentials {
        let one = |credential: &super::partners::Credential| {
            let own = self.credentials.get(&(partner, credential.name)).cloned();
            (credential.name, own.unwrap_or_else(|| credential.default.to_owned()))
        };
        Credentials(partner.credentials().iter().map(one).collect())
    }
}

/// Where each listener is bound: on any free port, unless it is said.
#[derive(Debug, Clone, Default)]
pub struct Ports {
    pub control: u16,
    pub partners: BTreeMap<PartnerName, u16>,
}

impl Ports {
    pub const USUAL_CONTROL: u16 = 9100;

    /// Those that the manual's examples name.
    pub fn usual() -> Self {
        let partners = PartnerName::ALL.map(|partner| (partner, partner.usual_port()));
        Self { control: Self::USUAL_CONTROL, partners: partners.into() }
    }

    pub(super) fn of(&self, partner: PartnerName) -> u16 {
        self.partners.get(&partner).copied().unwrap_or(0)
    }
}
