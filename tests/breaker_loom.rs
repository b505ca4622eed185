//! Every interleaving of every pair and triple of operations on one breaker, by the model checker
//! loom. The machine is generic over its atomics, so what is checked is the code that runs.
//!
//! One sweep checks what must hold whatever the operations are; the named models below it check
//! what a certain race must end in.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use order_service::adapters::resilience::breaker::parts::{
    Atomic, Change, Machine, Pass, Refusal, Rules, Sample, Tally, World,
};
use order_service::adapters::resilience::breaker::{BreakerConfig, SlowAs, State};
use std::time::Duration;

/// Loom's word, with the orderings of the real one.
#[derive(Debug)]
struct Word(AtomicU64);

impl Atomic for Word {
    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn replace(&self, current: u64, new: u64) -> Result<(), u64> {
        self.0.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire).map(drop)
    }
}

/// A moment at which time stands still.
#[derive(Debug, Clone, Copy)]
struct At(u64);

impl World for At {
    fn now(&self) -> u64 {
        self.0 * 1_000_000
    }

    fn chance(&self) -> u64 {
        0
    }
}

const START: At = At(1_000);
const AFTER_OPEN: At = At(2_000);
const LONG_AFTER: At = At(90_000);

type Shared = Arc<Machine<Word>>;

/// Opens at two failures of at most three calls; closes after two good probes of two at a time.
fn rules() -> Rules {
    Rules::of(&BreakerConfig {
        window_size: 3,
        min_requests: 2,
        failure_rate: 0.6,
        slow_as: SlowAs::Rate,
        slow_call_rate: 1.0,
        consecutive_failures: 2,
        open_timeout: Duration::from_millis(1_000),
        open_jitter: 0.0,
        half_open_requests: 2,
        half_open_max_in_flight: 2,
        probe_timeout: Duration::from_secs(10),
        ..BreakerConfig::default()
    })
}

fn machine(rules: &Rules) -> Machine<Word> {
    Machine::new(rules)
}

fn admit(machine: &Machine<Word>, at: At) -> (Pass, Option<Change>) {
    machine.admit(&rules(), &at).expect("admitted")
}

fn fail(machine: &Machine<Word>, pass: Pass) -> Option<Change> {
    machine.record(&rules(), &START, pass, Sample::FAILED)
}

fn open(machine: &Machine<Word>) -> Change {
    machine.trip(&rules(), &START, Tally::default()).expect("it was closed")
}

// --- the sweep ---------------------------------------------------------------------------------

/// What a thread does. Those that end a call end the n-th permit that was taken beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Admit,
    AdmitAndFail,
    Pass(usize),
    Fail(usize),
    Cancel(usize),
    Trip,
    Reset,
    Look,
}

/// Where the threads begin.
#[derive(Debug, Clone, Copy)]
enum Start {
    /// Closed, one failure in the window, permits out: the next failure opens it.
    OnTheEdge,
    /// Open, the open time over: the next caller probes. The permits are from before.
    ProbeDue,
    /// Half-open with both probes out.
    Probing,
    /// Half-open with both probes out for too long.
    Stuck,
}

impl Start {
    const fn now(self) -> At {
        match self {
            Self::OnTheEdge => START,
            Self::ProbeDue | Self::Probing => AFTER_OPEN,
            Self::Stuck => LONG_AFTER,
        }
    }

    /// The machine, its state, and the permits that are out.
    fn set_up(self, rules: &Rules) -> (Machine<Word>, State, Vec<Pass>) {
        let machine = machine(rules);
        let early = [admit(&machine, START).0, admit(&machine, START).0];
        match self {
            Self::OnTheEdge => {
                fail(&machine, admit(&machine, START).0);
                (machine, State::Closed, early.to_vec())
            }
            Self::ProbeDue => {
                open(&machine);
                (machine, State::Open, early.to_vec())
            }
            Self::Probing | Self::Stuck => {
                open(&machine);
                let probes = [admit(&machine, AFTER_OPEN).0, admit(&machine, AFTER_OPEN).0];
                (machine, State::HalfOpen, probes.to_vec())
            }
        }
    }
}

