//! Against the simulated partner: what is OdnaKassa's own.

use crate::config;
use crate::payment_partner::calls::{Alarms, call, order};
use order_service::adapters::outbound::odnakassa::OdnaKassaAdapter;
use order_service::adapters::resilience::clock::MonotonicClock;
use order_service::adapters::resilience::observer::Silent;
use order_service::core::ports::payment::{PaymentError, PaymentPort};
use order_service::sandbox::{Deed, PartnerName, Sandbox, SandboxConfig};
use secrecy::SecretString;
use std::sync::Arc;

struct Kassa {
    sandbox: Sandbox,
    adapter: OdnaKassaAdapter,
    alarms: Arc<Alarms>,
}

async fn kassa() -> Kassa {
    let sandbox = Sandbox::start(SandboxConfig::default()).await.unwrap();
    let mut config = config(&sandbox.base_url(PartnerName::OdnaKassa));
    config.api_key = SecretString::from("sandbox-key");
    let alarms = Arc::new(Alarms::default());
    let adapter =
        OdnaKassaAdapter::new(config, MonotonicClock::coarse(), Arc::new(Silent), alarms.clone())
            .unwrap();
    Kassa { sandbox, adapter, alarms }
}

#[tokio::test]
async fn a_replay_tells_the_payments_present_status() {
    let kassa = kassa().await;
    kassa.adapter.register(&order(), &call()).await.unwrap();
    kassa.sandbox.act(PartnerName::OdnaKassa, order().number.as_str(), Deed::Pay).unwrap();
    let repeated = kassa.adapter.register(&order(), &call()).await;
    assert_eq!(repeated, Err(PaymentError::Duplicate), "it is asked for and compared");
    assert_eq!(kassa.alarms.rung(), 0);
}

#[tokio::test]
async fn a_key_with_another_body_is_an_alarm_and_a_question() {
    let kassa = kassa().await;
    kassa.adapter.register(&order(), &call()).await.unwrap();
    let mut other = order();
    other.checkout.return_url = "https://shop.example/elsewhere".to_owned();
    let refused = kassa.adapter.register(&other, &call()).await;
    assert_eq!(refused, Err(PaymentError::Duplicate));
    assert_eq!(kassa.alarms.rung(), 1);
}
