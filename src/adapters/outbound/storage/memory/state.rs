//! The tables of the memory store, as ordered maps: the same seed gives the same order of everything.

use super::webhook_tables::Webhooks;
use crate::adapters::observe::service_mode::{ModeChange, ServiceMode};
use crate::adapters::observe::storage_upkeep::{AuditQuery, AuditRecord, CallbackRecord};
use crate::adapters::outbound::storage::decision::KEY_TAKEN;
use crate::adapters::outbound::storage::diff::{ChangedRows, NewEvents};
use crate::adapters::outbound::storage::invariants::FRESH_ID;
use crate::adapters::outbound::storage::waiting::is_waiting;
use crate::adapters::outbound::storage::wakeups::WakeupSet;
use crate::core::domain::details::ShopReference;
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::order::Order;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::order_event::OrderEvent;
use crate::core::payment::refund::{Refund, RefundOrigin};
use crate::core::payment::registration::Registration;
use crate::core::payment::task::{Task, TaskKind, TaskState};
use crate::core::ports::idempotency::{
    IdempotencyKey, IdempotencyRecord, IdempotentRequest, KeptOutcome,
};
use crate::core::ports::order_repository::{
    AuditEntry, Decide, InboxEntry, LoadOptions, OrderQuery, OrderSort, Placed, Scope, SideWrites,
    TxContext,
};
use crate::core::ports::outbox::StoredEvent;
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::{TaskQuery, TaskView};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Where the ids of changes of the mode begin among the audit's records.
const AFTER_DEEDS: i64 = 1 << 62;

#[derive(Debug)]
pub(super) struct Stored {
    pub(super) order: Order,
    pub(super) registrations: Vec<Registration>,
    pub(super) refunds: Vec<Refund>,
}

#[derive(Debug, Default)]
pub struct State {
    pub(super) orders: BTreeMap<OrderId, Stored>,
    pub(super) tasks: BTreeMap<TaskId, Task>,
    pub(super) unfinished: BTreeSet<(OrderId, TaskId)>,
    pub numbers: HashMap<(Provider, ProviderNumber), OrderId>,
    pub(super) external_ids: HashMap<(Provider, String), ProviderNumber>,
    pub(super) references: HashMap<ShopReference, OrderId>,
    pub records: HashMap<IdempotencyKey, (IdempotencyRecord, Timestamp)>,
    pub inbox: Vec<(Timestamp, InboxEntry)>,
    pub deeds: Vec<(OrderId, Timestamp, AuditEntry)>,
    pub modes: Vec<(Timestamp, ModeChange)>,
    pub events: Vec<StoredEvent>,
    pub(super) webhooks: Webhooks,
    pub(super) sequences: HashMap<OrderId, u64>,
}

impl State {
    pub fn place(&mut self, order: Order, now: Timestamp) -> Result<Order, StorageError> {
        if self.orders.contains_key(&order.id) {
            return Err(StorageError::Corrupt(FRESH_ID));
        }
        if let Some(reference) = &order.details.reference {
            if let Some(taken_by) = self.references.get(reference) {
                return Err(StorageError::ExternalIdTaken(*taken_by));
            }
            self.references.insert(reference.clone(), order.id);
        }
        let order = Order { created_at: now, updated_at: now, version: 1, ..order };
        let (registrations, refunds) = (Vec::new(), Vec::new());
        self.orders.insert(order.id, Stored { order: order.clone(), registrations, refunds });
        let tasks = Vec::new();
        let (registrations, refunds) = (Vec::new(), Vec::new());
        let placed = OrderAggregate { order: order.clone(), registrations, refunds, tasks };
        self.tell(OrderEvent::OrderPlaced, placed, now);
        Ok(order)
    }

    pub fn place_once(
        &mut self,
        order: Order,
        request: IdempotentRequest,
        now: Timestamp,
    ) -> Result<Placed, StorageError> {
        if let Some((known, _)) = self.records.get(&request.key) {
            return Ok(Placed::Known(known.clone()));
        }
        let order = self.place(order, now)?;
        self.keep_outcome(request, KeptOutcome::Placed(order.id), now);
        Ok(Placed::New(order))
    }

