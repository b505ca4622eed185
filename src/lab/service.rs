//! The whole service beside the simulated partners, on free ports and in a database of its own, for
//! experiments in real time.

use crate::adapters::observe::log_control::{BadFilter, LogControl, LogFilter};
use crate::bootstrap::service::{Listeners, serve};
use crate::config::Config;
use crate::sandbox::{Mood, PartnerName, Sandbox, SandboxConfig};
use serde_json::Value;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Longer than any answer of the service's.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(30);

/// A running instance; it is gone with this value.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) sandbox: Sandbox,
    client: reqwest::Client,
    address: SocketAddr,
    folder: PathBuf,
    running: JoinHandle<()>,
}

/// An experiment logs nothing.
#[derive(Debug)]
struct NoLog;

impl LogControl for NoLog {
    fn describe(&self) -> LogFilter {
        LogFilter { filter: String::new(), configured: String::new(), ends_in: None }
    }

    fn set(&self, _: &str, _: Duration) -> Result<(), BadFilter> {
        Err(BadFilter)
    }
}

/// A status and a body.
#[derive(Debug)]
pub(super) struct ServiceReply {
    pub(super) status: u16,
    pub(super) body: Value,
}

impl Service {
    /// Starts one with these variables beside the sandbox's own.
    pub(super) async fn start(variables: &[(&str, &str)]) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("order-service-lab-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder for the database");
        let sandbox = Sandbox::start(SandboxConfig::default()).await.expect("free ports");
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listeners = Listeners::bind(any, any).await.expect("free ports");
        let address = listeners.http.local_addr().expect("a bound socket");
        sandbox.set_callback_url(Some(&format!("http://{address}")));
        let database = format!("sqlite://{}", folder.join("orders.db").display());
        let own = [("DATABASE_URL", database.as_str()), ("INSTANCE_ID", "lab")];
        let variables =
            own.iter().chain(variables).map(|(name, value)| (name.into(), value.into()));
        let variables: Vec<(OsString, OsString)> = variables.collect();
        let (config, _) =
            Config::sandbox(variables, sandbox.service_env()).expect("valid settings");
        let running = tokio::spawn(async move {
            serve(config, listeners, Arc::new(NoLog), None).await.expect("the service runs");
        });
        let client = reqwest::Client::builder().timeout(CLIENT_TIMEOUT).build();
        let client = client.expect("a client of this machine");
        let service = Self { sandbox, client, address, folder, running };
        while service.get("/health/ready").await.status != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        service
    }

    pub(super) async fn get(&self, path: &str) -> ServiceReply {
        self.send(self.client.get(self.url(path))).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> ServiceReply {
        let json = self.client.post(self.url(path)).header("content-type", "application/json");
        self.send(json.body(body.to_string())).await
    }

    pub(super) async fn all(&self, partners: &[PartnerName], mood: Mood) {
        for partner in partners {
            self.sandbox.set_mode(*partner, mood).await;
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Status 0: no answer.
    async fn send(&self, request: reqwest::RequestBuilder) -> ServiceReply {
        let Ok(reply) = request.send().await else {
            return ServiceReply { status: 0, body: Value::Null };
        };
        let status = reply.status().as_u16();
        let text = reply.text().await.unwrap_or_default();
        ServiceReply { status, body: serde_json::from_str(&text).unwrap_or_default() }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.running.abort();
        // What cannot be removed is the temporary folder's to clean.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
