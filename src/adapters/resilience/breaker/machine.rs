//! The state machine: admits calls, records their ends, and changes state by one swap of one word.
//! No clock, no lock, no listener: it is told the time by its [`World`] and reports each change to
//! exactly one caller, the one whose swap made it.

use super::State;
use super::atomic::Atomic;
use super::ramp::return_gradually;
use super::rules::{Rules, Tally};
use super::window::{self, Sample, Window};
use super::word::{self, Millis, Phase, Probing, Progress, Word};
use std::time::Duration;

/// What the machine needs to know from outside.
pub trait World {
    /// Nanoseconds of a monotonic clock.
    fn now(&self) -> u64;

    /// The same in whole milliseconds, for those who need no more.
    #[inline]
    fn now_millis(&self) -> u64 {
        self.now() / NANOS_PER_MILLI
    }

    /// A random number below a million.
    fn chance(&self) -> u64;
}

/// The right to one call: the word that gave it. It is of that word's generation and of no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass(u64);

impl Pass {
    /// The pass of a call that the breaker only lets by, without watching it.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Open for so much longer.
    Open(Duration),
    /// Half-open, and every probe is taken.
    ProbesTaken,
    /// Closed again, but only a growing share of calls is let through.
    Returning(Duration),
}

/// A change of state, known to its maker alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub from: State,
    pub to: State,
    pub generation: u64,
    /// The counts that justified it.
    pub tally: Tally,
}

#[derive(Debug)]
#[repr(C)]
pub struct Machine<A> {
    pub(super) word: A,
    pub(super) window: Window<A>,
}

impl<A: Atomic> Machine<A> {
    #[must_use]
    pub fn new(rules: &Rules) -> Self {
        Self { word: A::new(Word::new().pack()), window: Window::new(rules) }
    }

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
    pub fn peek(&self, rules: &Rules, world: &impl World) -> Result<(), Refusal> {
        let word = Word::unpack(self.word.read());
        match word.phase {
            Phase::Closed { .. } => Ok(()),
            Phase::Open { until } => match open_for(until, rules, world.now_millis()) {
                0 => Ok(()),
                left => Err(Refusal::Open(Duration::from_millis(left))),
            },
            Phase::HalfOpen(probing) => {
                if has_room(probing, rules) || is_stuck(probing, rules, world) {
                    Ok(())
                } else {
                    Err(Refusal::ProbesTaken)
                }
            }
        }
    }

    /// The ordinary day's way in: a pass if the breaker is plainly closed, for the price of a load.
    #[inline]
    pub fn admit_if_closed(&self, rules: &Rules) -> Option<Pass> {
        let word = self.word.read();
        (word::is_closed(word) && !rules.ramp_sheds).then_some(Pass(word))
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
        world: &impl World,
    ) -> Result<(Pass, Option<Change>), Refusal> {
        let mut stands = self.word.read();
        loop {
            let word = Word::unpack(stands);
            let next = match word.phase {
                Phase::Closed { since } => {
                    if rules.ramp_sheds {
                        return_gradually(since, rules, world)?;
                    }
                    return Ok((Pass(stands), None));
                }
                Phase::Open { until } => {
                    let now = world.now_millis();
                    let left = open_for(until, rules, now);
                    if left > 0 {
                        return Err(Refusal::Open(Duration::from_millis(left)));
                    }
                    word.next(word.level, first_probe(now))
                }
                Phase::HalfOpen(probing) if has_room(probing, rules) => {
                    let in_flight = probing.in_flight + 1;
                    let progress = Progress::at(world.now_millis());
                    Word {
                        phase: Phase::HalfOpen(Probing { in_flight, progress, ..probing }),
                        ..word
                    }
                }
                // A probe is lost: begin anew, in a generation that its late end cannot reach.
                Phase::HalfOpen(probing) if is_stuck(probing, rules, world) => {
                    word.next(word.level, first_probe(world.now_millis()))
                }
                Phase::HalfOpen(_) => return Err(Refusal::ProbesTaken),
            };
            match self.word.replace(stands, next.pack()) {
                Ok(()) => {
                    let change = change(word, next, Tally::default());
                    return Ok((Pass(next.pack()), change));
                }
                Err(other) => stands = other,
            }
        }
    }

    /// The ordinary day's way out: whether the good end of this call would change nothing. Then it
    /// need not be recorded, and no thread writes to what others read.
    #[inline]
    pub fn is_unmoved_by_good(&self, rules: &Rules, pass: Pass) -> bool {
        // While it stays closed in one generation its word stays the same, to the bit.
        self.word.read() == pass.0
            && word::is_closed(pass.0)
            && self.window.is_healthy(rules, word::generation(pass.0))
    }

    /// Records how an admitted call ended. Too late for its generation, it counts for nothing.
    pub fn record(
        &self,
        rules: &Rules,
        world: &impl World,
        pass: Pass,
        sample: Sample,
    ) -> Option<Change> {
        if pass.is_probe() {
            return self.end_probe(rules, world, pass, Some(sample));
        }
        let tally = self.note(rules, world, pass, sample)?;
        self.open(pass, rules, world, tally)
    }

