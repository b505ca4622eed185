//! One instance of the binary with its own database and partners that the test owns, so that the
//! instance can die and come back while they remember.

use order_service::adapters::outbound::storage::migrate;
use order_service::sandbox::{PartnerName, Sandbox, SandboxConfig};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

/// Long enough for a busy machine, short enough to fail a test.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Harness {
    pub partners: Sandbox,
    pub http: reqwest::Client,
    pub api: String,
    pub admin: String,
    folder: TempDir,
    settings: Vec<(String, String)>,
    child: Option<Child>,
}

pub struct Reply {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: Value,
}

impl Harness {
    /// Partners and a running instance.
    pub async fn new() -> Self {
        let mut harness = Self::without_instance().await;
        harness.start(&[]).await;
        harness
    }

    /// Partners, and everything that an instance needs, but no instance yet.
    pub async fn without_instance() -> Self {
        let partners = Sandbox::start(SandboxConfig::default()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (http, admin) = (free_address(), free_address());
        partners.set_callback_url(Some(&format!("http://{http}")));
        let database = format!("sqlite://{}", folder.path().join("orders.db").display());
        migrate(&database).await.unwrap();
        let mut settings: Vec<(String, String)> = [
            ("DATABASE_URL", database),
            ("HTTP_ADDR", http.clone()),
            ("ADMIN_ADDR", admin.clone()),
            ("INSTANCE_ID", "test-1".to_owned()),
            ("PAYMENT_RETURN_URL", "https://shop.example/back".to_owned()),
            ("PAYMENT_UNKNOWN_GRACE", "3s".to_owned()),
            ("PAYMENT_SYNC_WAIT", "2500ms".to_owned()),
            ("PAYMENT_POLL_INTERVAL", "1s".to_owned()),
            ("TASK_POLL_INTERVAL", "100ms".to_owned()),
            ("TASK_LEASE", "5s".to_owned()),
            ("SHUTDOWN_GRACE", "50ms".to_owned()),
            ("LOG_FORMAT", "json".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        settings.extend(partners.service_env());
        let all = PartnerName::payment_systems().map(PartnerName::as_str).collect::<Vec<_>>();
        settings.push(("PAYMENT_PROVIDERS".to_owned(), all.join(",")));
        for partner in PartnerName::payment_systems() {
            let system = partner.as_str().to_uppercase();
            for (knob, value) in [
                ("CONNECT_TIMEOUT", "200ms"),
                ("READ_TIMEOUT", "600ms"),
                ("CALL_TIMEOUT", "1800ms"),
                ("SLOW_CALL_THRESHOLD", "500ms"),
                ("CB_OPEN_TIMEOUT", "1s"),
            ] {
                settings.push((format!("{system}_{knob}"), value.to_owned()));
            }
        }
        let http_client = reqwest::Client::builder().timeout(PATIENCE).build().unwrap();
        Self {
            partners,
            http: http_client,
            api: format!("http://{http}"),
            admin: format!("http://{admin}"),
            folder,
            settings,
            child: None,
        }
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    /// Takes away every variable that begins so, and returns them.
    pub fn unset(&mut self, prefix: &str) -> Vec<(String, String)> {
        self.settings.extract_if(.., |(name, _)| name.starts_with(prefix)).collect()
    }

    /// Where the instance keeps its orders.
    pub fn database_url(&self) -> &str {
        let mut settings = self.settings.iter();
        settings.find(|(name, _)| name == "DATABASE_URL").map(|(_, url)| &**url).unwrap()
    }

    /// Starts an instance and waits until it is ready, or dead if it was told to die early.
    pub async fn start(&mut self, extra: &[(&str, &str)]) {
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"))
            .unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_order-service"))
            .env_clear()
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .envs(extra.iter().copied())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        self.child = Some(child);
        let ready = format!("{}/health/ready", self.api);
        let end = Instant::now() + PATIENCE;
        loop {
            if self.http.get(&ready).send().await.is_ok_and(|reply| reply.status() == 200) {
                return;
            }
            if self.child.as_mut().unwrap().try_wait().unwrap().is_some() {
                return;
            }
            assert!(Instant::now() < end, "not ready: {}", self.log());
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Runs a command of the binary to its end, with the instance's settings.
    pub async fn run(&self, arguments: &[&str]) -> std::process::Output {
        Command::new(env!("CARGO_BIN_EXE_order-service"))
            .args(arguments)
            .env_clear()
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .output()
            .await
            .unwrap()
    }

    pub async fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().await.unwrap();
    }

    /// SIGTERM, and the exit code.
    pub async fn stop(&mut self) -> Option<i32> {
        let mut child = self.child.take().unwrap();
        let pid = child.id().unwrap().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().await.unwrap();
        child.wait().await.unwrap().code()
    }

    /// Waits until the instance is dead by itself.
    pub async fn await_death(&mut self) {
        let mut child = self.child.take().unwrap();
        let status = tokio::time::timeout(PATIENCE, child.wait()).await.expect("it lives").unwrap();
        assert!(!status.success());
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    pub async fn get(&self, path: &str) -> Reply {
        reply(self.http.get(format!("{}{path}", self.api))).await.unwrap()
    }

    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.try_post(path, body).await.unwrap()
    }

    pub async fn try_post(&self, path: &str, body: Value) -> Result<Reply, reqwest::Error> {
        let request = self.http.post(format!("{}{path}", self.api));
        reply(request.header("content-type", "application/json").body(body.to_string())).await
    }

    /// As an operator.
    pub async fn put_admin(&self, path: &str, body: &'static str) {
        let request = self.http.put(format!("{}{path}", self.admin)).body(body);
        let reply = request.header("content-type", "application/json").send().await.unwrap();
        assert!(reply.status().is_success(), "{}", reply.text().await.unwrap());
    }

    /// Each with a key of its own.
    pub async fn refund(&self, path: &str, body: Value) -> Reply {
        let key = uuid::Uuid::new_v4().to_string();
        let request = self.http.post(format!("{}{path}", self.api)).header("idempotency-key", key);
        let request = request.header("content-type", "application/json").body(body.to_string());
        reply(request).await.unwrap()
    }

    pub async fn place(&self) -> String {
        let wanted = json!({"customer_id": "c-1", "items": [{"product_id": "p-1", "quantity": 2}]});
        let placed = self.post("/v1/orders", wanted).await;
        assert_eq!(placed.status, 201, "{}", placed.body);
        placed.body["id"].as_str().unwrap().to_owned()
    }

    pub async fn confirm(&self, order: &str) -> Reply {
        self.post(&format!("/v1/orders/{order}/confirm"), json!({})).await
    }

    pub async fn order(&self, order: &str) -> Value {
        self.get(&format!("/v1/orders/{order}")).await.body
    }

    pub async fn until_order(&self, order: &str, status: &str) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let body = self.order(order).await;
            if body["status"] == status {
                return body;
            }
            assert!(Instant::now() < end, "not {status}: {body}\n{}", self.log());
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Reads until what was cached is no longer fresh.
    pub async fn until_stale(&self, path: &str) -> Reply {
        let end = Instant::now() + PATIENCE;
        loop {
            let reply = self.get(path).await;
            if reply.body["stale"] == true {
                return reply;
            }
            assert!(Instant::now() < end, "still fresh: {}", reply.body);
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Long-polls a task to its end.
    pub async fn until_final(&self, task: &Value) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let body = self.get(&format!("/v1/tasks/{task}?wait=5s")).await.body;
            let status = body["status"].as_str().unwrap_or_default();
            if !matches!(status, "queued" | "running") {
                return body;
            }
            assert!(Instant::now() < end, "not final: {body}\n{}", self.log());
        }
    }

    /// Orders at both providers that are registered or paid: the number that must never pass one.
    pub fn alive(&self) -> usize {
        self.everything()
            .iter()
            .filter(|entry| entry.order.live || entry.order.deposited > 0)
            .count()
    }

    pub fn everything(&self) -> Vec<order_service::sandbox::LedgerEntry> {
        PartnerName::payment_systems().flat_map(|partner| self.partners.orders(partner)).collect()
    }
}

async fn reply(request: reqwest::RequestBuilder) -> Result<Reply, reqwest::Error> {
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok(Reply { status, headers, body })
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}
