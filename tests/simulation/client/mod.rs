//! A client with one order: it places, confirms, asks, cancels and refunds, often more than once and
//! at the same time, and it remembers every answer.

mod paying;
mod placing;
mod undoing;

use super::dice::Dice;
use super::faults::Fault;
use super::world::World;
use order_service::core::domain::ids::OrderId;
use order_service::core::ports::call::Call;
use order_service::core::ports::deadline::Deadline;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

struct Client {
    world: Arc<World>,
    dice: Dice,
    place: usize,
    order: OrderId,
}

/// What a client does at some moment.
#[derive(Debug, Clone, Copy)]
enum Act {
    Confirm,
    Read,
    Cancel,
    Refund,
}

/// The script of one order.
pub async fn shop(world: Arc<World>, place: usize) {
    let dice = Dice::new(world.seed, "client", place);
    sleep(dice.up_to(world.plan.chaos / 2)).await;
    let Some(order) = placing::place_order(&world, &dice, place).await else { return };
    let client = Arc::new(Client { world, dice, place, order });
    let acts: Vec<_> = client
        .script()
        .into_iter()
        .map(|(after, act)| tokio::spawn(Arc::clone(&client).act(after, act)))
        .collect();
    for act in acts {
        // A panic is told by the panic hook.
        let _ = act.await;
    }
}

impl Client {
    fn script(&self) -> Vec<(Duration, Act)> {
        let (dice, world) = (&self.dice, &self.world);
        let mut acts = vec![(dice.millis(0, 20_000), Act::Confirm)];
        if world.plan.backlog {
            return acts;
        }
        for _ in 0..4 {
            let (now, later) = (dice.millis(0, 2_000), dice.up_to(world.plan.chaos));
            if world.strikes(Fault::Repeat, dice) {
                // At the same moment, or some time later.
                let first = acts[0].0;
                acts.push((if dice.chance(0.5) { first + now / 20 } else { later }, Act::Confirm));
            }
        }
        for _ in 0..5 {
            acts.push((dice.up_to(world.plan.chaos), Act::Read));
        }
        acts.push((world.plan.chaos + dice.millis(0, 120_000), Act::Read));
        for _ in 0..2 {
            if world.strikes(Fault::Cancel, dice) {
                acts.push((dice.up_to(world.plan.chaos), Act::Cancel));
            }
        }
        for _ in 0..4 {
            if world.strikes(Fault::Refund, dice) {
                acts.push((dice.up_to(world.plan.chaos + Duration::from_secs(60)), Act::Refund));
            }
        }
        acts
    }

    async fn act(self: Arc<Self>, after: Duration, act: Act) {
        sleep(after).await;
        if let Act::Refund = act {
            self.money_is_there().await;
        }
        for _ in 0..5 {
            let hangs_up = self.world.strikes(Fault::HangUp, &self.dice);
            if let Some(instance) = self.world.fleet.any(&self.dice) {
                let answered = match act {
                    Act::Confirm => self.confirm(&instance, hangs_up).await,
                    Act::Read => self.read(&instance).await,
                    Act::Cancel => self.cancel(&instance, hangs_up).await,
                    Act::Refund => self.refund(&instance, hangs_up).await,
                };
                if answered.is_some() || hangs_up {
                    return;
                }
            }
            sleep(self.dice.millis(100, 20_000)).await;
        }
    }

    fn call(&self) -> Call {
        Call::new(Deadline::after(self.dice.millis(100, 30_000)), None)
    }
}
