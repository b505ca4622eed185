//! What is Sber's own at its adapter: the shape of each request and the meaning of each answer. What
//! every payment system has to keep to is `tests/payment_port_contract`.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../payment_partner/mod.rs"]
mod payment_partner;

mod answers;
mod requests;
mod sandbox;

use order_service::adapters::outbound::http_client::{Transport, base_url};
use order_service::adapters::outbound::sber::{Credentials, Protocol, SberAdapter, SberConfig};
use order_service::adapters::resilience::breaker::Breaker;
use order_service::adapters::resilience::clock::MonotonicClock;
use order_service::adapters::resilience::observer::Silent;
use payment_partner::calls::{Alarms, EXTERNAL_ID, NUMBER};
use payment_partner::port::{Guarded, Rig, guards};
use payment_partner::{Answer, StubPartner, json};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::sync::Arc;

const PASSWORD: &str = "p&ss=w%rd";

impl Guarded for SberAdapter {
    fn guard(&self) -> &Breaker {
        self.breaker()
    }
}

fn config(url: &str, protocol: Protocol) -> SberConfig {
    SberConfig {
        base_url: base_url(&format!("{url}/payment/rest")).unwrap(),
        protocol,
        credentials: Credentials::Login {
            username: "shop-api".to_owned(),
            password: SecretString::from(PASSWORD),
        },
        callback_key: None,
        transport: Transport::default(),
        guards: guards(),
    }
}

async fn rig_with(protocol: Protocol, change: impl FnOnce(&mut SberConfig)) -> Rig<SberAdapter> {
    let stub = StubPartner::playing([]).await;
    let mut config = config(&stub.url, protocol);
    change(&mut config);
    let (adapter, alarms) = adapter(config);
    Rig { stub, adapter, alarms }
}

fn adapter(config: SberConfig) -> (SberAdapter, Arc<Alarms>) {
    let alarms = Arc::new(Alarms::default());
    let adapter =
        SberAdapter::new(config, MonotonicClock::coarse(), Arc::new(Silent), alarms.clone());
    (adapter.unwrap(), alarms)
}

async fn rig(protocol: Protocol) -> Rig<SberAdapter> {
    rig_with(protocol, |_| ()).await
}

fn form(body: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<_> = form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    pairs.sort();
    pairs
}

fn registered() -> Value {
    json!({"orderId": EXTERNAL_ID, "formUrl": "https://bank.example/pay?mdOrder=6f0c1f0e-1"})
}

fn known(order_status: i64) -> Value {
    json!({
        "errorCode": "0", "orderNumber": NUMBER, "orderStatus": order_status, "actionCode": 0,
        "amount": 19900, "currency": "643",
        "attributes": [{"name": "mdOrder", "value": EXTERNAL_ID}],
        "paymentAmountInfo": {"refundedAmount": 5000},
    })
}

fn code(code: i64) -> Answer {
    json(200, &json!({"errorCode": code.to_string(), "errorMessage": "secret gateway text"}))
}
