//! What is OdnaKassa's own at its adapter: the shape of each request and the meaning of each answer.
//! What every payment system has to keep to is `tests/payment_port_contract`.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../payment_partner/mod.rs"]
mod payment_partner;

mod answers;
mod requests;
mod sandbox;

use order_service::adapters::outbound::http_client::{Transport, base_url};
use order_service::adapters::outbound::odnakassa::{OdnaKassaAdapter, OdnaKassaConfig};
use order_service::adapters::resilience::breaker::Breaker;
use order_service::adapters::resilience::clock::MonotonicClock;
use order_service::adapters::resilience::observer::Silent;
use payment_partner::calls::{Alarms, EXTERNAL_ID, NUMBER};
use payment_partner::port::{Guarded, Rig, guards};
use payment_partner::{Answer, StubPartner, json};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::sync::Arc;

const API_KEY: &str = "key-of-the-shop";

impl Guarded for OdnaKassaAdapter {
    fn guard(&self) -> &Breaker {
        self.breaker()
    }
}

fn config(url: &str) -> OdnaKassaConfig {
    OdnaKassaConfig {
        base_url: base_url(url).unwrap(),
        transport: Transport::default(),
        api_key: SecretString::from(API_KEY),
        webhook_secrets: Vec::new(),
        guards: guards(),
    }
}

async fn rig_with(change: impl FnOnce(&mut OdnaKassaConfig)) -> Rig<OdnaKassaAdapter> {
    let stub = StubPartner::playing([]).await;
    let mut config = config(&stub.url);
    change(&mut config);
    let alarms = Arc::new(Alarms::default());
    let adapter =
        OdnaKassaAdapter::new(config, MonotonicClock::coarse(), Arc::new(Silent), alarms.clone())
            .unwrap();
    Rig { stub, adapter, alarms }
}

async fn rig() -> Rig<OdnaKassaAdapter> {
    rig_with(|_| ()).await
}

fn payment_object(status: &str) -> Value {
    json!({
        "id": EXTERNAL_ID, "order_id": NUMBER, "status": status,
        "amount": {"value": "199.00", "currency": "RUB"},
        "refunded": {"value": "50.00", "currency": "RUB"},
        "confirmation": {"type": "redirect", "confirmation_url": "https://kassa.example/pay/1"},
        "created_at": "2025-11-30T10:53:20Z", "expires_at": "2025-11-30T11:13:20Z",
        "version": 1, "metadata": {}, "new_member": [1],
    })
}

fn listed(status: &str) -> Answer {
    json(200, &json!({"items": [payment_object(status)]}))
}

fn problem(http: u16, code: &str) -> Answer {
    let error = json!({"code": code, "message": "secret partner text", "request_id": "r"});
    json(http, &json!({ "error": error }))
}
