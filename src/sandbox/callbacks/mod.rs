//! Callbacks to the merchant: sent in the background with the documented retries, and every way
//! in which they go missing, come twice, out of order, late or forged.

mod message;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use reqwest::Client;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;

pub use self::message::{Form, Message, encoded, hmac_sha256_hex};
use super::locked;

const AT_ONCE: usize = 64;
const REMEMBERED: usize = 100_000;
/// The shortest time that a payment system promises to wait for an answer; some name none.
const PATIENCE: Duration = Duration::from_secs(10);

/// How callbacks behave: the partner's own setting, or that of one order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// `false`: they go missing.
    pub send: bool,
    /// How often each is sent, delivered or not.
    pub times: u32,
    pub delay_ms: u64,
    pub bad_signature: bool,
    /// They are kept until they are released, in any order.
    pub hold: bool,
    /// Before each, the one before it is sent again, late and stale.
    pub repeat_previous: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            send: true,
            times: 1,
            delay_ms: 0,
            bad_signature: false,
            hold: false,
            repeat_previous: false,
        }
    }
}

/// In which order held callbacks leave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseOrder {
    #[default]
    AsHappened,
    Reversed,
}

/// One callback in the partner's book.
#[derive(Debug, Clone, Serialize)]
pub struct CallbackRecord {
    pub seq: u64,
    pub number: String,
    pub kind: String,
    pub tries: u32,
    pub last_status: Option<u16>,
    pub delivered: bool,
    /// Nothing more will be tried.
    pub ended: bool,
}

/// Resolves when the callback has been tried for the first time.
#[derive(Debug)]
pub struct Receipt(Option<oneshot::Receiver<()>>);

impl Future for Receipt {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            Some(first_try) => Pin::new(first_try).poll(cx).map(|_tried_or_given_up| ()),
            None => Poll::Ready(()),
        }
    }
}

/// By what, where to, and under what seal callbacks are sent.
#[derive(Debug)]
pub struct Post {
    pub client: Client,
    /// Below the target.
    pub path: String,
    /// `None` leaves them unsigned.
    pub secret: Option<String>,
    pub target: Option<String>,
    pub time_scale: f64,
}

/// One partner's callbacks.
#[derive(Debug)]
pub struct Callbacks {
    post: Post,
    permits: Semaphore,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    target: Option<String>,
    policy: Policy,
    held: Vec<(Message, Policy)>,
    previous: Option<Message>,
    book: VecDeque<CallbackRecord>,
    next_seq: u64,
    /// Ends the deliveries of before a reset.
    era: CancellationToken,
}

impl Callbacks {
    pub fn new(post: Post) -> Self {
        let inner = Inner { target: post.target.clone(), ..Inner::default() };
        Self { post, permits: Semaphore::new(AT_ONCE), inner: Mutex::new(inner) }
    }

    pub fn set_target(&self, base_url: Option<String>) {
        locked(&self.inner).target = base_url;
    }

    pub fn policy(&self) -> Policy {
        locked(&self.inner).policy.clone()
    }

    pub fn set_policy(&self, policy: Policy) {
        locked(&self.inner).policy = policy;
    }

    /// Oldest first.
    pub fn book(&self) -> Vec<CallbackRecord> {
        locked(&self.inner).book.iter().cloned().collect()
    }

    /// Sends by the order's policy, else by the partner's.
    pub fn send(self: &Arc<Self>, message: Message, policy: Option<Policy>) -> Receipt {
        let (policy, previous) = {
            let mut inner = locked(&self.inner);
            let policy = policy.unwrap_or_else(|| inner.policy.clone());
            if policy.hold {
                inner.held.push((message, policy));
                return Receipt(None);
            }
            (policy, inner.previous.replace(message.clone()))
        };
        if !policy.send {
            return Receipt(None);
        }
        if let Some(stale) = previous.filter(|_| policy.repeat_previous) {
            self.dispatch(stale, &policy);
        }
        self.dispatch(message, &policy)
    }

