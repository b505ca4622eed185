//! Whatever goes wrong, in whatever order: no order is lost, none is paid for twice, and every promise
//! is kept. Each seed is a world of its own (see `simulation/mod.rs`).

#[path = "simulation/mod.rs"]
mod simulation;

use simulation::{Mutant, Options, Reached, Report, Tally, gaps, run, shrink};

/// Seeds of a test run; `examples/simulate.rs` takes any number.
const SEEDS: u64 = 3_000;

/// Within so many seeds each planted bug is found.
const SEEDS_FOR_A_MUTANT: u64 = 6_000;

/// What no run decides in, or seldom one, each with its reason.
const UNREACHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/simulation/unreached.txt");

fn told(seed: u64, options: &Options) -> String {
    let Some((smaller, report)) = shrink(seed, options) else { return "it passes now".to_owned() };
    let Report { violations, schedule, .. } = report;
    format!(
        "seed {seed} with {} order(s), {} instance(s), faults {}:\n{}\n\n{violations:#?}",
        smaller.orders,
        smaller.instances,
        smaller.faults,
        schedule.join("\n")
    )
}

#[test]
fn nothing_is_lost_and_nothing_happens_twice() {
    let options = Options::default();
    let (mut tally, mut reached) = (Tally::default(), Reached::new());
    for seed in 1..=SEEDS {
        let report = run(seed, &options);
        assert!(report.violations.is_empty(), "{}", told(seed, &options));
        tally.add(report.tally);
        for (situation, count) in report.reached {
            *reached.entry(situation).or_default() += count;
        }
    }
    // A world in which nothing happens proves nothing.
    let Tally { orders, calls, crashes, paid, refunds, unknown, .. } = tally;
    let busy = [orders, calls, crashes, paid, refunds, unknown];
    assert!(busy.into_iter().all(|count| count > SEEDS / 4), "{tally:?}");
    // Nor does one that leaves out what can be decided.
    let exceptions = std::fs::read_to_string(UNREACHED).expect("the list is checked in");
    let gaps = gaps(&reached, &exceptions);
    assert!(gaps.is_empty(), "{UNREACHED} does not fit:\n{}\n{reached:#?}", gaps.join("\n"));
}

#[test]
fn a_seed_replays_exactly() {
    let options = Options { record: true, ..Options::default() };
    for seed in 1..=20 {
        assert_eq!(run(seed, &options), run(seed, &options), "seed {seed}");
    }
}

#[test]
fn clocks_that_are_an_hour_apart_change_nothing() {
    let skewed = Options { record: true, ..Options::default() };
    let right = Options { skewed: false, ..skewed };
    for seed in 1..=50 {
        assert_eq!(run(seed, &skewed), run(seed, &right), "seed {seed}");
    }
}

#[test]
fn every_planted_bug_is_found() {
    let missed: Vec<Mutant> = Mutant::ALL
        .into_iter()
        .filter(|mutant| {
            let options = Options { mutant: Some(*mutant), ..Options::default() };
            (1..=SEEDS_FOR_A_MUTANT).all(|seed| run(seed, &options).violations.is_empty())
        })
        .collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}