/// What a thread saw.
#[derive(Debug, Default)]
struct Seen {
    changes: Vec<Change>,
    taken: Option<Pass>,
}

fn act(op: Op, machine: &Machine<Word>, at: At, permits: &[Pass]) -> Seen {
    let rules = rules();
    let mut seen = Seen::default();
    match op {
        Op::Admit | Op::AdmitAndFail => {
            let Ok((pass, change)) = machine.admit(&rules, &at) else { return seen };
            seen.changes.extend(change);
            if op == Op::Admit {
                seen.taken = Some(pass);
            } else {
                seen.changes.extend(machine.record(&rules, &at, pass, Sample::FAILED));
            }
        }
        Op::Pass(n) => {
            seen.changes.extend(machine.record(&rules, &at, permits[n], Sample::GOOD));
        }
        Op::Fail(n) => {
            seen.changes.extend(machine.record(&rules, &at, permits[n], Sample::FAILED));
        }
        Op::Cancel(n) => machine.give_back(&rules, &at, permits[n]),
        Op::Trip => seen.changes.extend(machine.trip(&rules, &at, Tally::default())),
        Op::Reset => seen.changes.extend(machine.reset(&rules)),
        Op::Look => {
            let view = machine.view(&rules, &at);
            assert_eq!(view.open_for.is_some(), view.state == State::Open);
            assert!(view.probes_in_flight <= 2);
            assert!(view.tally.failures <= view.tally.calls && view.tally.calls <= 3);
        }
    }
    seen
}

/// Exactly one report per change, each beginning where the one before ended, and the last one where
/// the machine now is.
fn check_changes(mut changes: Vec<Change>, begun: State, machine: &Machine<Word>) {
    changes.sort_by_key(|change| change.generation);
    let mut state = begun;
    for change in &changes {
        assert_eq!(change.from, state, "{changes:?}");
        state = change.to;
    }
    assert_eq!(machine.state(), state, "{changes:?}");
    assert!(changes.windows(2).all(|pair| pair[0].generation < pair[1].generation));
}

/// Whatever happened, the machine still works: it holds sound counts, and recovers.
fn check_life(machine: &Machine<Word>) {
    let rules = rules();
    let view = machine.view(&rules, &LONG_AFTER);
    assert!(view.tally.failures <= view.tally.calls && view.tally.calls <= 3, "{view:?}");
    let mut at = LONG_AFTER;
    for _ in 0..8 {
        at = At(at.0 + 20_000);
        if let Ok((pass, _)) = machine.admit(&rules, &at) {
            machine.record(&rules, &at, pass, Sample::GOOD);
        }
    }
    assert_eq!(machine.state(), State::Closed);
}

fn explore(start: Start, ops: &[Op], preemptions: Option<usize>) {
    let ops = ops.to_vec();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(move || {
        let rules = rules();
        let (machine, begun, permits) = start.set_up(&rules);
        let machine: Shared = Arc::new(machine);
        let threads: Vec<_> = ops[1..]
            .iter()
            .map(|&op| {
                let (machine, permits) = (Arc::clone(&machine), permits.clone());
                loom::thread::spawn(move || act(op, &machine, start.now(), &permits))
            })
            .collect();
        let mut seen = vec![act(ops[0], &machine, start.now(), &permits)];
        seen.extend(threads.into_iter().map(|thread| thread.join().expect("no panic")));
        let probes = seen.iter().filter_map(|seen| seen.taken).filter(|pass| pass.is_probe());
        assert!(probes.count() <= 2, "more probes than may be in flight");
        let changes = seen.into_iter().flat_map(|seen| seen.changes).collect();
        check_changes(changes, begun, &machine);
        check_life(&machine);
    });
}

const STARTS: [Start; 4] = [Start::OnTheEdge, Start::ProbeDue, Start::Probing, Start::Stuck];

/// Each thread's operation, with a permit of its own where it ends one.
const OPS: [fn(usize) -> Op; 8] = [
    |_| Op::Admit,
    |_| Op::AdmitAndFail,
    Op::Pass,
    Op::Fail,
    Op::Cancel,
    |_| Op::Trip,
    |_| Op::Reset,
    |_| Op::Look,
];

