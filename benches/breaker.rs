//! The circuit breaker beside those of crates.io and a plain Mutex, and beside the limits of the
//! machine. `cargo bench --bench breaker` prints the table of docs/benchmarks.md.
//!
//! A row is nanoseconds per call, begin and end of it together, as each thread sees it: the lower
//! quartile of many short rounds, so that other work on the machine does not show.

#![expect(clippy::print_stdout, reason = "a benchmark's table is its output")]

mod subjects;

use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use subjects::{
    CircuitBreakerRs, FailsafeConsecutive, FailsafeRate, Load, MutexRing, Ours, OursCall,
    OursCheck, OursTime, RecloserAsync, RecloserSync, Subject, TowerResilience,
};
use tokio::runtime::Handle;
use tokio::time::Instant;

const ROUNDS: usize = 101;
const ROUND: f64 = 100e-6;

fn main() {
    if let Some(name) = std::env::args().skip_while(|word| word != WEIGH).nth(1) {
        return weigh_here(&name);
    }
    // The tower layer wants a runtime about it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let _entered = runtime.as_ref().map(tokio::runtime::Runtime::enter);
    println!("ns per call, begin and end; 2T = as each of two threads on one breaker sees it\n");
    println!(
        "{:<36}{:>9}{:>9}{:>10}{:>9}{:>9}{:>9}{:>8}",
        "", "ok 1T", "ok 2T", "20% 1T", "20% 2T", "open 1T", "open 2T", "bytes"
    );
    row::<Ours>();
    row::<OursCheck>();
    row::<OursTime>();
    row::<OursCall>();
    row::<RecloserSync>();
    row::<RecloserAsync>();
    row::<FailsafeConsecutive>();
    row::<FailsafeRate>();
    row::<CircuitBreakerRs>();
    row::<TowerResilience>();
    row::<MutexRing>();
    limits();
    crowd();
}

fn row<S: Subject>() {
    print!("{:<36}", S::NAME);
    for (load, width) in [(Load::Healthy, 9), (Load::Failures, 10), (Load::Open, 9)] {
        for threads in [1, 2] {
            let width = if threads == 1 { width } else { 9 };
            print!("{:>width$.1}", calls::<S>(load, threads));
        }
    }
    println!("{:>8}", weigh(S::NAME));
}

const WEIGH: &str = "--weigh";

/// Bytes of one instance with all it puts on the heap, in a process of its own: here the memory of
/// the rounds before would be used again.
fn weigh(name: &str) -> String {
    let bench = std::env::current_exe().map(Command::new);
    let weighed = bench.and_then(|mut bench| bench.args([WEIGH, name]).output());
    weighed.map_or_else(|_| "-".into(), |out| String::from_utf8_lossy(&out.stdout).trim().into())
}

fn weigh_here(name: &str) {
    let _known = weigh_if::<Ours>(name)
        || weigh_if::<RecloserSync>(name)
        || weigh_if::<FailsafeConsecutive>(name)
        || weigh_if::<FailsafeRate>(name)
        || weigh_if::<CircuitBreakerRs>(name)
        || weigh_if::<TowerResilience>(name)
        || weigh_if::<MutexRing>(name);
}

fn weigh_if<S: Subject>(name: &str) -> bool {
    const MANY: usize = 20_000;
    if S::NAME == name {
        let mut many = Vec::with_capacity(MANY);
        let before = resident_bytes();
        many.extend((0..MANY).map(|_| S::new(Load::Failures)));
        println!("{}", resident_bytes().saturating_sub(before) / MANY as u64);
        black_box(&many);
    }
    S::NAME == name
}

fn calls<S: Subject>(load: Load, threads: usize) -> f64 {
    let subject = S::new(load);
    time(threads, || {
        let mut handle = subject.handle();
        let subject = &subject;
        move |n| subject.call(&mut handle, load != Load::Failures || n % 5 != 0)
    })
}

/// The lower quartile of the rounds of one thread. With two, the other does the same work all the
/// time, and a round counts only if the other made about as many calls meanwhile: on a busy machine
/// the second thread is often not running, and the first would be timed alone.
fn time<F: FnMut(u32)>(threads: usize, work: impl Fn() -> F + Sync) -> f64 {
    let runtime = Handle::try_current().ok();
    let (done, others_calls) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        if threads == 2 {
            scope.spawn(|| {
                let _entered = runtime.as_ref().map(Handle::enter);
                let mut step = work();
                while !done.load(Ordering::Relaxed) {
                    (0..100).for_each(&mut step);
                    others_calls.fetch_add(100, Ordering::Relaxed);
                }
            });
        }
        let mut step = work();
        let mut rounds = Vec::with_capacity(ROUNDS);
        let calls = calls_in_a_round(&mut step);
        for _ in 0..100 * ROUNDS {
            let before = others_calls.load(Ordering::Relaxed);
            let begun = Instant::now();
            (0..calls).for_each(&mut step);
            let took = begun.elapsed().as_secs_f64();
            let meanwhile = others_calls.load(Ordering::Relaxed) - before;
            let together = meanwhile > u64::from(calls) / 2 && meanwhile < u64::from(calls) * 2;
            if threads == 1 || together {
                rounds.push(took * 1e9 / f64::from(calls));
            }
            if rounds.len() == ROUNDS {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
        rounds.sort_by(f64::total_cmp);
        rounds.get(rounds.len() / 4).copied().unwrap_or(f64::NAN)
    })
}

/// As many as fill [`ROUND`] seconds: short enough to run unbroken, long beside the clock.
fn calls_in_a_round(mut step: impl FnMut(u32)) -> u32 {
    let mut calls = 1_000;
    loop {
        let begun = Instant::now();
        (0..calls).for_each(&mut step);
        if begun.elapsed().as_secs_f64() > ROUND / 2.0 {
            return calls;
        }
        calls *= 2;
    }
}

/// What the machine itself costs: nothing that does this can be faster.
fn limits() {
    println!("\n{:<36}{:>9}{:>9}", "limits", "1T", "2T");
    let word = AtomicU64::new(1);
    let mutex = Mutex::new(1_u64);
    limit("atomic load", || |_| keep(word.load(Ordering::Acquire)));
    limit("atomic fetch_add", || |_| keep(word.fetch_add(1, Ordering::AcqRel)));
    limit("atomic compare_exchange", || {
        |_| {
            let seen = word.load(Ordering::Acquire);
            keep(word.compare_exchange(seen, seen + 1, Ordering::AcqRel, Ordering::Acquire));
        }
    });
    limit("std Mutex", || {
        |_| *mutex.lock().unwrap_or_else(PoisonError::into_inner) += black_box(1)
    });
    limit("Instant::now", || |_| keep(Instant::now()));
    let clock = order_service::adapters::resilience::clock::MonotonicClock::Coarse;
    limit("coarse monotonic clock", || |_| keep(clock.now_nanos()));
}

fn keep<T>(value: T) {
    let _kept = black_box(value);
}

fn limit<F: FnMut(u32)>(name: &str, work: impl Fn() -> F + Sync) {
    println!("{name:<36}{:>9.1}{:>9.1}", time(1, &work), time(2, &work));
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
