//! The world of one seed: its time, its parts, what clients were told, and its three acts.

use super::bank::{self, Bank, PROVIDERS};
use super::chronicle::Chronicle;
use super::client;
use super::coverage::Coverage;
use super::dice::Dice;
use super::faults::Fault;
use super::fleet::Fleet;
use super::plan::Plan;
use super::{Options, Report, Tally, judgement, operator};
use order_service::adapters::outbound::storage::MemoryStore;
use order_service::core::domain::ids::{OrderId, TaskId};
use order_service::core::domain::money::Money;
use order_service::core::domain::provider::Provider;
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::payment::task::{Task, TaskError, TaskState};
use order_service::core::ports::clock::Clock;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// When the database's clock begins, in microseconds since 1970.
const EPOCH: i64 = 1_764_500_000_000_000;

/// More commits at one moment of virtual time than any honest work makes.
const COMMITS_AT_ONCE: u32 = 2_000;

#[derive(Debug)]
pub struct World {
    pub seed: u64,
    pub options: Options,
    pub plan: Plan,
    pub chronicle: Chronicle,
    /// What is stored, beneath all storage faults.
    pub store: Arc<MemoryStore>,
    pub fleet: Fleet,
    pub coverage: Coverage,
    banks: [Bank; PROVIDERS.len()],
    records: Mutex<Records>,
    began: Instant,
    healed: AtomicBool,
}

/// What was said to clients, and what was seen of tasks.
#[derive(Debug, Default)]
pub struct Records {
    /// Orders in the order in which they were first heard of: ids differ with the clocks, names do not.
    names: HashMap<String, usize>,
    task_names: HashMap<TaskId, usize>,
    /// Answered 201.
    pub placed: BTreeMap<OrderId, Money>,
    /// What each idempotency key stands for.
    pub keys: BTreeMap<String, OrderId>,
    /// Keys that refunds were asked with.
    pub refund_keys: BTreeMap<String, OrderId>,
    /// Whether a key's refund was taken.
    pub refunds: BTreeMap<String, bool>,
    /// Orders that somebody asked to cancel.
    pub cancels: BTreeSet<usize>,
    /// When a client first heard that its cancel was accepted.
    pub accepted_cancels: BTreeMap<OrderId, Instant>,
    /// Refunds for late money that the operator let go or gave up.
    pub own_refunds: BTreeSet<TaskId>,
    /// Refunds that a person called settled, by key: what they do afterwards is somebody else's.
    pub settled: BTreeSet<String>,
    /// Orders about whose refunds a person was wrong.
    pub misjudged: BTreeSet<usize>,
    /// How often a person was told to look, by the kind of the task.
    pub told: BTreeMap<&'static str, u64>,
    /// News of a commit was lost, or a process died with it: nobody may have been told.
    pub muted: bool,
    /// Answered 202.
    pub promised: BTreeMap<TaskId, OrderId>,
    pub finals: BTreeMap<TaskId, Final>,
    /// Confirms whose task may have to queue past the limit: not answered yet, answered before their
    /// run rested, or about an outcome that was unknown.
    pub unbounded: u64,
    /// What was to be registered, by number.
    pub sent: BTreeMap<String, Money>,
    pub tally: Tally,
    /// Commits at the present moment.
    pace: (Duration, u32),
}

/// How a task ended.
pub type Final = (TaskState, Option<TaskError>, Option<(Provider, u8)>);

impl World {
    pub async fn run(seed: u64, options: &Options) -> Report {
        let began = Instant::now();
        let plan = Plan::draw(seed, options);
        let world = Arc::new(Self {
            seed,
            options: *options,
            chronicle: Chronicle::new(options.record),
            store: Arc::new(MemoryStore::new(Arc::new(WallClock { began, skew: 0 }))),
            fleet: Fleet::default(),
            coverage: Coverage::default(),
            banks: PROVIDERS.map(|provider| Bank::new(seed, provider)),
            records: Mutex::default(),
            began,
            healed: AtomicBool::new(false),
            plan,
        });
        world.tell_plan();
        world.fleet.start(&world);
        let clients: Vec<_> = (0..world.plan.orders)
            .map(|place| tokio::spawn(client::shop(Arc::clone(&world), place)))
            .collect();
        let operator = tokio::spawn(operator::watch_over(Arc::clone(&world)));
        sleep(world.plan.chaos).await;
        world.healed.store(true, Ordering::Relaxed);
        world.chronicle.note(|| "everything heals".to_owned());
        world.fleet.settle(&world).await;
        for client in clients.into_iter().chain([operator]) {
            // Whoever panicked is told of by the panic hook.
            let _ = client.await;
        }
        judgement::until_quiet(&world).await;
        judgement::judge(&world).await;
        world.fleet.close();
        let (violations, schedule) = world.chronicle.close();
        let mut tally = world.records().tally;
        tally.orders = u64::try_from(world.plan.orders).unwrap_or(u64::MAX);
        Report { violations, schedule, tally, reached: world.coverage.reached() }
    }

