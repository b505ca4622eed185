//! The sample shops of `examples/shops`, run as they are against the real binary and its simulated partners.
//! Where their tools cannot be had the test says so, and proves nothing.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A service with its sandbox, on free ports.
struct Instance {
    api: String,
    control: String,
    child: Child,
    _folder: tempfile::TempDir,
}

impl Instance {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("orders.db").display());
        let mut child = Command::new(env!("CARGO_BIN_EXE_order-service"))
            .args(["--sandbox", "--fast"])
            .env_clear()
            .envs([("HTTP_ADDR", "127.0.0.1:0"), ("ADMIN_ADDR", "127.0.0.1:0")])
            .env("DATABASE_URL", database)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut place = |name: &str| loop {
            let line = lines.next().expect("it greets").unwrap();
            let mut words = line.split_whitespace();
            if words.next() == Some(name) {
                return words.next().unwrap().to_owned();
            }
        };
        let (api, control) = (place("API"), place("control"));
        // Whatever it prints later must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { api, control, child, _folder: folder }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A copy of a shop, in which its tools may leave what they like.
fn copy_of(shop: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/shops").join(shop);
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shops").join(shop);
    copy(&from, &to);
    to
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let made = ["node_modules", "build", "venv", "__pycache__"];
        if made.contains(&entry.file_name().to_str().unwrap()) {
            continue;
        }
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn run(
    folder: &Path,
    instance: &Instance,
    program: &str,
    arguments: &[&str],
) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .envs([("API", &instance.api), ("CONTROL", &instance.control)])
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    let told =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let told = told.join("\n");
    if output.status.success() { Ok(told) } else { Err(format!("{program} {arguments:?}: {told}")) }
}

/// Prepares what the shop needs; `false` where that cannot be had.
fn prepared(shop: &str, step: Result<String, String>) -> bool {
    if let Err(why) = &step {
        eprintln!("SKIPPED: the {shop} shop is not tested, since its tools cannot be had: {why}");
    }
    step.is_ok()
}

#[test]
fn the_typescript_shop_sells() {
    let (folder, instance) = (copy_of("typescript"), Instance::start());
    let npm = |arguments: &[&str]| run(&folder, &instance, "npm", arguments);
    let quiet = ["install", "--no-fund", "--no-audit", "--no-package-lock"];
    if !prepared("TypeScript", npm(&quiet)) {
        return;
    }
    npm(&["run", "types"]).unwrap();
    npm(&["run", "build"]).unwrap();
    let told = npm(&["start"]).unwrap();
    assert!(told.contains("all 9 stories end well"), "{told}");
}

#[test]
fn the_python_shop_sells() {
    let (folder, instance) = (copy_of("python"), Instance::start());
    let run = |program: &str, arguments: &[&str]| run(&folder, &instance, program, arguments);
    if !prepared("Python", run("python3", &["-m", "venv", "venv"]))
        || !prepared("Python", run("venv/bin/pip", &["install", "-q", "-r", "requirements.txt"]))
    {
        return;
    }
    let told = run("venv/bin/python", &["main.py"]).unwrap();
    assert!(told.contains("all 9 stories end well"), "{told}");
}

/// A receiver of webhooks that prints what is new to it.
struct Receiver {
    child: Child,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Receiver {
    fn start(mut command: Command, secret: &str, port: u16) -> Self {
        let mut child = command
            .env("WEBHOOK_SECRET", secret)
            .env("PORT", port.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (told, lines) = std::sync::mpsc::channel();
        let printed = BufReader::new(child.stdout.take().unwrap()).lines();
        std::thread::spawn(move || {
            printed.map_while(Result::ok).try_for_each(|line| told.send(line))
        });
        Self { child, lines }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(std::time::Duration::from_secs(60)).expect("it is told")
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn post(url: &str, body: serde_json::Value) -> serde_json::Value {
    let client = reqwest::Client::builder().timeout(std::time::Duration::from_secs(20));
    let request = client.build().unwrap().post(url).header("content-type", "application/json");
    let reply = request.body(body.to_string()).send().await.unwrap();
    assert!(reply.status().is_success(), "{url} {}", reply.status());
    serde_json::from_slice(&reply.bytes().await.unwrap()).unwrap()
}

/// Places an order; its id.
async fn order(api: &str) -> String {
    let body =
        serde_json::json!({"customer_id": "c-1", "items": [{"product_id": "p-1", "quantity": 1}]});
    post(&format!("{api}/v1/orders"), body).await["id"].as_str().unwrap().to_owned()
}

/// It takes an order's events in their sequence, and what is sent twice once.
async fn receives(command: Command) {
    let service = Instance::start();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let endpoints = format!("{}/v1/webhook-endpoints", service.api);
    let url = format!("http://127.0.0.1:{port}/hooks");
    let endpoint = post(&endpoints, serde_json::json!({"url": url})).await;
    let (id, secret) = (endpoint["id"].as_str().unwrap(), endpoint["secret"].as_str().unwrap());
    let receiver = Receiver::start(command, secret, port);
    let first = order(&service.api).await;
    post(&format!("{}/v1/orders/{first}/confirm", service.api), serde_json::json!({})).await;
    assert_eq!(receiver.line(), format!("{first}_1 order.placed new"));
    assert_eq!(receiver.line(), format!("{first}_2 payment.registered awaiting_payment"));
    let again = serde_json::json!({"event_id": format!("{first}_1")});
    post(&format!("{endpoints}/{id}/redeliver"), again).await;
    let second = order(&service.api).await;
    assert_eq!(receiver.line(), format!("{second}_1 order.placed new"), "and nothing twice");
    post(&format!("{endpoints}/{id}/test"), serde_json::json!({})).await;
    assert_eq!(receiver.line(), "test");
}

#[tokio::test]
async fn the_receiver_in_rust_takes_what_it_is_told() {
    let examples =
        Path::new(env!("CARGO_BIN_EXE_order-service")).parent().unwrap().join("examples");
    receives(Command::new(examples.join("webhook_receiver"))).await;
}

#[tokio::test]
async fn the_receiver_in_python_takes_what_it_is_told() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("webhooks");
    fs::create_dir_all(&folder).unwrap();
    let step = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(&folder).output();
        let output = output.map_err(|error| format!("{program}: {error}"))?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(told) } else { Err(told) }
    };
    if !prepared("webhook", step("python3", &["-m", "venv", "venv"]))
        || !prepared("webhook", step("venv/bin/pip", &["install", "-q", "standardwebhooks"]))
    {
        return;
    }
    let mut python = Command::new(folder.join("venv/bin/python"));
    python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/webhooks/receiver.py"));
    receives(python).await;
}