    /// `false` when the key stands for an outcome already: the first one stays.
    pub fn keep_outcome(
        &mut self,
        request: IdempotentRequest,
        outcome: KeptOutcome,
        now: Timestamp,
    ) -> bool {
        let IdempotentRequest { key, fingerprint } = request;
        let kept = !self.records.contains_key(&key);
        self.records.entry(key).or_insert((IdempotencyRecord { fingerprint, outcome }, now));
        kept
    }

    /// `None` when there is no such order.
    pub fn change(
        &mut self,
        id: OrderId,
        options: LoadOptions,
        decide: &mut Decide,
        now: Timestamp,
    ) -> Result<Option<WakeupSet>, StorageError> {
        let Some(loaded) = self.aggregate(id) else { return Ok(None) };
        let waiting = match options {
            LoadOptions::Aggregate => None,
            LoadOptions::QueueLength { up_to } => Some(self.waiting(id).min(up_to)),
        };
        let mut decided = loaded.clone();
        let writes = decide(&mut decided, &TxContext { now, waiting });
        let changes = ChangedRows::between(&loaded, decided, now)?;
        if let Some(changes) = &changes {
            self.check(changes)?;
        }
        if writes.kept.as_ref().is_some_and(|(taken, _)| self.records.contains_key(&taken.key)) {
            return Err(KEY_TAKEN);
        }
        self.keep_side_writes(id, writes, now);
        Ok(Some(changes.map(|changes| self.save(changes, now)).unwrap_or_default()))
    }

    fn save(&mut self, changes: ChangedRows, now: Timestamp) -> WakeupSet {
        let wakeups = changes.wakeups(now);
        let id = changes.order.id;
        if let Some(NewEvents { events, after }) = changes.events {
            events.into_iter().for_each(|event| self.tell(event, after.clone(), now));
        }
        let Stored { order, registrations, refunds } =
            self.orders.get_mut(&id).expect("its aggregate was loaded under the same lock");
        *order = changes.order;
        for refund in changes.refunds {
            match refunds.iter_mut().find(|old| old.key == refund.key) {
                Some(old) => *old = refund,
                None => refunds.push(refund),
            }
        }
        refunds
            .sort_by(|one, other| (one.created_at, &one.key).cmp(&(other.created_at, &other.key)));
        for registration in changes.registrations {
            self.numbers.insert((registration.provider, registration.number.clone()), id);
            if let Some(external_id) = registration.external_id.clone() {
                let owner = (registration.provider, external_id);
                self.external_ids.insert(owner, registration.number.clone());
            }
            match registrations.iter_mut().find(|old| same_row(old, &registration)) {
                Some(old) => *old = registration,
                None => registrations.push(registration),
            }
        }
        registrations.sort_by_key(|registration| (registration.provider, registration.sequence));
        for task in changes.tasks {
            self.put(task);
        }
        wakeups
    }

    pub(super) fn tell(&mut self, kind: OrderEvent, mut after: OrderAggregate, at: Timestamp) {
        let id = after.order.id;
        let last = self.sequences.entry(id).or_default();
        *last += 1;
        let sequence = *last;
        let position = 1 + self.events.len() as u64;
        after.order.details.buyer = None;
        after.refunds.clear();
        let awaited = after.awaited_task().cloned();
        after.tasks = awaited.into_iter().collect();
        self.events.push(StoredEvent { kind, sequence, at, position, aggregate: after });
    }

    fn put(&mut self, task: Task) {
        if task.state.is_final() {
            self.unfinished.remove(&(task.order_id, task.id));
        } else {
            self.unfinished.insert((task.order_id, task.id));
        }
        self.tasks.insert(task.id, task);
    }

    fn keep_side_writes(&mut self, order: OrderId, writes: SideWrites, now: Timestamp) {
        if let Some(entry) = writes.inbox {
            self.keep_callback(entry, now);
        }
        if let Some((request, outcome)) = writes.kept {
            self.keep_outcome(request, outcome, now);
        }
        if let Some(entry) = writes.audit {
            self.keep_deed(order, entry, now);
        }
    }