#[test]
fn every_pair_of_operations_in_every_interleaving_is_sound() {
    for start in STARTS {
        for (first, a) in OPS.iter().enumerate() {
            for b in &OPS[first..] {
                explore(start, &[a(0), b(1)], None);
            }
        }
    }
}

#[test]
fn every_triple_of_operations_is_sound() {
    for start in STARTS {
        for (first, a) in OPS.iter().enumerate() {
            for (second, b) in OPS.iter().enumerate().skip(first) {
                // A third thread that only looks changes nothing; the pairs have that one.
                for c in &OPS[second..OPS.len() - 1] {
                    // Two permits are out; a third that would end one takes its own instead.
                    let third = match c(0) {
                        Op::Pass(_) | Op::Fail(_) => Op::AdmitAndFail,
                        Op::Cancel(_) => Op::Admit,
                        other
                        @ (Op::Admit | Op::AdmitAndFail | Op::Trip | Op::Reset | Op::Look) => other,
                    };
                    explore(start, &[a(0), b(1), third], Some(2));
                }
            }
        }
    }
}

// --- races with a name --------------------------------------------------------------------------

#[test]
fn when_the_open_time_passes_exactly_one_of_many_makes_the_change() {
    loom::model(|| {
        let rules = rules();
        let machine: Shared = Arc::new(machine(&rules));
        open(&machine);
        let other = Arc::clone(&machine);
        let thread = loom::thread::spawn(move || other.admit(&self::rules(), &AFTER_OPEN));
        let mine = machine.admit(&rules, &AFTER_OPEN);
        let theirs = thread.join().expect("no panic");
        let changes = [mine, theirs].into_iter().flatten().filter(|(_, change)| change.is_some());
        assert_eq!(changes.count(), 1);
    });
}

#[test]
fn a_new_open_time_is_never_seen_with_the_old_state_or_the_other_way_round() {
    loom::model(|| {
        let rules = rules();
        let machine: Shared = Arc::new(machine(&rules));
        open(&machine);
        let (probe, _) = admit(&machine, AFTER_OPEN);
        let other = Arc::clone(&machine);
        let thread = loom::thread::spawn(move || {
            other.record(&self::rules(), &AFTER_OPEN, probe, Sample::FAILED)
        });
        // Half-open with room, or open for the whole new time: never open with the old one.
        match machine.peek(&rules, &AFTER_OPEN) {
            Ok(()) => {}
            Err(refusal) => assert_eq!(refusal, Refusal::Open(Duration::from_secs(1))),
        }
        thread.join().expect("no panic").expect("a failed probe opens it");
    });
}

#[test]
fn two_failures_at_once_are_both_counted_and_one_of_them_opens() {
    loom::model(|| {
        let rules = rules();
        let machine: Shared = Arc::new(machine(&rules));
        let (first, second) = (admit(&machine, START).0, admit(&machine, START).0);
        let other = Arc::clone(&machine);
        let thread = loom::thread::spawn(move || fail(&other, first));
        let mine = fail(&machine, second);
        let theirs = thread.join().expect("no panic");
        assert!(mine.is_some() != theirs.is_some());
        assert_eq!(machine.state(), State::Open);
    });
}

#[test]
fn a_late_result_never_enters_the_window_of_a_new_generation() {
    loom::model(|| {
        let rules = rules();
        let machine: Shared = Arc::new(machine(&rules));
        let (late, _) = admit(&machine, START);
        let other = Arc::clone(&machine);
        let thread = loom::thread::spawn(move || fail(&other, late));
        machine.reset(&rules);
        let (fresh, _) = admit(&machine, START);
        machine.record(&rules, &START, fresh, Sample::GOOD);
        thread.join().expect("no panic");
        let tally = machine.view(&rules, &START).tally;
        assert_eq!(tally, Tally { calls: 1, failures: 0, slow: 0 });
    });
}

