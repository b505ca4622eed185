//! Placing with one key until there is an answer.

use crate::simulation::dice::Dice;
use crate::simulation::faults::Fault;
use crate::simulation::instance::{Instance, PRICE};
use crate::simulation::world::World;
use order_service::core::domain::details::OrderDetails;
use order_service::core::domain::ids::{CustomerId, OrderId, ProductId};
use order_service::core::domain::money::Money;
use order_service::core::ports::call::Call;
use order_service::core::ports::deadline::Deadline;
use order_service::core::ports::idempotency::{IdempotencyKey, IdempotentRequest};
use order_service::core::use_cases::idempotency::Answer;
use order_service::core::use_cases::place_order::{NewLine, NewOrder};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// Places with one key until there is an answer.
pub async fn place_order(world: &Arc<World>, dice: &Dice, place: usize) -> Option<OrderId> {
    let mut order = None;
    for again in 0..8 {
        if let Some(instance) = world.fleet.any(dice)
            && let Some(id) = place_once(world, &instance, place).await
        {
            world.records().placed.insert(id, total_of(place));
            world.chronicle.note(|| format!("201: {}", world.name(id)));
            let known = *world.records().keys.entry(key_of(place)).or_insert(id);
            if known != id {
                let what = format!("{} and {}", world.name(known), world.name(id));
                world.chronicle.violated("I9 one key, one effect", what);
            }
            order = Some(id);
            // A client that did not hear the answer asks once more.
            if again > 0 || !world.strikes(Fault::Repeat, dice) {
                break;
            }
        }
        sleep(dice.millis(100, 15_000)).await;
    }
    order
}

/// No two orders cost the same.
fn quantity_of(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(0) + 1
}

fn total_of(place: usize) -> Money {
    let price = Money::rub(PRICE).expect("a small price");
    price.times(quantity_of(place)).expect("a small sum")
}

fn key_of(place: usize) -> String {
    format!("key-{place}")
}

async fn place_once(world: &World, instance: &Arc<Instance>, place: usize) -> Option<OrderId> {
    let key = IdempotencyKey { owner: "shop".to_owned(), route: "orders", key: key_of(place) };
    let product = ProductId::parse("p-1").expect("a name");
    let wanted = NewOrder {
        customer_id: CustomerId::parse("c-1").ok(),
        lines: vec![NewLine { product_id: product, quantity: quantity_of(place), vat: None }],
        details: OrderDetails::default(),
        expected_total: None,
        idempotency: Some(IdempotentRequest { key, fingerprint: [7; 32] }),
        call: Call::new(Deadline::after(Duration::from_secs(20)), None),
    };
    let (reply, answer) = oneshot::channel();
    let server = Arc::clone(instance);
    instance.serve(async move {
        let _ = reply.send(server.place.run(wanted).await);
    });
    match instance.answer(answer).await? {
        Ok(Answer::First(order) | Answer::Replayed(order)) => Some(order.id),
        Err(fault) => {
            world.chronicle.note(|| format!("placing fails: {fault}"));
            None
        }
    }
}
