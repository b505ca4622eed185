//! Every pair and triple of operations, from every state that matters, in every interleaving: what
//! must hold whatever they are.

use super::*;

/// What a thread does. Those that end a call end the n-th permit that was taken beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Admit,
    AdmitAndFail,
    Succeed(usize),
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
    fn set_up(self, rules: &Rules) -> (Machine<Word>, BreakerState, Vec<Admission>) {
        let machine = machine(rules);
        let early = [admit(&machine, START).0, admit(&machine, START).0];
        match self {
            Self::OnTheEdge => {
                fail(&machine, admit(&machine, START).0);
                (machine, BreakerState::Closed, early.to_vec())
            }
            Self::ProbeDue => {
                open(&machine);
                (machine, BreakerState::Open, early.to_vec())
            }
            Self::Probing | Self::Stuck => {
                open(&machine);
                let probes = [admit(&machine, AFTER_OPEN).0, admit(&machine, AFTER_OPEN).0];
                (machine, BreakerState::HalfOpen, probes.to_vec())
            }
        }
    }
}

/// What a thread saw.
#[derive(Debug, Default)]
struct Seen {
    changes: Vec<Transition>,
    taken: Option<Admission>,
}

fn act(op: Op, machine: &Machine<Word>, at: At, permits: &[Admission]) -> Seen {
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
        Op::Succeed(n) => {
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
            assert_eq!(view.open_for.is_some(), view.state == BreakerState::Open);
            assert!(view.probes_in_flight <= 2);
            assert!(view.tally.failures <= view.tally.calls && view.tally.calls <= 3);
        }
    }
    seen
}

/// Exactly one report per change, each beginning where the one before ended, and the last one where
/// the machine now is.
fn check_changes(mut changes: Vec<Transition>, begun: BreakerState, machine: &Machine<Word>) {
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
    assert_eq!(machine.state(), BreakerState::Closed);
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
    Op::Succeed,
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
                        Op::Succeed(_) | Op::Fail(_) => Op::AdmitAndFail,
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
