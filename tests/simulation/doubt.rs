//! What an onlooker at the wire knows of open outcomes: while one is open, an order's only calls are
//! questions and declines, and the same number again where that cannot make a second one.

use super::bank::Kind;
use super::world::World;
use order_service::core::domain::provider::Provider;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::registration::{Ending, RegistrationState};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// So many answers "no such order" are needed before the same number goes again.
const NOT_FOUND_ENOUGH: usize = 3;

#[derive(Debug, Default)]
pub struct Doubts(Mutex<BTreeMap<String, Doubt>>);

#[derive(Debug)]
struct Doubt {
    order: usize,
    open: bool,
    /// Its payment is paid or over: no repeat of the number can begin another.
    settled: bool,
    /// Answers "no such order" since it was last decided to send the number.
    not_found: usize,
}

impl Doubt {
    fn about(order: usize) -> Self {
        Self { order, open: false, settled: false, not_found: 0 }
    }
}

/// What a caller was told about a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Certain, one way or the other.
    Truth,
    /// Certain, and for ever.
    Settled,
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

    pub fn told(&self, order: usize, number: &str, told: Told) {
        self.with(|all| {
            let doubt = all.entry(number.to_owned()).or_insert(Doubt::about(order));
            match told {
                Told::Truth => doubt.open = false,
                Told::Settled => (doubt.open, doubt.settled) = (false, true),
                Told::NotFound => doubt.not_found += 1,
                Told::Nothing { before } => doubt.open &= before,
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
    world.bank(provider).doubts.with(|all| {
        let doubt = all.entry(number.to_owned()).or_insert(Doubt::about(order));
        let settled = doubt.settled;
        std::mem::replace(&mut doubt.open, !settled)
    })
}

/// A decision was committed. Where a number has no key, it goes again only after the grace, and after
/// enough answers that it is not known; and so is it given up, where its repeat was refused.
pub fn decided(world: &World, before: &OrderAggregate, after: &OrderAggregate) {
    for new in &after.registrations {
        let old = before.registration(new.provider, new.sequence);
        let armed = new.sent_at != old.and_then(|old| old.sent_at);
        let unknown = old.filter(|old| old.state == RegistrationState::Unknown);
        let refused = new.ending == Some(Ending::Refused);
        let not_found =
            world.bank(new.provider).doubts.with(|all| match all.get_mut(new.number.as_str()) {
                Some(doubt) => {
                    doubt.open &= !(unknown.is_some() && refused);
                    if armed { std::mem::take(&mut doubt.not_found) } else { doubt.not_found }
                }
                None => 0,
            });
        let again = armed && Kind::of(new.provider) == Kind::Numbered;
        let (Some(old), true) = (unknown, again || refused) else { continue };
        let now = new.sent_at.filter(|_| armed).unwrap_or(world.now());
        let passed = old.sent_at.map_or(Duration::MAX, |sent| now.since(sent));
        if passed <= world.plan.policy.unknown_grace || not_found < NOT_FOUND_ENOUGH {
            let number = world.number(new.number.as_str());
            let word = if armed { "again" } else { "given up" };
            let what = format!("{number} {word} after {passed:?} and {not_found} answers");
            world.chronicle.violated("the same number only after the grace", what);
        }
    }
}
