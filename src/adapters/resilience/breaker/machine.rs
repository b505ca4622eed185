//! The state machine: admits calls, records their ends, and changes state by one swap of one word.
//! No clock, no lock, no listener: it is told the time by a [`TimeSource`] and reports each change to
//! exactly one caller, the one whose swap made it.

use super::atomic::Atomic;
use super::rules::Rules;
use super::sample::{Generation, Sample};
use super::state::{BreakerRejection, BreakerState, Tally, Transition};
use super::time_source::{NANOS_PER_MILLI, TimeSource};
use super::window::Window;
use super::word::{self, Millis, Phase, Probing, Progress, StateWord};
use std::time::Duration;

/// When to come again, where nobody knows how long a probe will take.
pub(super) const PROBE_HINT: Duration = Duration::from_secs(1);

/// The right to one call: the word that gave it. It is of that word's generation and of no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission(u64);

impl Admission {
    /// The admission of a call that the breaker only lets by, without watching it.
    pub(super) const UNWATCHED: Self = Self(u64::MAX);

    #[inline]
    pub(super) const fn is_watched(self) -> bool {
        self.0 != u64::MAX
    }

    /// Whether the call tries a partner that was down.
    #[inline]
    #[must_use]
    pub const fn is_probe(self) -> bool {
        word::is_half_open(self.0)
    }
}

/// That a call must not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejected {
    /// Why not.
    pub reason: BreakerRejection,
    /// For how long it makes no sense to come again; `None` where that has no end.
    pub retry_after: Option<Duration>,
}

impl Rejected {
    const fn open(left: Millis) -> Self {
        Self { reason: BreakerRejection::Open, retry_after: Some(Duration::from_millis(left)) }
    }

    const fn probes_taken() -> Self {
        Self { reason: BreakerRejection::HalfOpenFull, retry_after: Some(PROBE_HINT) }
    }
}

/// The breaker's word and the window behind it.
#[derive(Debug)]
#[repr(C)]
pub struct Machine<A> {
    pub(super) word: A,
    pub(super) window: Window<A>,
}

impl<A: Atomic> Machine<A> {
    /// Closed, its window empty.
    #[must_use]
    pub fn new(rules: &Rules) -> Self {
        Self { word: A::new(StateWord::new().pack()), window: Window::new(rules) }
    }

    /// Whether every call passes, at the price of a load.
    #[inline]
    #[must_use]
    pub fn is_closed(&self) -> bool {
        word::is_closed(self.word.read())
    }

    /// Whether a call would be admitted now; changes nothing.
    ///
    /// # Errors
    ///
    /// Why not.
    #[inline(always)]
    pub fn peek(&self, rules: &Rules, time: &impl TimeSource) -> Result<(), Rejected> {
        let word = StateWord::unpack(self.word.read());
        match word.phase {
            Phase::Closed { .. } => Ok(()),
            Phase::Open { until } => match open_for(until, rules, time.now_millis()) {
                0 => Ok(()),
                left => Err(Rejected::open(left)),
            },
            Phase::HalfOpen(probing) => {
                if has_room(probing, rules) || is_stuck(probing, rules, time) {
                    Ok(())
                } else {
                    Err(Rejected::probes_taken())
                }
            }
        }
    }

    /// The ordinary day's way in: admission if the breaker is closed, for the price of a load.
    #[inline]
    pub fn admit_if_closed(&self) -> Option<Admission> {
        let word = self.word.read();
        word::is_closed(word).then_some(Admission(word))
    }