    fn keep_deed(&mut self, order: OrderId, entry: AuditEntry, now: Timestamp) {
        let review = entry.task_id.and_then(|task| self.tasks.get_mut(&task));
        if let Some(task) = review.filter(|task| entry.settles && task.state == TaskState::Review) {
            task.settled.get_or_insert((entry.by.clone(), now));
        }
        self.deeds.push((order, now, entry));
    }

    pub fn audit(&self, query: &AuditQuery) -> Vec<AuditRecord> {
        let records = (1..).zip(&self.deeds).map(|(id, (order, at, entry))| AuditRecord {
            id,
            at: *at,
            action: entry.action.clone(),
            order: Some(*order),
            task: entry.task_id,
            reason: entry.reason.clone(),
            by: entry.by.clone(),
        });
        let modes = (AFTER_DEEDS..).zip(&self.modes).map(|(id, (at, change))| AuditRecord {
            id,
            at: *at,
            action: format!("service_mode:{}", change.mode.as_str()),
            order: None,
            task: None,
            reason: change.reason.clone(),
            by: change.by.clone(),
        });
        let records = records.chain(modes);
        let wanted = |record: &AuditRecord| {
            query.order.is_none_or(|order| record.order == Some(order))
                && query.after.is_none_or(|after| (record.at, record.id) < after)
        };
        let mut found: Vec<_> = records.filter(wanted).collect();
        found.sort_by_key(|record| std::cmp::Reverse((record.at, record.id)));
        found.truncate(query.limit);
        found
    }

    pub fn service_mode(&self, now: Timestamp) -> ServiceMode {
        let newest = self.modes.last();
        let newest = newest.map(|(at, change)| (*at, change.ttl.map(|ttl| *at + ttl), change));
        let in_force = newest.filter(|(_, until, _)| until.is_none_or(|until| until > now));
        in_force.map_or_else(ServiceMode::default, |(at, until, change)| ServiceMode {
            mode: change.mode,
            since: Some(at),
            until,
            reason: change.reason.clone(),
            by: change.by.clone(),
        })
    }

    pub fn keep_callback(&mut self, entry: InboxEntry, now: Timestamp) -> bool {
        let same = |kept: &InboxEntry| {
            let of_one = kept.provider == entry.provider && kept.event_id == entry.event_id;
            let event = entry.event_id.is_some();
            of_one && (event || (&kept.number, &kept.kind) == (&entry.number, &entry.kind))
        };
        let known = self.inbox.iter().any(|(_, kept)| same(kept));
        if !known {
            self.inbox.push((now, entry));
        }
        !known
    }

    pub fn order_named(&self, name: &str) -> Option<OrderId> {
        let number = ProviderNumber::told(name);
        let numbered = |provider, number| self.numbers.get(&(provider, number)).copied();
        let with_id = |provider| {
            let number = self.external_ids.get(&(provider, name.to_owned()))?;
            numbered(provider, number.clone())
        };
        let task = name.parse().ok().and_then(TaskId::from_i64);
        Provider::ALL
            .into_iter()
            .find_map(|provider| numbered(provider, number.clone()))
            .or_else(|| Provider::ALL.into_iter().find_map(with_id))
            .or_else(|| self.referred(name))
            .or_else(|| Some(self.tasks.get(&task?)?.order_id))
    }

    /// Whom orders were for that have not changed since then.
    pub(super) fn erase_buyers(&mut self, since: Timestamp) -> usize {
        let old = |order: &&mut Order| order.details.buyer.is_some() && order.updated_at < since;
        let orders = self.orders.values_mut().map(|stored| &mut stored.order);
        orders.filter(old).map(|order| order.details.buyer = None).count()
    }

    fn referred(&self, external_id: &str) -> Option<OrderId> {
        let named =
            |(reference, _): &(&ShopReference, _)| reference.external_id.as_str() == external_id;
        self.references.iter().filter(named).map(|(_, order)| *order).max()
    }

    pub fn callbacks(&self, order: OrderId, limit: usize) -> Vec<CallbackRecord> {
        let known = |entry: &InboxEntry| {
            self.numbers.get(&(entry.provider, entry.number.clone())) == Some(&order)
        };
        let newest = self.inbox.iter().rev().filter(|(_, entry)| known(entry)).take(limit);
        newest
            .map(|(at, entry)| CallbackRecord { received_at: *at, entry: entry.clone() })
            .collect()
    }

