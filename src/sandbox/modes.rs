//! One-word moods of a partner, for people and simple tests.

use serde::{Deserialize, Serialize};

use super::fault::{Answer, Then};
use super::listener::Entrance;
use super::partners::Refusal;

/// A mood and its figures.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mode {
    pub mode: Mood,
    /// How slow `slow` is.
    #[serde(default = "three_seconds")]
    pub delay_ms: u64,
    /// What `throttle` asks for, in seconds.
    #[serde(default = "one_second")]
    pub retry_after: u64,
    /// Sber: the code of `reject`.
    #[serde(default = "currency_refused")]
    pub code: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mood {
    Ok,
    /// The port is closed.
    Down,
    /// Each connection is accepted and reset.
    Reset,
    /// Each connection is accepted and ignored, before any TLS or HTTP.
    Stall,
    /// Calls are read, not executed and never answered.
    Hang,
    /// Calls are executed and never answered.
    HangAfterCommit,
    /// Calls are executed and the connection cut instead of the reply.
    Lossy,
    Slow,
    Error500,
    /// New orders are refused by a business reply; everything else works.
    Reject,
    Throttle,
}

impl Default for Mode {
    fn default() -> Self {
        Self::from(Mood::Ok)
    }
}

impl From<Mood> for Mode {
    fn from(mode: Mood) -> Self {
        Self {
            mode,
            delay_ms: three_seconds(),
            retry_after: one_second(),
            code: currency_refused(),
        }
    }
}

impl Mode {
    pub fn entrance(&self) -> Entrance {
        match self.mode {
            Mood::Down => Entrance::Refusing,
            Mood::Reset => Entrance::Resetting,
            Mood::Stall => Entrance::Stalling,
            Mood::Ok
            | Mood::Hang
            | Mood::HangAfterCommit
            | Mood::Lossy
            | Mood::Slow
            | Mood::Error500
            | Mood::Reject
            | Mood::Throttle => Entrance::Open,
        }
    }

    /// What this mood does to a call of that operation.
    pub fn fault_of(&self, operation: &'static str, refusal: Refusal) -> Then {
        let unheard = |answer| Then { commit: false, answer, ..Then::default() };
        match self.mode {
            Mood::Ok | Mood::Down | Mood::Reset | Mood::Stall => Then::default(),
            Mood::Hang => unheard(Answer::Hang),
            Mood::HangAfterCommit => Then { answer: Answer::Hang, ..Then::default() },
            Mood::Lossy => Then { answer: Answer::Drop, ..Then::default() },
            Mood::Slow => Then { delay_before_ms: self.delay_ms, ..Then::default() },
            Mood::Error500 => unheard(http(500, None)),
            Mood::Throttle if operation != "health" => unheard(http(429, Some(self.retry_after))),
            Mood::Reject => refusal(self, operation).map_or_else(Then::default, unheard),
            Mood::Throttle => Then::default(),
        }
    }
}

/// How the partners that only answer questions refuse one.
pub fn bad_request(_: &Mode, operation: &'static str) -> Option<Answer> {
    matches!(operation, "product" | "recommendations").then(|| http(400, None))
}

fn http(status: u16, retry_after: Option<u64>) -> Answer {
    Answer::Http { status, body: None, retry_after, location: None }
}

fn three_seconds() -> u64 {
    3000
}

fn one_second() -> u64 {
    1
}

fn currency_refused() -> u16 {
    3
}
