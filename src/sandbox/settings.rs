//! What a sandbox is started with. The defaults are public knowledge: they open nothing but a simulation.

use std::net::{IpAddr, Ipv4Addr};

/// Everything that [`Sandbox::start`](super::Sandbox::start) needs.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// Where all five listeners are bound.
    pub host: IpAddr,
    pub ports: Ports,
    /// How a browser reaches the control listener, with its payment pages; without it, the bound address.
    pub public_url: Option<String>,
    /// Base URL of the service that wants callbacks; can be set later, see
    /// [`Sandbox::set_callback_url`](super::Sandbox::set_callback_url).
    pub callback_url: Option<String>,
    pub sber: SberCredentials,
    pub odnakassa: OdnakassaCredentials,
    /// The documented waits between callback retries are multiplied by this: 0.001 makes ten minutes 0.6 s.
    pub time_scale: f64,
    /// Makes order ids and the dice of probable faults the same in every run.
    pub seed: Option<u64>,
}

/// 0 = any free port.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ports {
    pub sber: u16,
    pub odnakassa: u16,
    pub catalog: u16,
    pub recommendations: u16,
    pub control: u16,
}

#[derive(Debug, Clone)]
pub struct SberCredentials {
    pub user_name: String,
    pub password: String,
    /// Replaces the pair in the classic generation.
    pub token: String,
    /// Signs classic callbacks; `None` leaves them unsigned.
    pub callback_secret: Option<String>,
}

#[derive(Debug, Clone)]
pub struct OdnakassaCredentials {
    pub api_key: String,
    pub webhook_secret: String,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            ports: Ports::default(),
            public_url: None,
            callback_url: None,
            sber: SberCredentials::default(),
            odnakassa: OdnakassaCredentials::default(),
            time_scale: 0.01,
            seed: None,
        }
    }
}

impl Default for SberCredentials {
    fn default() -> Self {
        Self {
            user_name: "sandbox-api".into(),
            password: "sandbox".into(),
            token: "sandbox-token".into(),
            callback_secret: Some("sandbox-callback-secret".into()),
        }
    }
}

impl Default for OdnakassaCredentials {
    fn default() -> Self {
        Self { api_key: "sandbox-key".into(), webhook_secret: "sandbox-webhook-secret".into() }
    }
}