    /// Adds an ordinary call to the window; `Some` are the counts with which it must open.
    #[inline(always)]
    pub(super) fn note(
        &self,
        rules: &Rules,
        world: &impl World,
        pass: Pass,
        sample: Sample,
    ) -> Option<Tally> {
        if self.word.read() != pass.0 {
            return None;
        }
        let lasting = &word_and(&self.word, word::generation(pass.0));
        self.window.record(rules, lasting, sample, world)
    }

    /// The call ended without saying anything of the partner: a probe gives its place back.
    pub fn give_back(&self, rules: &Rules, world: &impl World, pass: Pass) {
        if pass.is_probe() {
            self.end_probe(rules, world, pass, None);
        }
    }

    #[cold]
    fn end_probe(
        &self,
        rules: &Rules,
        world: &impl World,
        pass: Pass,
        sample: Option<Sample>,
    ) -> Option<Change> {
        let mut stands = self.word.read();
        loop {
            let word = Word::unpack(stands);
            let Phase::HalfOpen(mut probing) = word.phase else { return None };
            if word.generation != word::generation(pass.0) {
                return None;
            }
            let now = world.now_millis();
            probing.in_flight = probing.in_flight.saturating_sub(1);
            probing.progress = Progress::at(now);
            if let Some(sample) = sample {
                probing.passed += 1;
                probing.slow += u64::from(sample.slow);
            }
            let failures = u64::from(sample.is_some_and(|sample| sample.failed));
            let tally = Tally { calls: probing.passed, failures, slow: probing.slow };
            let next = if failures > 0 {
                word.next(word.level, opened(rules, world, word.level))
            } else if probing.passed < rules.probes {
                Word { phase: Phase::HalfOpen(probing), ..word }
            } else if rules.too_slow(probing.slow, probing.passed) {
                word.next(word.level, opened(rules, world, word.level))
            } else {
                word.next(word.level, Phase::Closed { since: now.max(1) })
            };
            match self.word.replace(stands, next.pack()) {
                Ok(()) => {
                    self.begin(rules, next);
                    return change(word, next, tally);
                }
                Err(other) => stands = other,
            }
        }
    }

    /// Opens a closed breaker for a reason that the window does not show (calls that hang).
    pub fn trip(&self, rules: &Rules, world: &impl World, tally: Tally) -> Option<Change> {
        self.open(Pass(self.word.read()), rules, world, tally)
    }

    /// From the closed word of `pass`, if it still stands: only the first of several callers opens.
    #[cold]
    pub(super) fn open(
        &self,
        pass: Pass,
        rules: &Rules,
        world: &impl World,
        tally: Tally,
    ) -> Option<Change> {
        let word = Word::unpack(pass.0);
        let Phase::Closed { since } = word.phase else { return None };
        let level = rules.level_after(word.level, since, world.now_millis());
        let next = word.next(level, opened(rules, world, level));
        self.word.replace(pass.0, next.pack()).ok()?;
        change(word, next, tally)
    }

    /// Closes it, with an empty window and no memory of flapping.
    pub fn reset(&self, rules: &Rules) -> Option<Change> {
        let mut stands = self.word.read();
        loop {
            let word = Word::unpack(stands);
            let next = word.next(0, Phase::Closed { since: 0 });
            match self.word.replace(stands, next.pack()) {
                Ok(()) => {
                    self.begin(rules, next);
                    return change(word, next, Tally::default());
                }
                Err(other) => stands = other,
            }
        }
    }

    fn begin(&self, rules: &Rules, word: Word) {
        if let Phase::Closed { .. } = word.phase {
            self.window.clear(rules, &word_and(&self.word, word.generation));
        }
    }

    #[must_use]
    pub fn state(&self) -> State {
        Word::unpack(self.word.read()).phase.state()
    }
}

impl Phase {
    pub(super) const fn state(self) -> State {
        match self {
            Self::Closed { .. } => State::Closed,
            Self::Open { .. } => State::Open,
            Self::HalfOpen(_) => State::HalfOpen,
        }
    }
}

/// A pass's generation beside the word that tells whether it still lasts.
struct Lasting<'a, A> {
    word: &'a A,
    generation: u64,
}

#[inline]
const fn word_and<A>(word: &A, generation: u64) -> Lasting<'_, A> {
    Lasting { word, generation }
}

impl<A: Atomic> window::Generation for Lasting<'_, A> {
    #[inline]
    fn number(&self) -> u64 {
        self.generation
    }

    fn is_current(&self) -> bool {
        word::generation(self.word.read()) == self.generation
    }
}

/// None for a half-open that begins anew: nobody outside sees a difference.
fn change(from: Word, to: Word, tally: Tally) -> Option<Change> {
    let (from, generation, to) = (from.phase.state(), to.generation, to.phase.state());
    (from != to).then_some(Change { from, to, generation, tally })
}

fn first_probe(now: Millis) -> Phase {
    Phase::HalfOpen(Probing { in_flight: 1, progress: Progress::at(now), ..Probing::default() })
}

/// The open time is counted from the next whole millisecond, so it is never shorter than asked.
fn opened(rules: &Rules, world: &impl World, level: u64) -> Phase {
    let now = world.now().div_ceil(NANOS_PER_MILLI);
    Phase::Open { until: now.saturating_add(rules.open_for(level, world.chance())) }
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

pub(super) fn is_stuck(probing: Probing, rules: &Rules, world: &impl World) -> bool {
    probing.progress.age(world.now_millis()) >= rules.reclaim
}

const NANOS_PER_MILLI: u64 = 1_000_000;
