//! A deterministic world around the real core: the use cases, the task runner, the worker loop and the
//! guards are those of production; partners, payers, clients, the database's moods and time itself
//! come from one seed, in one thread, under paused time.
//!
//! A run has three acts. In the first, everything goes wrong that `faults` names. Then everything
//! heals. Then virtual time passes until nothing is left to do, and the partners' ledgers are laid
//! beside what clients were told (`judgement`). Most rules are watched all the way (`audit`, `bank`, `doubt`).

mod audit;
mod bank;
mod chronicle;
mod client;
mod coverage;
mod dice;
mod doubt;
mod faults;
mod fleet;
mod instance;
mod judgement;
mod mutants;
mod operator;
mod payer;
mod plan;
mod port;
mod shrink;
mod store;
mod wire;
mod world;

pub use chronicle::Violation;
pub use coverage::{Reached, gaps};
pub use faults::Faults;
pub use mutants::Mutant;
pub use shrink::shrink;

use std::cell::RefCell;
use std::panic;
use std::sync::Once;
use world::World;

/// What a run is asked for beside its seed.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// What may go wrong; a fault outside costs its draw of the dice and does not happen.
    pub faults: Faults,
    pub orders: usize,
    pub instances: usize,
    /// Whether the instances' wall clocks are up to an hour apart.
    pub skewed: bool,
    /// A known bug that is planted in the world.
    pub mutant: Option<Mutant>,
    /// Whether the schedule is written down.
    pub record: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            faults: Faults::ALL,
            orders: usize::MAX,
            instances: usize::MAX,
            skewed: true,
            mutant: None,
            record: false,
        }
    }
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub violations: Vec<Violation>,
    /// What happened, with virtual times; empty unless recorded.
    pub schedule: Vec<String>,
    pub tally: Tally,
    /// What was decided in, and how often.
    pub reached: Reached,
}

/// How much happened, to see that a run was not idle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub orders: u64,
    pub calls: u64,
    pub crashes: u64,
    pub paid: u64,
    pub refunds: u64,
    pub unknown: u64,
    pub reviews: u64,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.orders += other.orders;
        self.calls += other.calls;
        self.crashes += other.crashes;
        self.paid += other.paid;
        self.refunds += other.refunds;
        self.unknown += other.unknown;
        self.reviews += other.reviews;
    }
}

/// Runs the world of one seed to its end. The same seed and options give the same report.
pub fn run(seed: u64, options: &Options) -> Report {
    listen_for_panics();
    PANICS.take();
    // What the worker and the guards draw comes from the thread's generator.
    fastrand::seed(seed);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime needs nothing from outside");
    let mut report = runtime.block_on(World::run(seed, options));
    // Futures of dead instances end here, still within the run.
    drop(runtime);
    let panics = PANICS.take();
    report.violations.extend(panics.into_iter().map(|what| Violation { rule: "no panic", what }));
    report
}

thread_local! {
    /// Panics of the present run: a task of the runtime keeps its own to itself.
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn listen_for_panics() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            PANICS.with_borrow_mut(|panics| panics.push(info.to_string()));
            before(info);
        }));
    });
}
