//! What an onlooker at the wire knows of open outcomes: while one is open, an order's only calls are
//! questions and declines, and the same number again where that cannot make a second one.

use super::world::World;
use order_service::core::domain::registration::Provider;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A send is known to the core as of its intent's commit, which is a little earlier.
const COMMIT_TO_WIRE: Duration = Duration::from_secs(4);

/// So many answers "no such order" are needed before the same number goes again.
const NOT_FOUND_ENOUGH: usize = 3;

#[derive(Debug, Default)]
pub struct Doubts(Mutex<BTreeMap<String, Doubt>>);

#[derive(Debug)]
struct Doubt {
    order: usize,
    open: bool,
    sent_at: Instant,
    not_found: usize,
}

/// What a caller was told about a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Certain, one way or the other.
    Truth,
    NotFound,
    /// This send did nothing; an earlier one may have.
    Nothing {
        before: bool,
    },
}

impl Doubts {
    fn with<T>(&self, look: impl FnOnce(&mut BTreeMap<String, Doubt>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the outcome of another number of the order is open.
    fn other(&self, order: usize, number: &str) -> bool {
        self.with(|all| all.iter().any(|(n, d)| d.order == order && d.open && n != number))
    }

    pub fn told(&self, number: &str, told: Told) {
        self.with(|all| {
            let Some(doubt) = all.get_mut(number) else { return };
            match told {
                Told::Truth => doubt.open = false,
                Told::NotFound => doubt.not_found += 1,
                Told::Nothing { before } => doubt.open = before,
            }
        });
    }
}

/// A registration goes on the wire. Returns whether the number's outcome was open before.
pub fn sends(world: &World, provider: Provider, number: &str) -> bool {
    let order = world.order_of(number);
    if world.banks().iter().any(|bank| bank.doubts.other(order, number)) {
        let what = format!("{} goes to {provider}", world.number(number));
        world.chronicle.violated("no new number while an outcome is unknown", what);
    }
    let grace = world.plan.policy.unknown_grace.saturating_sub(COMMIT_TO_WIRE);
    let sent_at = Instant::now();
    world.bank(provider).doubts.with(|all| {
        let before =
            all.insert(number.to_owned(), Doubt { order, open: true, sent_at, not_found: 0 });
        let Some(before) = before.filter(|doubt| doubt.open) else { return false };
        let early = before.sent_at + grace > sent_at || before.not_found < NOT_FOUND_ENOUGH;
        if provider == Provider::Sber && early {
            let what = format!(
                "{} again after {:?} and {} answers",
                world.number(number),
                sent_at - before.sent_at,
                before.not_found
            );
            world.chronicle.violated("the same number only after the grace", what);
        }
        true
    })
}