    /// Admits a call. Recovery is lazy: the first caller after the open time makes the change to
    /// half-open and takes the first probe in the same swap.
    ///
    /// # Errors
    ///
    /// Why the call must not be made.
    pub fn admit(
        &self,
        rules: &Rules,
        time: &impl TimeSource,
    ) -> Result<(Admission, Option<Transition>), Rejected> {
        let mut stands = self.word.read();
        loop {
            let word = StateWord::unpack(stands);
            let next = match word.phase {
                Phase::Closed { .. } => return Ok((Admission(stands), None)),
                Phase::Open { until } => {
                    let now = time.now_millis();
                    let left = open_for(until, rules, now);
                    if left > 0 {
                        return Err(Rejected::open(left));
                    }
                    word.next(word.level, first_probe(now))
                }
                Phase::HalfOpen(probing) if has_room(probing, rules) => {
                    let in_flight = probing.in_flight + 1;
                    let progress = Progress::at(time.now_millis());
                    StateWord {
                        phase: Phase::HalfOpen(Probing { in_flight, progress, ..probing }),
                        ..word
                    }
                }
                // A probe is lost: begin anew, in a generation that its late end cannot reach.
                Phase::HalfOpen(probing) if is_stuck(probing, rules, time) => {
                    word.next(word.level, first_probe(time.now_millis()))
                }
                Phase::HalfOpen(_) => return Err(Rejected::probes_taken()),
            };
            match self.word.replace(stands, next.pack()) {
                Ok(()) => {
                    let change = transition(word, next, Tally::default());
                    return Ok((Admission(next.pack()), change));
                }
                Err(other) => stands = other,
            }
        }
    }

    /// The ordinary day's way out: whether the good end of this call would change nothing. Then it
    /// need not be recorded, and no thread writes to what others read.
    #[inline]
    pub fn is_unmoved_by_good(&self, rules: &Rules, admission: Admission) -> bool {
        // While it stays closed in one generation its word stays the same, to the bit.
        self.word.read() == admission.0
            && word::is_closed(admission.0)
            && self.window.is_healthy(rules, word::generation(admission.0))
    }

    /// Records how an admitted call ended. Too late for its generation, it counts for nothing.
    pub fn record(
        &self,
        rules: &Rules,
        time: &impl TimeSource,
        admission: Admission,
        sample: Sample,
    ) -> Option<Transition> {
        if admission.is_probe() {
            return self.end_probe(rules, time, admission, Some(sample));
        }
        let tally = self.record_call(rules, time, admission, sample)?;
        self.open(admission, rules, time, tally)
    }

    /// Adds an ordinary call to the window; `Some` are the counts with which it must open.
    #[inline(always)]
    pub(super) fn record_call(
        &self,
        rules: &Rules,
        time: &impl TimeSource,
        admission: Admission,
        sample: Sample,
    ) -> Option<Tally> {
        if self.word.read() != admission.0 {
            return None;
        }
        let lasting = &word_and(&self.word, word::generation(admission.0));
        self.window.record(rules, lasting, sample, time)
    }

    /// The call ended without saying anything of the partner: a probe gives its place back.
    pub fn give_back(&self, rules: &Rules, time: &impl TimeSource, admission: Admission) {
        if admission.is_probe() {
            self.end_probe(rules, time, admission, None);
        }
    }

    #[cold]
    fn end_probe(
        &self,
        rules: &Rules,
        time: &impl TimeSource,
        admission: Admission,
        sample: Option<Sample>,
    ) -> Option<Transition> {
        let mut stands = self.word.read();
        loop {
            let word = StateWord::unpack(stands);
            let Phase::HalfOpen(mut probing) = word.phase else { return None };
            if word.generation != word::generation(admission.0) {
                return None;
            }
            let now = time.now_millis();
            probing.in_flight = probing.in_flight.saturating_sub(1);
            probing.progress = Progress::at(now);
            if let Some(sample) = sample {
                probing.passed += 1;
                probing.slow += u64::from(sample.slow);
            }
            let failures = u64::from(sample.is_some_and(|sample| sample.failed));
            let tally = Tally { calls: probing.passed, failures, slow: probing.slow };
            let next = if failures > 0 {
                word.next(word.level, opened(rules, time, word.level))
            } else if probing.passed < rules.probes {
                StateWord { phase: Phase::HalfOpen(probing), ..word }
            } else if rules.too_slow(probing.slow, probing.passed) {
                word.next(word.level, opened(rules, time, word.level))
            } else {
                word.next(word.level, Phase::Closed { since: now.max(1) })
            };
            match self.word.replace(stands, next.pack()) {
                Ok(()) => {
                    self.begin(rules, next);
                    return transition(word, next, tally);
                }
                Err(other) => stands = other,
            }
        }
    }

    /// Opens a closed breaker for a reason that the window does not show (calls that hang).
    pub fn trip(&self, rules: &Rules, time: &impl TimeSource, tally: Tally) -> Option<Transition> {
        self.open(Admission(self.word.read()), rules, time, tally)
    }