    pub fn aggregate(&self, id: OrderId) -> Option<OrderAggregate> {
        let Stored { order, registrations, refunds } = self.orders.get(&id)?;
        let mut tasks: Vec<Task> = self.unfinished_of(id).cloned().collect();
        tasks.sort_by_key(|task| (task.created_at, task.id));
        Some(OrderAggregate {
            order: order.clone(),
            registrations: registrations.clone(),
            refunds: refunds.clone(),
            tasks,
        })
    }

    pub(super) fn unfinished_of(&self, id: OrderId) -> impl Iterator<Item = &Task> {
        let last = TaskId::new(u128::MAX);
        self.unfinished
            .range((id, TaskId::new(0))..=(id, last))
            .filter_map(|(_, task)| self.tasks.get(task))
    }

    fn waiting(&self, except: OrderId) -> u64 {
        let others = self.unfinished.iter().filter(|(order, _)| *order != except);
        let waiting =
            others.filter_map(|(_, id)| self.tasks.get(id)).filter(|task| is_waiting(task));
        u64::try_from(waiting.count()).unwrap_or(u64::MAX)
    }

    pub fn list(&self, query: &OrderQuery, scope: &Scope) -> Vec<OrderAggregate> {
        let wanted = |order: &&Order| {
            scope.allows(order.customer_id.as_ref())
                && query
                    .customer_id
                    .as_ref()
                    .is_none_or(|id| Some(id) == order.customer_id.as_ref())
                && query
                    .external_id
                    .as_ref()
                    .is_none_or(|id| Some(id) == order.details.external_id())
                && (query.statuses.is_empty() || query.statuses.contains(&order.status))
                && query.ids.as_ref().is_none_or(|ids| ids.contains(&order.id))
                && query.created.0.is_none_or(|from| order.created_at >= from)
                && query.created.1.is_none_or(|to| order.created_at < to)
                && query.updated_since.is_none_or(|since| order.updated_at >= since)
                && query.after.is_none_or(|after| {
                    let place = query.sort.place_of(order);
                    if query.sort == OrderSort::NewestFirst { place < after } else { place > after }
                })
        };
        let mut found: Vec<&Order> =
            self.orders.values().map(|stored| &stored.order).filter(wanted).collect();
        found.sort_by_key(|order| query.sort.place_of(order));
        if query.sort == OrderSort::NewestFirst {
            found.reverse();
        }
        found.into_iter().take(query.limit).filter_map(|order| self.aggregate(order.id)).collect()
    }

    pub fn task(&self, id: TaskId, scope: &Scope) -> Option<TaskView> {
        let task = self.tasks.get(&id)?;
        let Stored { order, registrations, refunds, .. } = self.orders.get(&task.order_id)?;
        let made = |registration: &&Registration| {
            task.result == Some((registration.provider, registration.sequence))
        };
        let registration = registrations.iter().find(made).cloned();
        let own = |refund: &&Refund| {
            let promised = task.kind == TaskKind::CancelPayment
                && refund.origin == RefundOrigin::Cancel
                && task.result == Some((refund.provider, refund.sequence));
            refund.task == Some(id) || promised
        };
        let refund = refunds.iter().find(own).cloned();
        let view = || TaskView { task: task.clone(), registration, refund };
        scope.allows(order.customer_id.as_ref()).then(view)
    }

    pub fn tasks(&self, query: &TaskQuery) -> Vec<Task> {
        let wanted = |task: &&Task| {
            query.state.is_none_or(|state| state == task.state)
                && (query.state != Some(TaskState::Review) || task.settled.is_none())
                && query.order.is_none_or(|order| order == task.order_id)
                && query.after.is_none_or(|after| (task.created_at, task.id) < after)
        };
        let mut found: Vec<&Task> = self.tasks.values().filter(wanted).collect();
        found.sort_by_key(|task| std::cmp::Reverse((task.created_at, task.id)));
        found.into_iter().take(query.limit).cloned().collect()
    }
}

pub(super) fn same_row(one: &Registration, other: &Registration) -> bool {
    (one.provider, one.sequence) == (other.provider, other.sequence)
}