    /// Lets go of the held ones, one after the other.
    pub async fn release(self: &Arc<Self>, order: ReleaseOrder) -> usize {
        let mut held = std::mem::take(&mut locked(&self.inner).held);
        if order == ReleaseOrder::Reversed {
            held.reverse();
        }
        let count = held.len();
        for (message, policy) in held {
            self.dispatch(message, &policy).await;
        }
        count
    }

    /// Forgets policy, held ones and book, and stops what is being delivered; the target stays.
    pub fn reset(&self) {
        let mut inner = locked(&self.inner);
        inner.era.cancel();
        let (target, next_seq) = (inner.target.take(), inner.next_seq);
        *inner = Inner { target, next_seq, ..Inner::default() };
    }

    /// Puts the message on its way; the receipt is that of the first copy.
    pub fn dispatch(self: &Arc<Self>, message: Message, policy: &Policy) -> Receipt {
        let mut first = None;
        for _copy in 0..policy.times {
            let (tried, receipt) = oneshot::channel();
            let Some((seq, era)) = self.enter(&message) else { return Receipt(None) };
            let delivery = Arc::clone(self).deliver(message.clone(), policy.clone(), seq, tried);
            tokio::spawn(era.run_until_cancelled_owned(delivery));
            first.get_or_insert(receipt);
        }
        Receipt(first)
    }

    async fn deliver(
        self: Arc<Self>,
        message: Message,
        policy: Policy,
        seq: u64,
        tried: oneshot::Sender<()>,
    ) {
        let mut tried = Some(tried);
        tokio::time::sleep(Duration::from_millis(policy.delay_ms)).await;
        let mut waits = message.form.waits().iter();
        loop {
            let status = self.try_once(&message, policy.bad_signature).await;
            let delivered = status.is_some_and(|status| message.form.is_delivered_by(status));
            let wait = waits.next().filter(|_| !delivered);
            self.amend(seq, |record| {
                record.tries += 1;
                record.last_status = status.map(|status| status.as_u16());
                record.delivered = delivered;
                record.ended = wait.is_none();
            });
            // Nobody may be waiting for it.
            let _unheard = tried.take().map(|tried| tried.send(()));
            match wait {
                Some(wait) => tokio::time::sleep(wait.mul_f64(self.post.time_scale)).await,
                None => return,
            }
        }
    }

    async fn try_once(&self, message: &Message, forged: bool) -> Option<reqwest::StatusCode> {
        let target = locked(&self.inner).target.clone()?;
        let _permit = self.permits.acquire().await.ok()?;
        let url = format!("{}{}", target.trim_end_matches('/'), self.post.path);
        let secret = self.post.secret.as_deref();
        let false_secret = format!("not {}", secret.unwrap_or_default());
        let secret = if forged { Some(false_secret.as_str()) } else { secret };
        let request = message.form.request(&self.post.client, &url, secret);
        match request.send().await {
            Ok(response) => Some(response.status()),
            Err(error) => {
                tracing::debug!(error = %error.without_url(), number = %message.number, "callback not delivered");
                None
            }
        }
    }

    /// Without anybody to tell, a callback is written down and nothing more.
    fn enter(&self, message: &Message) -> Option<(u64, CancellationToken)> {
        let mut inner = locked(&self.inner);
        let nobody = inner.target.is_none();
        let seq = inner.next_seq;
        inner.next_seq += 1;
        if inner.book.len() == REMEMBERED {
            inner.book.pop_front();
        }
        inner.book.push_back(CallbackRecord {
            seq,
            number: message.number.clone(),
            kind: message.kind.clone(),
            tries: 0,
            last_status: None,
            delivered: false,
            ended: nobody,
        });
        if nobody { None } else { Some((seq, inner.era.clone())) }
    }

    fn amend(&self, seq: u64, change: impl FnOnce(&mut CallbackRecord)) {
        let mut inner = locked(&self.inner);
        let Some(first) = inner.book.front().map(|record| record.seq) else { return };
        let index = seq.checked_sub(first).and_then(|index| usize::try_from(index).ok());
        if let Some(record) = index.and_then(|index| inner.book.get_mut(index)) {
            change(record);
        }
    }
}

/// The client of all callbacks: follows no redirects, waits for no one longer than promised.
pub fn client() -> reqwest::Result<Client> {
    Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(PATIENCE)
        .no_proxy()
        .build()
}
