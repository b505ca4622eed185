//! What we sign, before the receivers that the specification's authors publish: crate, Python package, npm package.

use crate::stub_partner::{Answer, Request, StubPartner};
use crate::{BODY, keys, send_to, sender};
use http::HeaderMap;
use order_service::adapters::outbound::webhooks::signing::shown_secret;
use serde_json::json;
use standardwebhooks::Webhook;
use std::io::Write;
use std::process::{Command, Stdio};

const HEADERS: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];

/// Sent while `keys(2)` replaces `keys(1)`.
async fn webhook() -> Request {
    let receiver = StubPartner::playing([Answer::Status(200)]).await;
    let attempt = send_to(&sender(), 1, &receiver.url, &[keys(2), keys(1)]).await;
    assert_eq!(attempt.result.unwrap().status, 200);
    receiver.asked_once()
}

#[tokio::test]
async fn the_crate_takes_it_by_the_new_and_by_the_old_secret_and_by_no_other() {
    let request = webhook().await;
    let mut headers = HeaderMap::new();
    for name in HEADERS {
        headers.insert(name, request.header(name).unwrap().parse().unwrap());
    }
    let verify = |seed, body: &str| {
        let receiver = Webhook::new(&shown_secret(&keys(seed))).unwrap();
        receiver.verify(body.as_bytes(), &headers).is_ok()
    };
    assert!(verify(2, BODY) && verify(1, BODY));
    assert!(!verify(3, BODY) && !verify(2, &BODY.replace("paid", "pa1d")));
    let mut replayed = headers.clone();
    replayed.insert("webhook-id", "test_2".parse().unwrap());
    let receiver = Webhook::new(&shown_secret(&keys(2))).unwrap();
    assert!(receiver.verify(BODY.as_bytes(), &replayed).is_err());
}

#[tokio::test]
async fn the_python_package_takes_it() {
    const PROGRAM: &str = r"
import json, sys
try:
    from standardwebhooks import Webhook
except ImportError:
    sys.exit(77)
told = json.loads(sys.stdin.buffer.read())
for secret in told['secrets']:
    Webhook(secret).verify(told['body'], told['headers'])
try:
    Webhook(told['wrong']).verify(told['body'], told['headers'])
except Exception:
    sys.exit(0)
sys.exit('a wrong secret was taken')
";
    ask("Python's standardwebhooks", Command::new("python3").arg("-c").arg(PROGRAM)).await;
}

#[tokio::test]
async fn the_npm_package_takes_it() {
    const PROGRAM: &str = r"
let Webhook;
try { ({ Webhook } = require('standardwebhooks')); } catch { process.exit(77); }
const told = JSON.parse(require('fs').readFileSync(0));
for (const secret of told.secrets) new Webhook(secret).verify(told.body, told.headers);
try { new Webhook(told.wrong).verify(told.body, told.headers); } catch { process.exit(0); }
throw new Error('a wrong secret was taken');
";
    ask("npm's standardwebhooks", Command::new("node").arg("-e").arg(PROGRAM)).await;
}

/// scripts/test puts both packages beside the build.
async fn ask(package: &str, program: &mut Command) {
    let request = webhook().await;
    let headers = HEADERS.map(|name| (name, request.header(name).unwrap()));
    let told = json!({
        "secrets": [shown_secret(&keys(2)), shown_secret(&keys(1))],
        "wrong": shown_secret(&keys(3)),
        "headers": headers.into_iter().collect::<std::collections::HashMap<_, _>>(),
        "body": request.body,
    });
    let tools = concat!(env!("CARGO_MANIFEST_DIR"), "/target/tools");
    program.env("PYTHONPATH", format!("{tools}/python"));
    program.env("NODE_PATH", format!("{tools}/node/node_modules"));
    let Ok(mut child) = program.stdin(Stdio::piped()).spawn() else { return say_skipped(package) };
    // One that has no package is gone before it is told anything.
    drop(child.stdin.take().unwrap().write_all(told.to_string().as_bytes()));
    match child.wait().unwrap().code() {
        Some(77) => say_skipped(package),
        code => assert_eq!(code, Some(0), "{package} refused it"),
    }
}

/// Past the test harness, which swallows what a passing test prints.
fn say_skipped(package: &str) {
    let line =
        format!("\n*** {package} SKIPPED: it is not installed (scripts/test fetches it) ***\n\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
