//! One instance of the service, which dies and comes back at the same address.

use std::fs::File;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

/// A machine may be busy; an instance that needs longer than this does not come back.
const PATIENCE: Duration = Duration::from_secs(90);

#[derive(Debug)]
pub struct Instance {
    pub name: String,
    pub api: String,
    binary: PathBuf,
    settings: Vec<(String, String)>,
    folder: TempDir,
    http: reqwest::Client,
    child: Option<Child>,
}

impl Instance {
    pub fn new(number: usize, binary: PathBuf, mut settings: Vec<(String, String)>) -> Self {
        let name = format!("chaos-{number}");
        let http = format!("127.0.0.1:{}", free_port());
        settings.push(("HTTP_ADDR".to_owned(), http.clone()));
        settings.push(("ADMIN_ADDR".to_owned(), format!("127.0.0.1:{}", free_port())));
        settings.push(("INSTANCE_ID".to_owned(), name.clone()));
        let client = reqwest::Client::builder().timeout(Duration::from_secs(2)).no_proxy();
        Self {
            name,
            api: format!("http://{http}"),
            binary,
            settings,
            folder: tempfile::tempdir().unwrap(),
            http: client.build().unwrap(),
            child: None,
        }
    }

    /// Until it is ready, however often it has to be started: without a database it gives up.
    /// Tells how long that took.
    pub async fn start(&mut self) -> Duration {
        let began = Instant::now();
        let ready = format!("{}/health/ready", self.api);
        loop {
            if self.http.get(&ready).send().await.is_ok_and(|reply| reply.status() == 200) {
                return began.elapsed();
            }
            let gone = match &mut self.child {
                None => true,
                Some(child) => child.try_wait().unwrap().is_some(),
            };
            if gone {
                self.child = Some(self.spawn());
            }
            assert!(began.elapsed() < PATIENCE, "{} is not ready:\n{}", self.name, self.log());
            sleep(Duration::from_millis(20)).await;
        }
    }

    fn spawn(&self) -> Child {
        let path = self.folder.path().join("log");
        let log = File::options().create(true).append(true).open(path).unwrap();
        Command::new(&self.binary)
            .env_clear()
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    }

    /// `kill -9`.
    pub async fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().await.unwrap();
        }
    }

    /// SIGTERM, and how it ended; `None`: it did not, within its own time limit and some more.
    pub async fn term(&mut self) -> Option<ExitStatus> {
        let mut child = self.child.take()?;
        if let Some(pid) = child.id() {
            Command::new("kill").args(["-TERM", &pid.to_string()]).status().await.unwrap();
        }
        match timeout(Duration::from_secs(20), child.wait()).await {
            Ok(status) => Some(status.unwrap()),
            Err(_) => {
                child.kill().await.unwrap();
                None
            }
        }
    }

    /// What must never stand in its log.
    pub fn panics(&self) -> Vec<String> {
        let log = self.log();
        let panics = log.lines().filter(|line| line.contains("panicked"));
        panics.map(|line| format!("{} panicked: {line}", self.name)).collect()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

/// A port to come back to. Not one of those that the system gives to outgoing connections: one of
/// them could sit on it while its owner is dead.
pub fn free_port() -> u16 {
    loop {
        let port = fastrand::u16(12_000..32_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
