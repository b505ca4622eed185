//! The real binary, with the partners that it simulates itself.

use serde_json::{Value, json};
use std::process::Stdio;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

pub struct Instance {
    pub console: String,
    api: String,
    control: String,
    http: reqwest::Client,
    child: Child,
    _folder: TempDir,
}

impl Instance {
    /// Starts one on free ports and reads from its greeting where it is.
    pub async fn start(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("orders.db").display());
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_order-service"))
            .arg("--sandbox")
            .env_clear()
            .envs([("HTTP_ADDR", "127.0.0.1:0"), ("ADMIN_ADDR", "127.0.0.1:0")])
            .env("DATABASE_URL", database)
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let [mut api, mut console, mut control] = [const { String::new() }; 3];
        while control.is_empty() {
            let line = lines.next_line().await.unwrap().expect("it greets");
            let mut words = line.split_whitespace();
            let place = match words.next() {
                Some("API") => &mut api,
                Some("console") => &mut console,
                Some("control") => &mut control,
                Some(_) | None => continue,
            };
            words.next().unwrap().clone_into(place);
        }
        let http = reqwest::Client::builder().build().unwrap();
        Self { console, api, control, http, child, _folder: folder }
    }

    pub async fn admin(&self, path: &str) -> Value {
        let address = self.console.replace("/console", path);
        json_of(self.http.get(address)).await
    }

    pub async fn order(&self, id: &str) -> Value {
        json_of(self.http.get(format!("{}/v1/orders/{id}", self.api))).await
    }

    /// An order whose payment waits, because neither payment system is there.
    pub async fn stuck_order(&self) -> String {
        for system in ["sber", "odnakassa"] {
            let mode = self.http.put(format!("{}/{system}/mode", self.control));
            assert!(
                body(mode, &json!({"mode": "down"})).send().await.unwrap().status().is_success()
            );
        }
        let wanted = json!({"customer_id": "c-1", "items": [{"product_id": "p-1", "quantity": 2}]});
        let place = self.http.post(format!("{}/v1/orders", self.api));
        let placed = json_of(body(place, &wanted)).await;
        let id = placed["id"].as_str().unwrap().to_owned();
        let confirm = self.http.post(format!("{}/v1/orders/{id}/confirm", self.api));
        assert_eq!(json_of(confirm).await["status"], "queued");
        id
    }

    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }
}

fn body(request: reqwest::RequestBuilder, value: &Value) -> reqwest::RequestBuilder {
    request.header("content-type", "application/json").body(value.to_string())
}

async fn json_of(request: reqwest::RequestBuilder) -> Value {
    let text = request.send().await.unwrap().text().await.unwrap();
    serde_json::from_str(&text).unwrap()
}
