//! The spans that dashboards and people search for.

use crate::payment_partner::json;
use crate::{known, rig};
use order_service::adapters::outbound::sber::Protocol;

#[tokio::test]
async fn every_method_has_its_span() {
    let rig = rig(Protocol::Classic).await;
    rig.every_method_has_its_span("SberAdapter", "POST", json(200, &known(0))).await;
}