#[test]
fn a_cancelled_probe_gives_its_place_to_exactly_one() {
    loom::model(|| {
        let rules = rules();
        let machine: Shared = Arc::new(machine(&rules));
        open(&machine);
        let (first, _) = admit(&machine, AFTER_OPEN);
        let (_second, _) = admit(&machine, AFTER_OPEN);
        let other = Arc::clone(&machine);
        let thread =
            loom::thread::spawn(move || other.give_back(&self::rules(), &AFTER_OPEN, first));
        let during = machine.admit(&rules, &AFTER_OPEN).is_ok();
        thread.join().expect("no panic");
        let after = machine.admit(&rules, &AFTER_OPEN).is_ok();
        assert!(during != after);
    });
}

#[test]
fn lost_probes_are_replaced_once_and_their_late_end_counts_for_nothing() {
    loom::model(|| {
        let rules = rules();
        let machine: Shared = Arc::new(machine(&rules));
        open(&machine);
        let (lost, _) = admit(&machine, AFTER_OPEN);
        let (_leaked, _) = admit(&machine, AFTER_OPEN);
        let other = Arc::clone(&machine);
        let thread = loom::thread::spawn(move || {
            other.admit(&self::rules(), &LONG_AFTER).map(|(pass, _)| pass)
        });
        let mine = machine.admit(&rules, &LONG_AFTER).map(|(pass, _)| pass);
        let theirs = thread.join().expect("no panic");
        // A new round of probes has begun, and both found a place in it.
        assert!(mine.is_ok() && theirs.is_ok());
        assert_eq!(machine.record(&rules, &LONG_AFTER, lost, Sample::FAILED), None);
        assert_eq!(machine.state(), State::HalfOpen);
    });
}

/// The window's own race: both appends find the active word full and must copy it away first.
fn append_at_the_seam(window_size: u32, filled: u32) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 10_000;
    builder.check(move || {
        let rules = Rules::of(&BreakerConfig {
            window_size,
            min_requests: window_size,
            failure_rate: 1.0,
            slow_as: SlowAs::Ignore,
            ..BreakerConfig::default()
        });
        let machine: Shared = Arc::new(machine(&rules));
        let pass = admit(&machine, START).0;
        for call in 0..filled {
            let failed = call % 3 == 0;
            machine.record(&rules, &START, pass, Sample { failed, slow: !failed });
        }
        let (other, theirs) = (Arc::clone(&machine), rules.clone());
        let thread = loom::thread::spawn(move || {
            other.record(&theirs, &START, pass, Sample::FAILED);
        });
        machine.record(&rules, &START, pass, Sample::SLOW);
        thread.join().expect("no panic");
        let kept = u64::from(filled.min(window_size - 2));
        let older = (u64::from(filled) - kept)..u64::from(filled);
        let failures = older.filter(|call| call % 3 == 0).count() as u64 + 1;
        let tally = machine.view(&rules, &START).tally;
        assert_eq!(tally, Tally { calls: kept + 2, failures, slow: kept + 2 - failures });
    });
}

#[test]
fn two_appends_at_the_seam_of_two_segments_lose_nothing() {
    append_at_the_seam(30, 12);
    append_at_the_seam(13, 24);
    append_at_the_seam(128, 132);
    append_at_the_seam(130, 136);
}

#[test]
fn two_failures_in_one_bucket_of_a_time_window_are_both_counted() {
    loom::model(|| {
        let rules = Rules::of(&BreakerConfig {
            window: order_service::adapters::resilience::breaker::WindowKind::Time,
            min_requests: 2,
            failure_rate: 1.0,
            ..BreakerConfig::default()
        });
        let machine: Shared = Arc::new(machine(&rules));
        let pass = admit(&machine, START).0;
        let (other, theirs) = (Arc::clone(&machine), rules.clone());
        let thread =
            loom::thread::spawn(move || other.record(&theirs, &START, pass, Sample::FAILED));
        let mine = machine.record(&rules, &START, pass, Sample::FAILED);
        let theirs = thread.join().expect("no panic");
        assert!(mine.is_some() != theirs.is_some());
    });
}
