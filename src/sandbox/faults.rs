//! Which fault befalls a call: the first script that claims it, else the partner's mood.

use std::sync::Mutex;

use serde::Serialize;

use super::fault::{Fault, Then};
use super::locked;
use super::modes::Mode;
use super::partners::Refusal;

/// The scripts of one partner, and its mode.
#[derive(Debug)]
pub struct Faults {
    seed: Option<u64>,
    refusal: Refusal,
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

impl Inner {
    fn new(seed: Option<u64>) -> Self {
        let dice = seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Self { mode: Mode::default(), scripts: Vec::new(), next_id: 1, dice }
    }
}

impl Faults {
    pub fn new(seed: Option<u64>, refusal: Refusal) -> Self {
        Self { seed, refusal, inner: Mutex::new(Inner::new(seed)) }
    }

    /// No scripts, no mood, and the dice as at the start.
    pub fn reset(&self) {
        *locked(&self.inner) = Inner::new(self.seed);
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
        fired.unwrap_or_else(|| inner.mode.fault_of(operation, self.refusal))
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
    use crate::sandbox::fault::Answer;
    use crate::sandbox::modes::bad_request;

    fn script(json: &str) -> Faults {
        let faults = Faults::new(Some(7), bad_request);
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
