//! Scripted faults: when a call matches, what goes wrong with it. One mode per partner is the
//! fault of every call that no script claims.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::callbacks::Policy;
use super::locked;
use super::modes::Mode;

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

/// The scripts of one partner, and its mode.
#[derive(Debug)]
pub struct Faults {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    mode: Mode,
    scripts: Vec<Script>,
    next_id: u64,
    dice: fastrand::Rng,
}

/// A fault that is in force, with its counts.
#[derive(Debug, Clone, Serialize)]
pub struct Script {
    pub id: u64,
    #[serde(flatten)]
    pub fault: Fault,
    /// Calls that matched, before `nth`, `times` and `probability` had their say.
    pub matched: u64,
    pub fired: u64,
}

impl Faults {
    pub fn new(seed: Option<u64>) -> Self {
        let dice = seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Self {
            inner: Mutex::new(Inner {
                mode: Mode::default(),
                scripts: Vec::new(),
                next_id: 1,
                dice,
            }),
        }
    }

    pub fn add(&self, fault: Fault) -> u64 {
        let mut inner = locked(&self.inner);
        let id = inner.next_id;
        inner.next_id += 1;
        inner.scripts.push(Script { id, fault, matched: 0, fired: 0 });
        id
    }

    pub fn list(&self) -> Vec<Script> {
        locked(&self.inner).scripts.clone()
    }

    pub fn remove(&self, id: u64) -> bool {
        let scripts = &mut locked(&self.inner).scripts;
        let before = scripts.len();
        scripts.retain(|script| script.id != id);
        scripts.len() < before
    }

    pub fn clear(&self) {
        locked(&self.inner).scripts.clear();
    }

    pub fn mode(&self) -> Mode {
        locked(&self.inner).mode.clone()
    }

    pub fn set_mode(&self, mode: Mode) {
        locked(&self.inner).mode = mode;
    }

    /// The first script that claims the call wins; after them the mode speaks.
    pub fn pick(&self, operation: &'static str, number: Option<&str>) -> Then {
        let mut inner = locked(&self.inner);
        let inner = &mut *inner;
        let fired = inner
            .scripts
            .iter_mut()
            .find_map(|script| script.fires(operation, number, &mut inner.dice));
        fired.unwrap_or_else(|| inner.mode.fault_of(operation))
    }
}

impl Script {
    fn fires(
        &mut self,
        operation: &str,
        number: Option<&str>,
        dice: &mut fastrand::Rng,
    ) -> Option<Then> {
        let when = &self.fault.when;
        let operation_matches =
            when.operation.as_deref().map_or(operation != "health", |asked| asked == operation);
        if !operation_matches || when.number.is_some() && when.number.as_deref() != number {
            return None;
        }
        self.matched += 1;
        let may = when.nth.is_none_or(|nth| nth == self.matched)
            && when.times.is_none_or(|times| self.fired < times)
            && when.probability.is_none_or(|share| dice.f64() < share);
        may.then(|| {
            self.fired += 1;
            self.fault.then.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(json: &str) -> Faults {
        let faults = Faults::new(Some(7));
        faults.add(serde_json::from_str(json).expect("a fault"));
        faults
    }

    fn fires(faults: &Faults, operation: &'static str, number: Option<&str>) -> bool {
        matches!(faults.pick(operation, number).answer, Answer::Hang)
    }

    #[test]
    fn an_empty_when_claims_every_call_but_health_probes() {
        let faults = script(r#"{"then":{"answer":"hang"}}"#);
        assert!(fires(&faults, "register.do", None));
        assert!(!fires(&faults, "health", None));
    }

    #[test]
    fn nth_counts_only_the_calls_that_match() {
        let faults = script(
            r#"{"when":{"operation":"create","number":"A","nth":2},"then":{"answer":"hang"}}"#,
        );
        let calls =
            [("create", "A"), ("create", "B"), ("get", "A"), ("create", "A"), ("create", "A")];
        let fired: Vec<_> = calls
            .iter()
            .map(|(operation, number)| fires(&faults, operation, Some(number)))
            .collect();
        assert_eq!(fired, [false, false, false, true, false]);
    }

    #[test]
    fn times_ends_a_fault() {
        let faults = script(r#"{"when":{"times":1},"then":{"answer":"hang"}}"#);
        assert!(fires(&faults, "create", None));
        assert!(!fires(&faults, "create", None));
    }

    #[test]
    fn a_probable_fault_falls_the_same_way_for_the_same_seed() {
        let throw = || {
            let faults = script(r#"{"when":{"probability":0.5},"then":{"answer":"hang"}}"#);
            (0..64).map(|_| fires(&faults, "create", None)).collect::<Vec<_>>()
        };
        let fired = throw();
        assert_eq!(fired, throw());
        assert!(fired.contains(&true) && fired.contains(&false));
    }

    #[test]
    fn a_misspelt_switch_is_refused() {
        assert!(serde_json::from_str::<Fault>(r#"{"then":{"delay_befor_ms":1}}"#).is_err());
    }
}
