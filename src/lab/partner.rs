//! A partner for virtual time: it behaves as its script says, counts what reaches it, and may have only
//! so many servers. For real time the guide uses the sandbox.

use super::load::{Answer, Declined};
use crate::adapters::resilience::verdict::Failed;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::pending;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// What one call meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Answers(Duration),
    /// A business refusal, in good health.
    Declines(Duration),
    Hangs,
}

/// The partner: a script from the time since its start to the manner of a call.
pub(super) struct Partner<'a> {
    script: Box<dyn Fn(Duration) -> Manner + 'a>,
    begun: Instant,
    calls: RefCell<Vec<Duration>>,
    in_flight: Cell<usize>,
    most_in_flight: Cell<usize>,
    /// When each of its servers is free again; none: as many as needed.
    servers: RefCell<Vec<Instant>>,
}

impl fmt::Debug for Partner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partner").field("calls", &self.calls.borrow().len()).finish_non_exhaustive()
    }
}

impl<'a> Partner<'a> {
    pub(super) fn new(script: impl Fn(Duration) -> Manner + 'a) -> Self {
        Self {
            script: Box::new(script),
            begun: Instant::now(),
            calls: RefCell::default(),
            in_flight: Cell::new(0),
            most_in_flight: Cell::new(0),
            servers: RefCell::default(),
        }
    }

    /// With so many servers, before which calls queue. It does not notice when a caller gives up: the
    /// work is done all the same, for nobody.
    pub(super) fn with_servers(self, servers: usize) -> Self {
        self.servers.replace(vec![Instant::now(); servers]);
        self
    }

    pub(super) async fn call(&self) -> Answer {
        let now = self.begun.elapsed();
        self.calls.borrow_mut().push(now);
        let _inside = Inside::enter(self);
        match (self.script)(now) {
            Manner::Answers(took) => self.work(took).await,
            Manner::Declines(took) => {
                self.work(took).await;
                return Err(Failed::Answered(Declined));
            }
            Manner::Hangs => pending().await,
        }
        Ok(())
    }

    async fn work(&self, took: Duration) {
        let end = {
            let mut servers = self.servers.borrow_mut();
            let now = Instant::now();
            servers.iter_mut().min().map(|free| {
                *free = now.max(*free) + took;
                *free
            })
        };
        match end {
            Some(end) => sleep_until(end).await,
            None => sleep(took).await,
        }
    }

    /// Calls that reached it.
    pub(super) fn calls(&self) -> usize {
        self.calls.borrow().len()
    }

    /// Calls that reached it from `from` on and before `to`.
    pub(super) fn calls_between(&self, from: Duration, to: Duration) -> usize {
        self.calls.borrow().iter().filter(|at| (from..to).contains(*at)).count()
    }

    pub(super) fn most_in_flight(&self) -> usize {
        self.most_in_flight.get()
    }
}

/// Counts a call that is under way, also when its caller gives up.
struct Inside<'p, 's>(&'p Partner<'s>);

impl<'p, 's> Inside<'p, 's> {
    fn enter(partner: &'p Partner<'s>) -> Self {
        partner.in_flight.set(partner.in_flight.get() + 1);
        partner.most_in_flight.set(partner.most_in_flight.get().max(partner.in_flight.get()));
        Self(partner)
    }
}

impl Drop for Inside<'_, '_> {
    fn drop(&mut self) {
        self.0.in_flight.set(self.0.in_flight.get() - 1);
    }
}
