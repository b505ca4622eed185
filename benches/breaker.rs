//! The circuit breaker beside those of crates.io and a plain Mutex, and beside the limits of the
//! machine. `cargo bench --bench breaker` prints the table of docs/benchmarks.md.
//!
//! A row is nanoseconds per call, begin and end of it together, as each thread sees it: the lower
//! quartile of many short rounds, so that other work on the machine does not show.

#![expect(clippy::print_stdout, reason = "a benchmark's table is its output")]

mod subjects;

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use subjects::{
    CircuitBreakerRs, FailsafeConsecutive, FailsafeRate, Load, MutexRing, Ours, OursCheck,
    OursTime, OursWatch, RecloserAsync, RecloserSync, Subject, TowerResilience,
};
use tokio::time::Instant;

const ROUNDS: usize = 41;
const CALLS: u32 = 100_000;

fn main() {
    println!("ns per call, begin and end; 2T = as each of two threads on one breaker sees it\n");
    println!(
        "{:<34}{:>9}{:>9}{:>10}{:>9}{:>9}{:>9}{:>8}",
        "", "ok 1T", "ok 2T", "20% 1T", "20% 2T", "open 1T", "open 2T", "bytes"
    );
    row::<Ours>("ours, permit");
    row::<OursCheck>("ours, check (the adapters' peek)");
    row::<OursTime>("ours, time window");
    row::<OursWatch>("ours, watch (times the call)");
    row::<RecloserSync>("recloser 1.4.0");
    row::<RecloserAsync>("recloser 1.4.0, async");
    row::<FailsafeConsecutive>("failsafe 1.3.0, consecutive");
    row::<FailsafeRate>("failsafe 1.3.0, rate");
    row::<CircuitBreakerRs>("circuitbreaker-rs 0.1.1");
    row::<TowerResilience>("tower-resilience-circuitbreaker");
    row::<MutexRing>("std Mutex and a ring");
    limits();
    crowd();
}

fn row<S: Subject>(name: &str) {
    print!("{name:<34}");
    for (load, width) in [(Load::Healthy, 9), (Load::Failures, 10), (Load::Open, 9)] {
        for threads in [1, 2] {
            let width = if threads == 1 { width } else { 9 };
            print!("{:>width$.1}", calls::<S>(load, threads));
        }
    }
    println!("{:>8}", S::BYTES);
}

/// One breaker, `threads` threads; each round's time is that of the slower thread.
fn calls<S: Subject>(load: Load, threads: usize) -> f64 {
    let subject = S::new(load);
    time(threads, || {
        let mut handle = subject.handle();
        let subject = &subject;
        move |n| subject.call(&mut handle, load != Load::Failures || n % 5 != 0)
    })
}

fn time<F: FnMut(u32)>(threads: usize, work: impl Fn() -> F + Sync) -> f64 {
    let barrier = Barrier::new(threads);
    let rounds = Mutex::new(vec![0.0_f64; ROUNDS]);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut step = work();
                for round in 0..ROUNDS {
                    barrier.wait();
                    let begun = Instant::now();
                    (0..CALLS).for_each(&mut step);
                    let each = begun.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS);
                    let mut rounds = rounds.lock().unwrap_or_else(PoisonError::into_inner);
                    rounds[round] = rounds[round].max(each);
                }
            });
        }
    });
    let mut rounds = rounds.into_inner().unwrap_or_else(PoisonError::into_inner);
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 4]
}

/// What the machine itself costs: nothing that does this can be faster.
fn limits() {
    println!("\n{:<34}{:>9}{:>9}", "limits", "1T", "2T");
    let word = AtomicU64::new(1);
    let mutex = Mutex::new(1_u64);
    limit("atomic load", || |_| keep(word.load(Ordering::Acquire)));
    limit("atomic fetch_add", || |_| keep(word.fetch_add(1, Ordering::AcqRel)));
    limit("std Mutex", || {
        |_| *mutex.lock().unwrap_or_else(PoisonError::into_inner) += black_box(1)
    });
    limit("Instant::now", || |_| keep(Instant::now()));
    let clock = order_service::adapters::resilience::clock::Clock::Coarse;
    limit("coarse monotonic clock", || |_| keep(clock.now_nanos()));
}

fn keep<T>(value: T) {
    let _kept = black_box(value);
}

fn limit<F: FnMut(u32)>(name: &str, work: impl Fn() -> F + Sync) {
    println!("{name:<34}{:>9.1}{:>9.1}", time(1, &work), time(2, &work));
}

/// A million breakers in memory, as a keyed set would hold them.
fn crowd() {
    const MILLION: u32 = 1_000_000;
    let before = resident_bytes();
    let begun = Instant::now();
    let crowd = subjects::crowd(MILLION);
    let made = begun.elapsed();
    let bytes = resident_bytes().saturating_sub(before) / u64::from(MILLION);
    println!("\na million breakers: {bytes} bytes each, made in {made:.1?}, no task, no timer");
    drop(crowd);
}

/// From the kernel, so that nothing is left out; zero where it does not tell.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