    fn tell_plan(&self) {
        let plan = &self.plan;
        self.chronicle.note(|| {
            format!(
                "{} order(s), {} instance(s), chaos {:?}, providers {:?}, queueing {}, grace {:?}, \
                 lease {:?}, limits {:?}, max age {:?}, refund key {}, outages {:?}, dark {:?}",
                plan.orders,
                plan.instances,
                plan.chaos,
                plan.policy.providers,
                plan.policy.queueing,
                plan.policy.unknown_grace,
                plan.policy.lease,
                plan.call_limit,
                plan.policy.max_age,
                plan.refund_key,
                plan.outages,
                plan.dark,
            )
        });
    }

    /// Whether a fault happens now. The dice are thrown in any case.
    pub fn strikes(&self, fault: Fault, dice: &Dice) -> bool {
        let hit = dice.chance(self.plan.intensity(fault));
        hit && self.options.faults.has(fault) && !self.healed()
    }

    /// The same for what is decided once and for all, however long the chaos lasts.
    pub fn destined(&self, fault: Fault, dice: &Dice) -> bool {
        let hit = dice.chance(self.plan.intensity(fault));
        hit && self.options.faults.has(fault)
    }

    pub fn healed(&self) -> bool {
        self.healed.load(Ordering::Relaxed)
    }

    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The database's time.
    pub fn now(&self) -> Timestamp {
        WallClock { began: self.began, skew: 0 }.now()
    }

    pub fn clock(&self, instance: usize) -> Arc<dyn Clock> {
        Arc::new(WallClock { began: self.began, skew: self.plan.skew[instance] })
    }

    pub fn bank(&self, provider: Provider) -> &Bank {
        &self.banks[bank::place(provider)]
    }

    pub fn banks(&self) -> &[Bank] {
        &self.banks
    }

    pub fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The order's place among all, by its part of a provider's number.
    pub fn order_of(&self, number: &str) -> usize {
        let key = number.split('-').next().unwrap_or(number).to_owned();
        let names = &mut self.records().names;
        let next = names.len();
        *names.entry(key).or_insert(next)
    }

    pub fn name(&self, id: OrderId) -> String {
        format!("o{}", self.order_of(&id.to_base32()))
    }

    pub fn task_name(&self, id: TaskId) -> String {
        let names = &mut self.records().task_names;
        let next = names.len();
        format!("t{}", names.entry(id).or_insert(next))
    }

    /// A number as the schedule shows it: without the id, which has the clock in it.
    pub fn number(&self, number: &str) -> String {
        let (_, rest) = number.split_once('-').unwrap_or(("", ""));
        format!("o{}-{rest}", self.order_of(number))
    }

    /// A commit is about to be made. Work that goes round in a circle without time passing would hang
    /// the thread, so it is stopped here.
    pub async fn pace(&self, who: &str) {
        let round = {
            let (now, records) = (self.elapsed(), &mut self.records());
            let (moment, commits) = records.pace;
            records.pace = if moment == now { (now, commits + 1) } else { (now, 1) };
            records.pace.1
        };
        if round > COMMITS_AT_ONCE {
            self.chronicle.violated("decisions take time", who.to_owned());
            pending::<()>().await;
        }
    }

    /// A task was seen: once final, it stays as it is.
    pub fn saw(&self, task: &Task) {
        if !task.state.is_final() {
            return;
        }
        let now: Final = (task.state, task.error, task.result);
        let before = *self.records().finals.entry(task.id).or_insert(now);
        if before != now {
            let what = format!("{} was {before:?}, is {now:?}", self.task_name(task.id));
            self.chronicle.violated("final answers stay", what);
        }
    }
}

/// Virtual time on a wall, set wrong by so many seconds.
#[derive(Debug)]
struct WallClock {
    began: Instant,
    skew: i64,
}

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let virtual_time = Timestamp::from_micros(EPOCH + self.skew * 1_000_000);
        virtual_time + self.began.elapsed()
    }
}
