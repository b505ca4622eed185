//! One instance of the service: the production wiring over the one store. It can die between any two
//! effects.

use super::dice::Dice;
use super::mutants::{self, MutantPort};
use super::port::SimPort;
use super::store::SimStore;
use super::world::World;
use order_service::adapters::inbound::worker::Worker;
use order_service::adapters::observe::adapter_events::Untold;
use order_service::core::domain::ids::{InstanceId, ProductId};
use order_service::core::domain::money::Money;
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::engine::Engine;
use order_service::core::engine::gateway::PaymentGateway;
use order_service::core::engine::task_waiters::TaskWaiters;
use order_service::core::payment::policy::PaymentPolicy;
use order_service::core::ports::call::Call;
use order_service::core::ports::catalog::{CatalogError, CatalogPort, Offer, Product};
use order_service::core::ports::clock::Clock;
use order_service::core::ports::events::{Event, Events, Unheard};
use order_service::core::ports::payment::PaymentPort;
use order_service::core::ports::task_queue::TaskQueue;
use order_service::core::use_cases::cancel_order::CancelOrder;
use order_service::core::use_cases::confirm_order::{ConfirmOrder, RecentRefusals};
use order_service::core::use_cases::idempotency::Idempotency;
use order_service::core::use_cases::operate_tasks::OperateTasks;
use order_service::core::use_cases::place_order::PlaceOrder;
use order_service::core::use_cases::poll_task::PollTask;
use order_service::core::use_cases::receive_callback::CallbackBudget;
use order_service::core::use_cases::receive_callback::ReceiveCallback;
use order_service::core::use_cases::refund_order::RefundOrder;
use order_service::core::use_cases::show_order::ShowOrder;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What every product costs.
pub const PRICE: i64 = 19_900;

/// `SHUTDOWN_TIMEOUT`.
const SHUTDOWN: Duration = Duration::from_secs(25);

/// When all is well again nothing depends on the pace, but hours have to pass.
const CALM_POLL: Duration = Duration::from_secs(30);

/// One incarnation of an instance: everything it does outside itself passes here, and once it is dead
/// nothing passes any more.
#[derive(Debug)]
pub struct Life {
    pub name: String,
    dead: CancellationToken,
    /// Dies when so many more effects have passed.
    fuse: AtomicUsize,
}

impl Life {
    /// The point between two effects: where a process can die and nothing after it happens.
    pub async fn pass(&self) {
        let left = self.fuse.load(Ordering::Relaxed);
        self.fuse.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 0 {
            self.dead.cancel();
        }
        self.alive().await;
    }

    /// A dead process does nothing any more.
    pub async fn alive(&self) {
        if self.dead.is_cancelled() {
            pending::<()>().await;
        }
    }

    pub async fn died(&self) {
        self.dead.cancelled().await;
    }
}

