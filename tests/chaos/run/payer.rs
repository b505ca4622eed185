//! The payers: who has a form in front of him pays, has his card declined, or leaves it.

use super::harness::Harness;
use super::trouble::pause;
use fastrand::Rng;
use std::sync::Arc;

pub async fn pay(harness: Arc<Harness>, mut rng: Rng) {
    // The way back leads to a shop that does not exist.
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
    let browser = browser.build().unwrap();
    while pause(&harness, &mut rng, 5..40).await {
        let form = {
            let mut forms = harness.forms.lock().unwrap();
            if forms.is_empty() {
                continue;
            }
            let any = rng.usize(..forms.len());
            forms.swap_remove(any)
        };
        let button = match rng.u8(..10) {
            0..6 => "pay",
            6 => "decline",
            7 => "fail_attempt",
            _ => continue,
        };
        let press = browser.post(&form).header("content-type", "application/x-www-form-urlencoded");
        let pressed = press.body(format!("action={button}")).send().await.unwrap();
        if pressed.status() != 303 {
            harness.complain(format!("the form {form} leads nowhere: {}", pressed.status()));
        }
    }
}
