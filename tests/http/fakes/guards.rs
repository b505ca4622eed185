//! FakeGuards that only show themselves, and a record of the requests that came in.

use order_service::adapters::observe::systems::{SystemControl, SystemView};
use order_service::adapters::observe::traffic::{
    ConnectionEvent, Priority, ServedRequest, ShedReason, Traffic,
};
use order_service::adapters::resilience::breaker::{
    BreakerMode, BreakerSnapshot, BreakerState, Tally,
};
use order_service::adapters::resilience::semaphore::BulkheadSnapshot;
use order_service::core::domain::unavailable::System;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The guards of a system that does nothing.
#[derive(Debug)]
pub struct FakeGuards {
    system: System,
    pub state: Mutex<BreakerState>,
    pub mode: Mutex<(BreakerMode, Option<Duration>)>,
}

impl FakeGuards {
    pub fn new(system: System) -> Self {
        let mode = Mutex::new((BreakerMode::Enforce, None));
        Self { system, state: Mutex::new(BreakerState::Closed), mode }
    }
}

impl SystemControl for FakeGuards {
    fn system(&self) -> System {
        self.system
    }

    fn describe(&self) -> SystemView {
        let (mode, mode_left) = *self.mode.lock().unwrap();
        SystemView {
            system: self.system,
            breaker: BreakerSnapshot {
                state: *self.state.lock().unwrap(),
                mode,
                mode_left,
                generation: 0,
                window: Tally { calls: 4, failures: 1, slow: 0 },
                decidable: false,
                retry_after: Some(Duration::from_millis(1_500)),
                probe_due: false,
                probes_in_flight: 0,
            },
            bulkhead: BulkheadSnapshot {
                limit: 20,
                found_limit: 20,
                in_flight: 2,
                waiting: 1,
                rejected: 3,
            },
            config: vec![("CB_MODE".to_owned(), "enforce".to_owned())],
        }
    }

    fn set_mode(&self, mode: BreakerMode, ttl: Option<Duration>) {
        *self.mode.lock().unwrap() = (mode, ttl);
    }

    fn reset(&self) {
        *self.state.lock().unwrap() = BreakerState::Closed;
    }
}

/// Method, route, status, code.
pub type RecordedRequest = (String, Option<String>, u16, Option<&'static str>);

/// What was counted.
#[derive(Debug, Default)]
pub struct RecordingTraffic {
    pub ended: Mutex<Vec<RecordedRequest>>,
    pub began: AtomicU64,
    pub shed: Mutex<Vec<(Priority, ShedReason)>>,
    pub checked: Mutex<Vec<(&'static str, bool)>>,
    pub connections: Mutex<Vec<ConnectionEvent>>,
}

impl Traffic for RecordingTraffic {
    fn began(&self, _: &'static str) {
        self.began.fetch_add(1, Ordering::Relaxed);
    }

    fn ended(&self, request: &ServedRequest<'_>) {
        let route = request.route.map(str::to_owned);
        let seen = (request.method.to_owned(), route, request.status, request.code);
        self.ended.lock().unwrap().push(seen);
    }

    fn shed(&self, priority: Priority, reason: ShedReason) {
        self.shed.lock().unwrap().push((priority, reason));
    }

    fn inbound_limit(&self, _: usize) {}

    fn checked(&self, check: &'static str, ready: bool) {
        self.checked.lock().unwrap().push((check, ready));
    }

    fn connection(&self, event: ConnectionEvent) {
        self.connections.lock().unwrap().push(event);
    }
}
