//! What a partner saw of its callers: every call with its outcome, how many at a time, and how
//! often each order number was asked for, whether or not anything came of it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use serde::Serialize;

use super::clock::SandboxClock;
use super::locked;

/// Older calls are forgotten one by one; the counts never are.
const REMEMBERED_CALLS: usize = 200_000;

/// How a call ended, seen from the partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    InFlight,
    /// A reply was handed to the network.
    Answered,
    /// The connection was cut instead of a reply.
    Dropped,
    /// No reply, for ever.
    Hung,
    /// The caller hung up before there was a reply.
    CallerLeft,
}

#[derive(Debug, Clone, Serialize)]
pub struct CallRecord {
    pub seq: u64,
    pub operation: &'static str,
    pub number: Option<String>,
    pub received_at_ms: i64,
    pub finished_at_ms: Option<i64>,
    pub outcome: CallEnd,
    pub status: Option<u16>,
    /// The reply in a word: `ok`, `errorCode 1`, `order_id_conflict`.
    pub said: Option<String>,
    /// Whether the call created or changed something at the partner.
    pub committed: bool,
    pub traceparent: Option<String>,
}

/// Calls that named one order, by operation.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NumberCalls {
    pub by_operation: BTreeMap<&'static str, u64>,
    pub in_flight: u32,
    pub max_concurrent: u32,
}

impl NumberCalls {
    /// Of all operations.
    pub fn total(&self) -> u64 {
        self.by_operation.values().sum()
    }
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct CallTotals {
    /// Health probes apart.
    pub calls: u64,
    pub in_flight: u32,
    pub max_concurrent: u32,
    pub by_operation: BTreeMap<&'static str, u64>,
}

/// One partner's book of calls.
#[derive(Debug)]
pub struct CallLog {
    clock: SandboxClock,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    next_seq: u64,
    recent: VecDeque<CallRecord>,
    numbers: HashMap<String, NumberCalls>,
    totals: CallTotals,
}

impl CallLog {
    pub fn new(clock: SandboxClock) -> Self {
        Self { clock, inner: Mutex::default() }
    }

    pub fn begin(
        self: &Arc<Self>,
        operation: &'static str,
        number: Option<&str>,
        traceparent: Option<String>,
    ) -> Ticket {
        let mut inner = locked(&self.inner);
        let inner = &mut *inner;
        let seq = inner.next_seq;
        inner.next_seq += 1;
        *inner.totals.by_operation.entry(operation).or_default() += 1;
        if operation != "health" {
            inner.totals.calls += 1;
            inner.totals.in_flight += 1;
            inner.totals.max_concurrent = inner.totals.max_concurrent.max(inner.totals.in_flight);
        }
        if let Some(number) = number {
            let calls = inner.numbers.entry(number.to_owned()).or_default();
            *calls.by_operation.entry(operation).or_default() += 1;
            calls.in_flight += 1;
            calls.max_concurrent = calls.max_concurrent.max(calls.in_flight);
        }
        if inner.recent.len() == REMEMBERED_CALLS {
            inner.recent.pop_front();
        }
        inner.recent.push_back(CallRecord {
            seq,
            operation,
            number: number.map(str::to_owned),
            received_at_ms: self.clock.now_ms(),
            finished_at_ms: None,
            outcome: CallEnd::InFlight,
            status: None,
            said: None,
            committed: false,
            traceparent,
        });
        Ticket {
            log: Arc::clone(self),
            seq,
            operation,
            number: number.map(str::to_owned),
            end: CallEnd::CallerLeft,
        }
    }

    pub fn totals(&self) -> CallTotals {
        locked(&self.inner).totals.clone()
    }

    pub fn of_number(&self, number: &str) -> NumberCalls {
        locked(&self.inner).numbers.get(number).cloned().unwrap_or_default()
    }

    /// Oldest first, at most `limit` of the newest that match.
    pub fn recent(&self, limit: usize, matches: impl Fn(&CallRecord) -> bool) -> Vec<CallRecord> {
        let inner = locked(&self.inner);
        let mut found: Vec<_> =
            inner.recent.iter().rev().filter(|call| matches(call)).take(limit).cloned().collect();
        found.reverse();
        found
    }

    /// Forgets everything that has ended; what is in flight stays counted.
    pub fn reset(&self) {
        let mut inner = locked(&self.inner);
        let in_flight = inner.totals.in_flight;
        inner.recent.clear();
        inner.numbers.retain(|_, calls| calls.in_flight > 0);
        for calls in inner.numbers.values_mut() {
            calls.by_operation.clear();
            calls.max_concurrent = calls.in_flight;
        }
        inner.totals = CallTotals { in_flight, max_concurrent: in_flight, ..CallTotals::default() };
    }

    fn amend(&self, seq: u64, change: impl FnOnce(&mut CallRecord)) {
        let mut inner = locked(&self.inner);
        let Some(first) = inner.recent.front().map(|call| call.seq) else { return };
        let index = seq.checked_sub(first).and_then(|index| usize::try_from(index).ok());
        if let Some(call) = index.and_then(|index| inner.recent.get_mut(index)) {
            change(call);
        }
    }
}

/// A call in flight; its drop is the call's end.
#[derive(Debug)]
pub struct Ticket {
    log: Arc<CallLog>,
    seq: u64,
    operation: &'static str,
    number: Option<String>,
    end: CallEnd,
}

impl Ticket {
    /// A handle for whoever commits the call, which may outlive the caller's connection.
    pub fn receipt(&self) -> CommitReceipt {
        CommitReceipt { log: Arc::clone(&self.log), seq: self.seq }
    }

    pub fn ends(&mut self, outcome: CallEnd) {
        self.end = outcome;
    }

    pub fn answered(&mut self, status: u16) {
        self.end = CallEnd::Answered;
        self.log.amend(self.seq, |call| call.status = Some(status));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let now = self.log.clock.now_ms();
        let end = self.end;
        self.log.amend(self.seq, |call| {
            call.finished_at_ms = Some(now);
            call.outcome = end;
        });
        let mut inner = locked(&self.log.inner);
        if self.operation != "health" {
            inner.totals.in_flight = inner.totals.in_flight.saturating_sub(1);
        }
        if let Some(calls) = self.number.as_deref().and_then(|number| inner.numbers.get_mut(number))
        {
            calls.in_flight = calls.in_flight.saturating_sub(1);
        }
    }
}

/// Writes into the book what the partner decided.
#[derive(Debug)]
pub struct CommitReceipt {
    log: Arc<CallLog>,
    seq: u64,
}

impl CommitReceipt {
    pub fn write(&self, committed: bool, said: &str) {
        self.log.amend(self.seq, |call| {
            call.committed = committed;
            call.said = Some(said.to_owned());
        });
    }
}
