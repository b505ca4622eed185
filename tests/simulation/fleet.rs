//! The instances of the service: started, killed, stopped and started again, and one that is left when
//! everything has healed.

use super::dice::Dice;
use super::faults::Fault;
use super::instance::Instance;
use super::world::World;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::sleep;

#[derive(Debug, Default)]
pub struct Fleet {
    slots: [Mutex<Option<Arc<Instance>>>; 3],
    closed: AtomicBool,
}

impl Fleet {
    fn closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    fn slot(&self, place: usize) -> MutexGuard<'_, Option<Arc<Instance>>> {
        self.slots[place].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn start(&self, world: &Arc<World>) {
        for place in 0..world.plan.instances {
            tokio::spawn(keep_alive(Arc::clone(world), place));
        }
    }

    /// An instance that takes requests, as a load balancer finds one.
    pub fn any(&self, dice: &Dice) -> Option<Arc<Instance>> {
        let first = dice.below(self.slots.len());
        let places = (0..self.slots.len()).map(|place| (first + place) % self.slots.len());
        places.into_iter().find_map(|place| self.slot(place).clone())
    }

    /// After everything has healed: one instance goes on with what is left.
    pub async fn settle(&self, world: &Arc<World>) {
        self.closed.store(true, Ordering::Relaxed);
        for place in 0..world.plan.instances {
            let running = self.slot(place).take();
            if let Some(instance) = running {
                instance.shut_down().await;
            }
        }
        let dice = Dice::new(world.seed, "survivor", 0);
        let last = Instance::start(world, 0, "survivor", &dice, usize::MAX).await;
        *self.slot(0) = Some(last);
    }

    /// Breaks the ring of references between the world and its instances.
    pub fn close(&self) {
        for place in 0..self.slots.len() {
            self.slot(place).take();
        }
    }
}

/// Runs one instance after the other in a slot until the chaos is over.
async fn keep_alive(world: Arc<World>, place: usize) {
    let dice = Dice::new(world.seed, "life", place);
    for incarnation in 0.. {
        let fuse = fuse(&world, &dice, incarnation == 0);
        // A pod gets a new name, a machine keeps its own.
        let name =
            if dice.chance(0.7) { format!("i{place}") } else { format!("i{place}.{incarnation}") };
        let instance = Instance::start(&world, place, &name, &dice, fuse).await;
        if world.fleet.closed() {
            return instance.kill();
        }
        *world.fleet.slot(place) = Some(Arc::clone(&instance));
        live(&world, &dice, &instance).await;
        if world.fleet.closed() {
            return;
        }
        world.fleet.slot(place).take();
        instance.shut_down().await;
        sleep(dice.millis(10, 20_000)).await;
        if world.fleet.closed() {
            return;
        }
    }
}

/// After how many effects the incarnation dies. The first one does in most worlds that have crashes.
fn fuse(world: &World, dice: &Dice, first: bool) -> usize {
    let possible = world.options.faults.has(Fault::Crash) && !world.healed();
    let mortal = world.strikes(Fault::Crash, dice)
        || (first && possible && world.plan.intensity(Fault::Crash) > 0.0);
    let fuse = dice.between(1, 60);
    if mortal { fuse } else { usize::MAX }
}

/// Until the instance dies or is told to stop.
async fn live(world: &World, dice: &Dice, instance: &Instance) {
    let (stops, life_time) = (world.strikes(Fault::Stop, dice), dice.up_to(world.plan.chaos));
    let told_to_stop = async {
        if !stops {
            pending::<()>().await;
        }
        sleep(life_time).await;
    };
    tokio::select! {
        biased;
        () = instance.life.died() => {
            world.records().muted = true;
            world.records().tally.crashes += u64::from(!world.fleet.closed());
            world.chronicle.note(|| format!("{} dies", instance.life.name));
            instance.kill();
        }
        () = told_to_stop => {
            world.records().muted = true;
            world.chronicle.note(|| format!("{} is told to stop", instance.life.name));
        }
    }
}
