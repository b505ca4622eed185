//! The payer before the form, and the provider's callbacks, which come early, late, twice, out of
//! order, from strangers, or never.

use super::bank::Standing;
use super::dice::Dice;
use super::faults::Fault;
use super::world::World;
use order_service::core::domain::provider::Provider;
use order_service::core::payment::registration::Ending;
use order_service::core::ports::payment::RawCallback;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// A client holds the form: whoever pays may do so from now on.
pub fn gets_form(world: &Arc<World>, provider: Provider, number: &str) {
    if world.bank(provider).show(number) {
        tokio::spawn(pay(Arc::clone(world), provider, number.to_owned()));
    }
}

async fn pay(world: Arc<World>, provider: Provider, number: String) {
    let bank = world.bank(provider);
    let dice = &bank.dice;
    let choice = dice.below(10);
    sleep(dice.millis(500, 120_000)).await;
    match choice {
        0..5 => {
            if bank.payment(&number).is_some_and(|p| p.standing == Standing::Pending) {
                bank.pay(&world, &number);
            }
        }
        5 | 6 => {
            let entering = dice.millis(1_000, 60_000);
            if bank.begin(&number) {
                sleep(entering).await;
                bank.pay(&world, &number);
            }
        }
        7 => {
            bank.end(&world, &number, Ending::Declined);
        }
        8.. => {}
    }
    let over = |p: &super::bank::Payment| matches!(p.standing, Standing::Over(_));
    if world.strikes(Fault::Revival, dice) && bank.payment(&number).as_ref().is_some_and(over) {
        sleep(dice.millis(0, 30_000)).await;
        bank.pay(&world, &number);
    }
}

/// Something happened to a payment: the provider calls back.
pub fn post_callback(world: &Arc<World>, provider: Provider, number: &str, kind: &str) {
    let dice = &world.bank(provider).dice;
    let disorder = world.destined(Fault::Callbacks, dice);
    let copies = if disorder { dice.pick(&[0, 0, 1, 2]) } else { 1 };
    for _ in 0..copies {
        let delay = if disorder { dice.millis(0, 90_000) } else { dice.millis(0, 500) };
        let event =
            if provider == Provider::OdnaKassa { format!("evt-{kind}") } else { String::new() };
        let body = format!("{number}|{kind}|{event}");
        tokio::spawn(deliver(Arc::clone(world), provider, body, true, delay));
    }
    if world.strikes(Fault::Forgery, dice) {
        let victim = if dice.chance(0.7) { number.to_owned() } else { format!("{number}9") };
        let (body, delay) = (format!("{victim}|deposited|"), dice.millis(0, 60_000));
        tokio::spawn(deliver(Arc::clone(world), provider, body, false, delay));
    }
}

/// Delivers until it is taken, a few times.
async fn deliver(
    world: Arc<World>,
    provider: Provider,
    body: String,
    signed: bool,
    delay: Duration,
) {
    let dice = Dice::new(world.seed, "courier", world.bank(provider).dice.below(usize::MAX));
    sleep(delay).await;
    for _ in 0..4 {
        if let Some(instance) = world.fleet.any(&dice) {
            let (reply, answer) = oneshot::channel();
            let (receiver, body) = (Arc::clone(&instance), body.clone());
            world.chronicle.note(|| {
                let (number, rest) = body.split_once('|').unwrap_or((&body, ""));
                format!("callback of {provider} about {}: {rest}", world.number(number))
            });
            instance.serve(async move {
                let signature = signed.then_some("signed");
                let raw = RawCallback {
                    post: true,
                    form: false,
                    query: "",
                    signature,
                    body: body.as_bytes(),
                };
                let taken = receiver.receive.run(provider, &raw).await;
                // The provider may have given up waiting.
                let _ = reply.send(taken.is_ok());
            });
            if instance.answer(answer).await == Some(true) {
                return;
            }
        }
        sleep(dice.millis(5_000, 30_000)).await;
    }
}
