//! A browser of the machine's own, without a head, led by its driver.

use crate::webdriver::Session;
use futures_util::FutureExt;
use serde_json::{Value, json};
use std::io::Write;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::process::Stdio;
use std::sync::Once;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

/// Long enough for a busy machine, short enough to fail a test.
const PATIENCE: Duration = Duration::from_secs(60);

const FLAGS: [&str; 10] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,1400",
];

pub struct Options {
    pub language: &'static str,
    /// A device to play, as the driver wants it.
    pub emulation: Option<Value>,
}

impl Default for Options {
    fn default() -> Self {
        Self { language: "en-US", emulation: None }
    }
}

/// Runs `visit` in a browser, which is closed however it ends. Without a browser on the machine
/// nothing is run, and that is said loudly.
pub async fn browse(options: Options, visit: impl AsyncFnOnce(Page)) {
    static SAID: Once = Once::new();
    if !["chromedriver", "chromium"].into_iter().all(installed) {
        SAID.call_once(say_skipped);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (_driver, address) = driver().await;
    let session = Session::begin(&address, capabilities(options, &folder)).await;
    let outcome = AssertUnwindSafe(visit(Page { session: session.clone() })).catch_unwind().await;
    session.end().await;
    if let Err(panic) = outcome {
        resume_unwind(panic);
    }
}

fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Past the test harness, which swallows what a passing test prints.
fn say_skipped() {
    let line = b"\n*** the browser tests SKIPPED: no chromium and chromedriver ***\n\n";
    std::io::stderr().write_all(line).unwrap();
}

async fn driver() -> (Child, String) {
    let mut child = Command::new("chromedriver")
        .arg("--port=0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    loop {
        let line = lines.next_line().await.unwrap().expect("chromedriver starts");
        if let Some((_, port)) = line.split_once("started successfully on port ") {
            let port = port.trim_end_matches('.').to_owned();
            // Its pipe must not fill up.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return (child, format!("http://127.0.0.1:{port}"));
        }
    }
}

fn capabilities(browser: Options, folder: &TempDir) -> Value {
    let mut arguments: Vec<_> = FLAGS.map(str::to_owned).into();
    arguments.push(format!("--user-data-dir={}", folder.path().display()));
    let mut options =
        json!({"args": arguments, "prefs": {"intl.accept_languages": browser.language}});
    if let Some(device) = browser.emulation {
        options["mobileEmulation"] = device;
    }
    json!({
        "browserName": "chrome",
        "goog:chromeOptions": options,
        "goog:loggingPrefs": {"browser": "ALL"},
    })
}

/// What is open, and what a person does with it. Elements are named by CSS selectors.
pub struct Page {
    session: Session,
}

impl Page {
    pub async fn open(&self, address: &str) {
        self.session.post("url", json!({"url": address})).await.unwrap();
    }

    pub async fn title(&self) -> String {
        self.session.get("title").await.unwrap().as_str().unwrap().to_owned()
    }

    /// What is seen of an element; nothing while there is none.
    async fn text(&self, selector: &str) -> String {
        let Ok(element) = self.session.find(selector).await else { return String::new() };
        let text = self.session.get(&format!("element/{element}/text")).await.unwrap_or_default();
        text.as_str().unwrap_or_default().to_owned()
    }

    pub async fn until(&self, selector: &str, words: &str) {
        self.wait(selector, words, true).await;
    }

    pub async fn until_gone(&self, selector: &str, words: &str) {
        self.wait(selector, words, false).await;
    }

    async fn wait(&self, selector: &str, words: &str, wanted: bool) {
        let end = Instant::now() + PATIENCE;
        loop {
            let text = self.text(selector).await;
            if text.contains(words) == wanted {
                return;
            }
            assert!(Instant::now() < end, "{selector} says {text:?}, not {words:?}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Clicks as soon as it can be clicked.
    pub async fn click(&self, selector: &str) {
        self.act(selector, "click", json!({})).await;
    }

    pub async fn write(&self, selector: &str, text: &str) {
        self.act(selector, "clear", json!({})).await;
        self.act(selector, "value", json!({"text": text})).await;
    }

    async fn act(&self, selector: &str, action: &str, body: Value) {
        let end = Instant::now() + PATIENCE;
        loop {
            let done = match self.session.find(selector).await {
                Ok(id) => self.session.post(&format!("element/{id}/{action}"), body.clone()).await,
                Err(error) => Err(error),
            };
            let Err(error) = done else { return };
            assert!(Instant::now() < end, "{action} {selector}: {error}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    pub async fn shows(&self, selector: &str) -> bool {
        self.ask(&format!("return document.querySelector('{selector}').checkVisibility()")).await
            == true
    }

    pub async fn count(&self, selector: &str) -> u64 {
        let script = format!("return document.querySelectorAll('{selector}').length");
        self.ask(&script).await.as_u64().unwrap()
    }

    pub async fn ask(&self, script: &str) -> Value {
        let body = json!({"script": script, "args": []});
        self.session.post("execute/sync", body).await.unwrap()
    }

    /// The browser has refused nothing, and no script has failed. That an address answered 400 or
    /// 401 is no complaint.
    pub async fn has_no_complaints(&self) {
        let log = self.session.post("se/log", json!({"type": "browser"})).await.unwrap();
        let complaints = log.as_array().unwrap().iter().filter(|line| {
            let answered = line["message"].as_str().unwrap().contains("Failed to load resource");
            line["level"] == "SEVERE" && !answered
        });
        assert_eq!(complaints.collect::<Vec<_>>(), [&Value::Null; 0]);
    }
}
