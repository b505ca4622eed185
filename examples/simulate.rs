//! Runs the simulation of payments for as many seeds as wanted:
//! `cargo run --release --example simulate -- --from 1 --seeds 100000`.
//! A seed that fails is made smaller, and its schedule is printed.

#[path = "../tests/simulation/mod.rs"]
mod simulation;

use clap::Parser;
use simulation::{Faults, Mutant, Options, Reached, Report, Tally, gaps, run, shrink};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

#[derive(Debug, Clone, Parser)]
struct Arguments {
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// How many seeds.
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// Threads, each with worlds of its own.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Goes on after a failing seed and only lists them.
    #[arg(long)]
    list: bool,
    /// Prints the schedule of every seed.
    #[arg(long)]
    verbose: bool,
    /// Does not make a failing seed smaller.
    #[arg(long)]
    whole: bool,
    /// Plants a known bug, by its place in the list.
    #[arg(long)]
    mutant: Option<usize>,
    /// Lists what was decided in, how often, and what never.
    #[arg(long)]
    reached: bool,
}

struct Result {
    tally: Tally,
    reached: Reached,
    failed: Vec<(u64, Report)>,
}

fn main() -> io::Result<ExitCode> {
    let arguments = Arguments::parse();
    let mutant = arguments.mutant.and_then(|place| Mutant::ALL.get(place).copied());
    let options =
        Options { faults: Faults::ALL, mutant, record: arguments.verbose, ..Options::default() };
    let begun = Instant::now();
    let result = run_all(&arguments, &options);
    let mut out = io::stdout().lock();
    tell(&mut out, &arguments, &result, begun.elapsed())?;
    if arguments.reached {
        writeln!(out, "{:#?}\n{}", result.reached, gaps(&result.reached, "").join("\n"))?;
    }
    for (seed, report) in &result.failed {
        writeln!(out, "seed {seed}: {:?}", report.violations)?;
    }
    let Some((seed, _)) = result.failed.first() else { return Ok(ExitCode::SUCCESS) };
    if !arguments.list {
        explain(&mut out, *seed, &options, arguments.whole)?;
    }
    Ok(ExitCode::FAILURE)
}

fn run_all(arguments: &Arguments, options: &Options) -> Result {
    let next = AtomicU64::new(arguments.from);
    let end = arguments.from.saturating_add(arguments.seeds);
    let result =
        Mutex::new(Result { tally: Tally::default(), reached: Reached::new(), failed: Vec::new() });
    std::thread::scope(|threads| {
        for _ in 0..arguments.threads.max(1) {
            threads.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    let report = run(seed, options);
                    let mut result = result.lock().expect("no holder panics");
                    result.tally.add(report.tally);
                    for (situation, count) in &report.reached {
                        *result.reached.entry(*situation).or_default() += count;
                    }
                    let failed = !report.violations.is_empty();
                    if arguments.verbose && !failed {
                        result.failed.push((seed, report));
                    } else if failed {
                        result.failed.push((seed, report));
                        if !arguments.list {
                            next.store(end, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let mut result = result.into_inner().expect("no holder panics");
    result.failed.sort_by_key(|(seed, _)| *seed);
    result
}

fn tell(
    out: &mut impl Write,
    arguments: &Arguments,
    result: &Result,
    took: Duration,
) -> io::Result<()> {
    let Tally { orders, calls, crashes, paid, refunds, unknown, reviews } = result.tally;
    writeln!(
        out,
        "{} seeds from {} in {took:.1?}: {orders} orders, {calls} calls to partners, \
         {unknown} unknown outcomes, {crashes} deaths, {paid} payments, {refunds} refunds, {reviews} reviews, \
         {} failed seeds",
        arguments.seeds,
        arguments.from,
        result.failed.len()
    )
}

fn explain(out: &mut impl Write, seed: u64, options: &Options, whole: bool) -> io::Result<()> {
    let smaller = if whole {
        let options = Options { record: true, ..*options };
        Some((options, run(seed, &options)))
    } else {
        shrink(seed, options)
    };
    let Some((smaller, report)) = smaller else { return Ok(()) };
    writeln!(out, "\nthe schedule of seed {seed}, with these faults: {}", smaller.faults)?;
    for line in &report.schedule {
        writeln!(out, "{line}")?;
    }
    for violation in &report.violations {
        writeln!(out, "{}: {}", violation.rule, violation.what)?;
    }
    Ok(())
}
