//! A receiver of webhooks that does what its script says, and takes everything when that is over.

use order_service::core::domain::webhook::SigningKeys;
use order_service::core::domain::webhook::attempt::{Answer, AttemptError, ForbiddenDestination};
use order_service::core::ports::webhooks::{Attempt, ShownKeys, Webhook, WebhookSender};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

#[derive(Debug, Default)]
pub struct RecordingReceiver {
    pub script: Mutex<VecDeque<Result<u16, AttemptError>>>,
    /// `webhook-id` and body, in the order in which they came.
    pub taken: Mutex<Vec<(String, String)>>,
}

impl RecordingReceiver {
    pub fn answers(&self, script: impl IntoIterator<Item = Result<u16, AttemptError>>) {
        self.script.lock().unwrap().extend(script);
    }

    pub fn ids(&self) -> Vec<String> {
        self.taken.lock().unwrap().iter().map(|(id, _)| id.clone()).collect()
    }
}

#[async_trait::async_trait]
impl WebhookSender for RecordingReceiver {
    async fn send(&self, webhook: &Webhook<'_>) -> Attempt {
        let answer = self.script.lock().unwrap().pop_front().unwrap_or(Ok(204));
        if answer.is_ok() {
            let heard = (webhook.id.as_str().to_owned(), webhook.body.to_owned());
            self.taken.lock().unwrap().push(heard);
        }
        let result = answer.map(|status| Answer { status, retry_after: None });
        Attempt { result, took: Duration::from_millis(7), excerpt: "thanks".to_owned() }
    }

    fn check(&self, url: &str) -> Result<(), ForbiddenDestination> {
        if url.starts_with("https://") { Ok(()) } else { Err(ForbiddenDestination::NotHttps) }
    }

    fn shown(&self, keys: &SigningKeys) -> ShownKeys {
        let [secret, public_key] = [("whsec", keys.shared[31]), ("whpk", keys.ed25519_seed[31])]
            .map(|(kind, byte)| format!("{kind}_{byte}"));
        ShownKeys { secret, public_key }
    }
}
