//! A circuit breaker: stops calling a partner that fails, and finds out by itself when to begin
//! again.
//!
//! ```text
//!             enough calls, and too many of them fail, are slow, or hang
//!    ┌────────┐ ─────────────────────────────────────────────────▶ ┌──────┐
//!    │ closed │                                                    │ open │ ◀──┐
//!    └────────┘ ◀──┐                                    ┌───────── └──────┘    │
//!                  │ every probe         the open time  │                      │ one probe
//!                  │ succeeded           is over, and   │                      │ failed
//!                  │                     a call comes   ▼                      │
//!                  └────────────────────────────── ┌───────────┐ ──────────────┘
//!                                                  │ half-open │
//!                                                  └───────────┘
//! ```
//!
//! * **Closed.** Every call passes and its end is recorded. It opens when the window holds at least
//!   `min_requests` calls and the share of failures reaches `failure_rate`; beside that, on so many
//!   failures in a row, on too many slow calls, and while calls still hang
//!   ([`Breaker::hanging`]).
//! * **Open.** Every call is refused at once, with the time that is left. A result of a call begun
//!   earlier neither prolongs nor ends it.
//! * **Half-open.** A few calls try the partner: as many as must succeed, so many of them at a time.
//!   One failure opens it again for another full time. A probe that was cancelled gives its place
//!   back; probes that were forgotten are given up for lost after `probe_timeout`.
//!
//! It is passive: no task, no timer, no allocation. Recovery happens on the path of a call, so it
//! comes `max(open time, time between calls)` after opening. Ten thousand breakers cost their memory
//! and nothing else ([`Keyed`]), and shutdown needs nothing of them.
//!
//! # Using it
//!
//! Say by [`Failed`](super::verdict::Failed) whether the partner answered, and make the call through it:
//!
//! ```
//! # use order_service::adapters::resilience::{breaker::*, clock::MonotonicClock, observer::Silent, verdict::Failed};
//! # use order_service::core::domain::unavailable::{Shed, System, Unknown};
//! # use std::sync::Arc;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let config = BreakerConfig { min_requests: 2, ..BreakerConfig::default() };
//! let breaker = Breaker::new(System::Catalog, &config, MonotonicClock::coarse(), Arc::new(Silent)).unwrap();
//!
//! // A business answer shows a partner in good health, whatever we think of it.
//! let sold_out: Result<(), _> = breaker.call("order", async { Err(Failed::Answered("sold out")) }).await;
//! assert_eq!(sold_out, Err(Failed::Answered("sold out")));
//!
//! // No answer is the partner's failure.
//! let silent: Result<(), Failed<&str>> = breaker.call("order", async { Err(Unknown::TimedOut.into()) }).await;
//! assert!(silent.is_err());
//!
//! // One of two failed: it is open, and the next call is refused before anything of it runs.
//! assert_eq!(breaker.state(), BreakerState::Open);
//! let refused: Result<(), Failed<&str>> = breaker.call("order", async { unreachable!() }).await;
//! assert!(matches!(refused, Err(Failed::NoAnswer(no)) if no.cause == Shed::BreakerOpen.into()));
//! # }
//! ```
//!
//! Where the call is not a future, take the permit yourself. Dropped without a verdict it counts as
//! cancelled; dropped by a panic, as a failure:
//!
//! ```
//! # use order_service::adapters::resilience::{breaker::*, clock::MonotonicClock, observer::Silent, verdict::Verdict};
//! # use order_service::core::domain::unavailable::{NoAnswer, System};
//! # use std::{sync::Arc, time::Duration};
//! # let config = BreakerConfig::default();
//! # let breaker = Breaker::new(System::Catalog, &config, MonotonicClock::coarse(), Arc::new(Silent)).unwrap();
//! let permit = breaker.try_acquire()?;
//! let elapsed = Duration::from_millis(20); // as long as the call took
//! permit.record(Verdict::Healthy, elapsed);
//! # Ok::<(), NoAnswer>(())
//! ```
//!
//! # Why it is right
//!
//! BreakerState, generation and what justifies the next change are one 64-bit word, changed by one
//! compare-and-swap. So exactly one thread makes each change, the time of opening is visible with
//! the state, and whoever makes a change is the one who tells of it, under no lock. A permit is the
//! word that gave it: a result counts only while that word's generation lasts. The window of the
//! last N calls is exact at every moment: one swap appends a call and moves the counts.
//!
//! `tests/breaker_loom` runs every pair and triple of operations in every interleaving,
//! `tests/breaker_model.rs` random schedules beside a plain model, and `tests/breaker_rules` names
//! the traps.
//!
//! # Why it is fast
//!
//! A window that is full of good calls is the same after one more of them, so that call is not
//! recorded at all: on an ordinary day nothing is written to memory that threads share. The figures
//! are in docs/benchmarks.md, the reasons for an own breaker in docs/adr/0003-own-circuit-breaker.md.

pub(in crate::adapters::resilience) mod state;

mod atomic;
mod layout;
mod sample;
mod time_source;
mod word;

mod buckets;
mod ring;
mod streak;
mod window;

mod config;
mod machine;
mod rules;
mod view;

mod mode;
mod shared;

mod call;
mod guard;
mod permit;

mod keyed;

pub use config::{BreakerConfig, SlowAs, WindowKind};
pub use guard::Breaker;
pub use keyed::Keyed;
pub use mode::in_canary;
pub use permit::CallPermit;
pub use state::{
    BreakerCapacity, BreakerMode, BreakerRejection, BreakerSnapshot, BreakerState, Tally,
    Transition, UnknownMode,
};

/// The machine beneath, generic over its atomics: for model checks and for the curious.
pub mod parts {
    pub use super::atomic::Atomic;
    pub use super::machine::{Admission, Machine, Rejected};
    pub use super::rules::Rules;
    pub use super::sample::Sample;
    pub use super::time_source::TimeSource;
    pub use super::view::MachineView;
}
