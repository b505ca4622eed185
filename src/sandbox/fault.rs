//! The vocabulary of faults: when a call matches, what goes wrong with it. This is the control
//! API's JSON; a misspelt member is refused, because a fault that silently does nothing proves nothing.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::callbacks::Policy;

/// A script: `then` happens to the calls that `when` describes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fault {
    pub when: When,
    pub then: Then,
}

/// Everything said must hold; an empty `when` is every call, health probes apart.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// `register.do`, `create`, `product`, `health`, … as the ledger's calls name them.
    pub operation: Option<String>,
    /// The order's number (`order_id`, product id, customer id).
    pub number: Option<String>,
    /// Only the nth of the calls that match otherwise, counted from 1.
    pub nth: Option<u64>,
    /// How often the fault may happen in all.
    pub times: Option<u64>,
    /// 0 to 1, thrown per call from the sandbox's seed.
    pub probability: Option<f64>,
}

/// What goes wrong. The default is nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Then {
    /// Before the partner decides; it goes on to decide even if the caller has left meanwhile.
    pub delay_before_ms: u64,
    /// `false`: the partner never looks at the call; only the `answer` is given.
    pub commit: bool,
    /// Callbacks that the call causes reach their target (or fail once) before the reply.
    pub await_callbacks: bool,
    pub delay_after_ms: u64,
    pub answer: Answer,
    /// Sber: how `errorCode` is written.
    pub error_code_as: Option<ErrorCodeShape>,
    /// What becomes of the order that the call registers.
    pub order: OrderEffects,
}

impl Default for Then {
    fn default() -> Self {
        Self {
            delay_before_ms: 0,
            commit: true,
            await_callbacks: false,
            delay_after_ms: 0,
            answer: Answer::Normal,
            error_code_as: None,
            order: OrderEffects::default(),
        }
    }
}

/// The reply, when it is not the true one.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    #[default]
    Normal,
    /// Never, and the connection stays open.
    Hang,
    /// The connection ends without a byte.
    Drop,
    /// The connection ends in the middle of the true body.
    DropMidBody,
    /// 200 without a body.
    Empty,
    /// 200 with a page instead of JSON.
    Html,
    /// 200 with half of the true body, orderly ended.
    Truncated,
    /// The true body with numbers for texts and texts for numbers.
    WrongTypes,
    /// 200 and this much JSON.
    Huge { bytes: u64 },
    /// The true body, a few bytes at a time.
    Drip { chunk_bytes: usize, interval_ms: u64 },
    /// A bare status, with a page unless `body` says otherwise.
    Http {
        status: u16,
        #[serde(default)]
        body: Option<String>,
        #[serde(default)]
        retry_after: Option<u64>,
        #[serde(default)]
        location: Option<String>,
    },
    /// Any JSON.
    Json { status: u16, body: Value },
    /// The true body without these members.
    Without(Vec<String>),
    /// The true body with these members instead (RFC 7396 merge patch).
    Patch(Value),
    /// The true body behind a byte order mark, with members that nobody needs: in Windows-1251, with half
    /// a character, twice, beyond measure.
    Garbled,
    /// A refusal that names the order all the same, which the true body names.
    RefusedByName,
    /// The true body, with this for the payment page's address.
    PageAt(String),
    /// Sber: this code instead of the true reply.
    ErrorCode(u16),
}

/// The shapes in which `errorCode` has been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCodeShape {
    String,
    Number,
    Absent,
    /// `ErrorCode`, `ErrorMessage`.
    Capitalised,
    /// `error: {code, message}`, `success`.
    Nested,
}

/// The fate of one order at the payment partners.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OrderEffects {
    /// So many of the first status queries say that there is no such order.
    pub read_lag: u32,
    /// Sber: so many of the first status queries say 5, the issuer's page in progress.
    pub acs_polls: u32,
    /// The payer pays by himself so long after the commit; 0 = with it.
    pub pay_after_ms: Option<u64>,
    /// Committed under the amount asked for plus this.
    pub amount_delta: i64,
    /// Another system with our login has just registered this number, for another amount.
    pub collide: bool,
    /// How this order's callbacks misbehave.
    pub callbacks: Option<Policy>,
}

impl Then {
    /// Whether the reply has to wait for something before it can be made.
    pub fn is_slow_to_commit(&self) -> bool {
        self.delay_before_ms > 0 || self.await_callbacks
    }
}
