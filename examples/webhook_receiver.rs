//! Receives an order's events: verified, each once, in sequence. See `examples/webhooks/README.md`.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::mpsc;

struct Receiver {
    webhook: standardwebhooks::Webhook,
    work: mpsc::Sender<Value>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let webhook = standardwebhooks::Webhook::new(&std::env::var("WEBHOOK_SECRET")?)?;
    let port = std::env::var("PORT").unwrap_or_else(|_| "9000".to_owned());
    let (work, events) = mpsc::channel(10_000);
    tokio::spawn(apply_all(events));
    let receiver = Arc::new(Receiver { webhook, work });
    let router = Router::new().fallback(post(receive)).with_state(receiver);
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    axum::serve(listener, router).await?;
    Ok(())
}

/// The signature is over the bytes as they came: verified before anything is parsed, answered before anything is
/// done.
async fn receive(
    State(receiver): State<Arc<Receiver>>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    if receiver.webhook.verify(&body, &headers).is_err() {
        return StatusCode::UNAUTHORIZED;
    }
    let Ok(event) = serde_json::from_slice(&body) else { return StatusCode::BAD_REQUEST };
    // Not taken when there is no room: it comes again.
    receiver
        .work
        .try_send(event)
        .map_or(StatusCode::SERVICE_UNAVAILABLE, |()| StatusCode::NO_CONTENT)
}

/// A shop keeps the last sequence of each order in its database, in the transaction of what it does with the event.
async fn apply_all(mut events: mpsc::Receiver<Value>) {
    let mut last: HashMap<String, u64> = HashMap::new();
    while let Some(event) = events.recv().await {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, order) = (text(&event["type"]), text(&event["order_id"]));
        if kind == "webhook.test" {
            say("test");
            continue;
        }
        // Told before: at least once means sometimes twice.
        let sequence = event["sequence"].as_u64().unwrap_or_default();
        let seen = last.entry(order).or_default();
        if sequence > *seen {
            *seen = sequence;
            let status = text(&event["data"]["order"]["status"]);
            say(&format!("{} {kind} {status}", text(&event["id"])));
        }
    }
}

fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{line}");
}
