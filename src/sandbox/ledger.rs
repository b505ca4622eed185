//! All orders of one payment partner. A number is taken once and for ever, and what time alone
//! does to an order (expiry, a payer who pays late) is an agenda that is worked off at every look.

use std::collections::{BTreeSet, HashMap};

use uuid::Builder;

use super::callbacks::{Message, Policy};
use super::order::{Event, NewOrder, Order, Refusal};

/// How a partner words an event for its callback; `None`: it keeps silent about it.
pub type Voice = fn(&Order, Event, i64) -> Option<Message>;

/// An index into the ledger's orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderIndex(usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Pay,
    Expire,
}

/// Something to be told, with the order's own policy if it has one.
pub type Outgoing = (Message, Option<Policy>);

/// The number is taken; by this order.
#[derive(Debug)]
pub struct Taken(pub OrderIndex);

#[derive(Debug)]
pub struct Ledger {
    voice: Voice,
    id_prefix: Option<&'static str>,
    seed: Option<u64>,
    dice: fastrand::Rng,
    orders: Vec<Order>,
    by_number: HashMap<String, OrderIndex>,
    by_id: HashMap<String, OrderIndex>,
    agenda: BTreeSet<(i64, Due, OrderIndex)>,
    outbox: Vec<Outgoing>,
    /// Idempotency keys, for the partner that has them.
    pub keys: HashMap<String, UsedKey>,
}

/// What an idempotency key was used for.
#[derive(Debug, Clone)]
pub struct UsedKey {
    pub fingerprint: String,
    /// `None` while the first call with it is still being worked on.
    pub index: Option<OrderIndex>,
    pub used_at_ms: i64,
}

impl Ledger {
    /// With a prefix, ids are that and 26 characters; without, UUIDs.
    pub fn new(voice: Voice, id_prefix: Option<&'static str>, seed: Option<u64>) -> Self {
        Self {
            voice,
            id_prefix,
            seed,
            dice: seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed),
            orders: Vec::new(),
            by_number: HashMap::new(),
            by_id: HashMap::new(),
            agenda: BTreeSet::new(),
            outbox: Vec::new(),
            keys: HashMap::new(),
        }
    }

    pub fn reset(&mut self) {
        *self = Self::new(self.voice, self.id_prefix, self.seed);
    }

    /// Registers the order, unless its number is taken.
    pub fn commit(&mut self, asked: NewOrder, now_ms: i64) -> Result<OrderIndex, Taken> {
        if asked.effects.collide && !self.by_number.contains_key(&asked.number) {
            let foreign = NewOrder {
                amount: asked.amount + 100,
                effects: Default::default(),
                ..asked.clone()
            };
            self.insert(foreign, true, now_ms);
        }
        match self.by_number.get(&asked.number) {
            Some(index) => Err(Taken(*index)),
            None => Ok(self.insert(asked, false, now_ms)),
        }
    }

    /// As another system with the same login would.
    pub fn commit_foreign(&mut self, asked: NewOrder, now_ms: i64) -> Result<OrderIndex, Taken> {
        match self.by_number.get(&asked.number) {
            Some(index) => Err(Taken(*index)),
            None => Ok(self.insert(asked, true, now_ms)),
        }
    }

    fn insert(&mut self, asked: NewOrder, foreign: bool, now_ms: i64) -> OrderIndex {
        let index = OrderIndex(self.orders.len());
        let id = self.new_id();
        self.by_number.insert(asked.number.clone(), index);
        self.by_id.insert(id.clone(), index);
        self.agenda.insert((asked.expires_at_ms, Due::Expire, index));
        let pay_after_ms = asked.effects.pay_after_ms;
        self.orders.push(Order::new(id, asked, foreign, now_ms));
        match pay_after_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)) {
            // With the commit, so that its callback can be sent before the registration's reply.
            Some(0) => drop(self.apply(index, now_ms, |order| order.pay(now_ms).map(Some))),
            Some(ms) => drop(self.agenda.insert((now_ms.saturating_add(ms), Due::Pay, index))),
            None => {}
        }
        index
    }

    pub fn by_number(&self, number: &str) -> Option<OrderIndex> {
        self.by_number.get(number).copied()
    }

    pub fn by_id(&self, id: &str) -> Option<OrderIndex> {
        self.by_id.get(id).copied()
    }

    pub fn order(&self, index: OrderIndex) -> &Order {
        &self.orders[index.0]
    }

    pub fn order_mut(&mut self, index: OrderIndex) -> &mut Order {
        &mut self.orders[index.0]
    }

    pub fn orders(&self) -> &[Order] {
        &self.orders
    }

    /// Lets a verb act on the order and queues what the partner has to say about it.
    pub fn apply(
        &mut self,
        index: OrderIndex,
        now_ms: i64,
        verb: impl FnOnce(&mut Order) -> Result<Option<Event>, Refusal>,
    ) -> Result<(), Refusal> {
        let order = &mut self.orders[index.0];
        if let Some(event) = verb(order)?
            && let Some(message) = (self.voice)(order, event, now_ms)
        {
            self.outbox.push((message, order.callback_policy().cloned()));
        }
        Ok(())
    }

    /// Does what has become due; a refusal means that the order has moved on, and nothing is due any more.
    pub fn work_off(&mut self, now_ms: i64) {
        while let Some((at_ms, due, index)) = self.agenda.first().copied()
            && at_ms <= now_ms
        {
            self.agenda.pop_first();
            let _moved_on = self.apply(index, now_ms, |order| match due {
                Due::Pay => order.pay(at_ms).map(Some),
                Due::Expire => order.expire(at_ms).map(Some),
            });
        }
    }

    pub fn take_outbox(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.outbox)
    }

    fn new_id(&mut self) -> String {
        const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        match self.id_prefix {
            None => {
                Builder::from_random_bytes(self.dice.u128(..).to_be_bytes()).into_uuid().to_string()
            }
            Some(prefix) => {
                let letters =
                    (0..26).map(|_| char::from(CROCKFORD[self.dice.usize(..CROCKFORD.len())]));
                prefix.chars().chain(letters).collect()
            }
        }
    }
}
