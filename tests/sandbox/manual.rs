//! The manual's every `curl` works as it is printed.

use order_service::core::domain::ids::OrderId;
use order_service::sandbox::Sandbox;
use reqwest::Method;

use crate::shop::{Shop, client, kassa, payment, register, sandbox};

/// An order of the service's.
const ORDER: &str = "0193b3c4-5d6e-7f80-91a2-b3c4d5e6f708";

const MANUAL: &str = include_str!("../../docs/sandbox.md");

struct Curl<'a> {
    line: &'a str,
    method: Method,
    path: &'a str,
    body: &'a str,
}

impl<'a> Curl<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let rest = line.strip_prefix("curl ")?;
        let body = rest.split_once("-d '").map(|(_, body)| body.trim_end_matches('\''));
        let (_, path) = rest.split_once("$CONTROL").expect("every example asks the control API");
        let method = match rest.strip_prefix("-X ").and_then(|rest| rest.split(' ').next()) {
            Some(method) => method.parse().expect("a method"),
            None if body.is_some() => Method::POST,
            None => Method::GET,
        };
        let path = path.split([' ', '"']).next().unwrap_or_default();
        Some(Self { line, method, path, body: body.unwrap_or_default() })
    }

    async fn run(&self, sandbox: &Sandbox) -> u16 {
        let path = self.path.replace("$ORDER", ORDER);
        let url = format!("{}/control{path}", sandbox.control_url());
        let request = client().request(self.method.clone(), url).body(self.body.to_owned());
        request.send().await.expect("a reply").status().as_u16()
    }
}

#[tokio::test]
async fn every_curl_in_the_manual_works() {
    let sandbox = sandbox().await;
    let _shop = Shop::open(&sandbox, &[]).await;
    let examples: Vec<_> = MANUAL.lines().filter_map(Curl::parse).collect();
    assert!(examples.len() > 70, "the manual has examples");
    for example in examples {
        sandbox.reset().await;
        register(&sandbox, "A-01").await;
        let ours = OrderId::parse(ORDER).unwrap().to_base32();
        register(&sandbox, &format!("{ours}-01")).await;
        kassa(&sandbox, "", "k-1", &payment("A-01")).await.expect("a reply");
        let status = example.run(&sandbox).await;
        assert!((200..300).contains(&status), "{status}: {}", example.line);
    }
}