    /// From the closed word of `admission`, if it still stands: only the first of several callers opens.
    #[cold]
    pub(super) fn open(
        &self,
        admission: Admission,
        rules: &Rules,
        time: &impl TimeSource,
        tally: Tally,
    ) -> Option<Transition> {
        let word = StateWord::unpack(admission.0);
        let Phase::Closed { since } = word.phase else { return None };
        let level = rules.level_after(word.level, since, time.now_millis());
        let next = word.next(level, opened(rules, time, level));
        self.word.replace(admission.0, next.pack()).ok()?;
        transition(word, next, tally)
    }

    /// Closes it, with an empty window and no memory of flapping.
    pub fn reset(&self, rules: &Rules) -> Option<Transition> {
        let mut stands = self.word.read();
        loop {
            let word = StateWord::unpack(stands);
            let next = word.next(0, Phase::Closed { since: 0 });
            match self.word.replace(stands, next.pack()) {
                Ok(()) => {
                    self.begin(rules, next);
                    return transition(word, next, Tally::default());
                }
                Err(other) => stands = other,
            }
        }
    }

    fn begin(&self, rules: &Rules, word: StateWord) {
        if let Phase::Closed { .. } = word.phase {
            self.window.clear(rules, &word_and(&self.word, word.generation));
        }
    }

    /// The state, as it is; an open time that is over changes nothing until a call comes.
    #[must_use]
    pub fn state(&self) -> BreakerState {
        StateWord::unpack(self.word.read()).phase.state()
    }
}

impl Phase {
    pub(super) const fn state(self) -> BreakerState {
        match self {
            Self::Closed { .. } => BreakerState::Closed,
            Self::Open { .. } => BreakerState::Open,
            Self::HalfOpen(_) => BreakerState::HalfOpen,
        }
    }
}

/// An admission's generation beside the word that tells whether it still lasts.
struct Lasting<'a, A> {
    word: &'a A,
    generation: u64,
}

#[inline]
const fn word_and<A>(word: &A, generation: u64) -> Lasting<'_, A> {
    Lasting { word, generation }
}

impl<A: Atomic> Generation for Lasting<'_, A> {
    #[inline]
    fn number(&self) -> u64 {
        self.generation
    }

    fn is_current(&self) -> bool {
        word::generation(self.word.read()) == self.generation
    }
}

/// None for a half-open that begins anew: nobody outside sees a difference.
fn transition(from: StateWord, to: StateWord, tally: Tally) -> Option<Transition> {
    let (from, generation, to) = (from.phase.state(), to.generation, to.phase.state());
    (from != to).then_some(Transition { from, to, generation, tally })
}

fn first_probe(now: Millis) -> Phase {
    Phase::HalfOpen(Probing { in_flight: 1, progress: Progress::at(now), ..Probing::default() })
}

/// The open time is counted from the next whole millisecond, so it is never shorter than asked.
fn opened(rules: &Rules, time: &impl TimeSource, level: u64) -> Phase {
    let now = time.now().div_ceil(NANOS_PER_MILLI);
    Phase::Open { until: now.saturating_add(rules.open_for(level, time.jitter())) }
}

/// What is left of the open time. More than it can ever be means that the clock has gone back:
/// then a probe is due, or the breaker would stay open for as long as time was lost.
#[inline]
pub(super) fn open_for(until: Millis, rules: &Rules, now: Millis) -> Millis {
    let left = until.saturating_sub(now);
    if left > rules.longest_open { 0 } else { left }
}

/// Probes that may start: within those in flight together, and no more than still must succeed.
pub(super) fn room(probing: Probing, rules: &Rules) -> u64 {
    let wanted = rules.probes.saturating_sub(probing.passed).min(rules.probes_in_flight);
    wanted.saturating_sub(probing.in_flight)
}

fn has_room(probing: Probing, rules: &Rules) -> bool {
    room(probing, rules) > 0
}

pub(super) fn is_stuck(probing: Probing, rules: &Rules, time: &impl TimeSource) -> bool {
    probing.progress.age(time.now_millis()) >= rules.reclaim
}
