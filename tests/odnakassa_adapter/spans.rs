//! The spans that dashboards and people search for.

use crate::{listed, rig};

#[tokio::test]
async fn every_method_has_its_span() {
    rig().await.every_method_has_its_span("OdnaKassaAdapter", "GET", listed("pending")).await;
}
