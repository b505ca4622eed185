//! The payers: who has a form in front of him pays, has his card declined, or leaves it.

use super::stage::Stage;
use super::trouble::pause;
use fastrand::Rng;
use std::sync::Arc;

pub async fn pay(stage: Arc<Stage>, mut rng: Rng) {
    // The way back leads to a shop that does not exist.
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
    let browser = browser.build().unwrap();
    while pause(&stage, &mut rng, 5..40).await {
        let form = {
            let mut forms = stage.forms.lock().unwrap();
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
            stage.complain(format!("the form {form} leads nowhere: {}", pressed.status()));
        }
    }
}