#[derive(Debug)]
pub struct Instance {
    pub life: Arc<Life>,
    pub place: PlaceOrder,
    pub confirm: ConfirmOrder,
    pub cancel: CancelOrder,
    pub refund: RefundOrder,
    pub poll: PollTask,
    pub show: ShowOrder,
    pub operate: OperateTasks,
    pub receive: ReceiveCallback,
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl Instance {
    /// Starts as the real one does: first it hands back the leases of a dead predecessor.
    pub async fn start(
        world: &Arc<World>,
        place: usize,
        name: &str,
        dice: &Dice,
        fuse: usize,
    ) -> Arc<Self> {
        let id = InstanceId::new(name);
        let dead = CancellationToken::new();
        let life = Arc::new(Life { name: name.to_owned(), dead, fuse: AtomicUsize::new(fuse) });
        let store = Arc::new(SimStore::new(world, &life, place, dice));
        let mut policy = PaymentPolicy { instance: id.clone(), ..world.plan.policy.clone() };
        mutants::policy(world.options.mutant, &mut policy);
        let ports = policy.providers.iter().map(|provider| {
            let port = Arc::new(SimPort::new(world, &life, provider));
            MutantPort::around(world.options.mutant, port) as Arc<dyn PaymentPort>
        });
        let runs = TaskTracker::new();
        let engine = Arc::new(Engine {
            orders: store.clone(),
            queue: store.clone(),
            gateway: PaymentGateway::new(ports.collect()),
            policy: Arc::new(policy),
            entropy: Arc::new(Dice::new(world.seed, name, dice.below(usize::MAX))),
            events: Arc::new(Ears(Arc::clone(world))),
            watch: Arc::new(TaskWaiters::default()),
            runs: runs.clone(),
        });
        world.chronicle.note(|| format!("{name} starts"));
        while store.release_leases(&id).await.is_err() {
            sleep(Duration::from_secs(1)).await;
        }
        let idempotency = Idempotency::new(store, Arc::new(Unheard));
        let instance = Self::wire(life, engine, Arc::new(idempotency), world.clock(place));
        instance.work(world);
        Arc::new(instance)
    }

    fn wire(
        life: Arc<Life>,
        engine: Arc<Engine>,
        idempotency: Arc<Idempotency>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            life,
            place: PlaceOrder {
                catalog: Arc::new(OnePrice),
                orders: Arc::clone(&engine.orders),
                idempotency: Arc::clone(&idempotency),
                clock: Arc::clone(&clock),
                entropy: Arc::clone(&engine.entropy),
                events: Arc::clone(&engine.events),
                max_price_age: Duration::from_secs(600),
            },
            confirm: ConfirmOrder {
                engine: Arc::clone(&engine),
                refused: RecentRefusals::default(),
            },
            cancel: CancelOrder { engine: Arc::clone(&engine) },
            refund: RefundOrder { engine: Arc::clone(&engine), idempotency },
            poll: PollTask { engine: Arc::clone(&engine) },
            show: ShowOrder { orders: Arc::clone(&engine.orders) },
            operate: OperateTasks { engine: Arc::clone(&engine) },
            receive: ReceiveCallback {
                engine: Arc::clone(&engine),
                budget: CallbackBudget::default(),
            },
            stop: CancellationToken::new(),
            tracker: engine.runs.clone(),
        }
    }

    fn work(&self, world: &World) {
        let engine = Arc::clone(&self.receive.engine);
        let worker = Worker {
            events: Arc::new(Untold),
            engine,
            workers: world.plan.workers,
            poll_interval: if world.healed() { CALM_POLL } else { world.plan.worker_poll },
            tracker: self.tracker.clone(),
            stop: self.stop.clone(),
        };
        tokio::spawn(worker.run());
    }

    /// Runs a request to its end, whether or not the client waits.
    pub fn serve(&self, request: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(request);
    }

    /// The answer, unless the instance dies before it is given.
    pub async fn answer<T>(&self, reply: oneshot::Receiver<T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.life.died() => None,
            answer = reply => answer.ok(),
        }
    }

    /// What SIGTERM does: stop claiming, let runs end, hand leases back.
    pub async fn shut_down(&self) {
        self.stop.cancel();
        self.tracker.close();
        tokio::select! {
            biased;
            () = self.life.died() => return,
            // Whether or not all runs have ended in time.
            _ = timeout(SHUTDOWN, self.tracker.wait()) => {}
        }
        let owner = &self.receive.engine.policy.instance;
        let released = self.receive.engine.queue.release_leases(owner);
        tokio::select! {
            biased;
            () = self.life.died() => {}
            // An unreachable database leaves the leases to run out.
            _ = timeout(SHUTDOWN, released) => {}
        }
        self.kill();
    }

    pub fn kill(&self) {
        self.life.dead.cancel();
        self.stop.cancel();
    }
}

/// The person who is told to look, and whoever counts how often.
#[derive(Debug)]
struct Ears(Arc<World>);

impl Events for Ears {
    fn record(&self, event: &Event) {
        if let Event::Review { kind } = event {
            *self.0.records().told.entry(kind.as_str()).or_default() += 1;
        }
    }
}

/// A catalog that always answers: what it does when it cannot is not this simulation's matter.
#[derive(Debug)]
struct OnePrice;

#[async_trait::async_trait]
impl CatalogPort for OnePrice {
    async fn get_product_details(&self, id: &ProductId, _: &Call) -> Result<Offer, CatalogError> {
        let price = Money::rub(PRICE).expect("a small price");
        let product = Product { id: id.clone(), name: "p".to_owned(), price };
        let as_of = Timestamp::from_micros(0);
        Ok(Offer { product, as_of, age: Duration::ZERO, stale: false })
    }
}
