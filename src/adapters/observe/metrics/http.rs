//! What comes in: how many requests, how long they took, how they ended.

use super::exemplars::{Exemplars, Traced};
use super::families::{Families, HTTP};
use super::labels::{
    DeadlineStage, HTTP_METHODS, INBOUND, Label, STATUS_CLASSES, UNMATCHED, http_method,
    status_class,
};
use crate::adapters::observe::traffic::{Priority, ServedRequest, ShedReason};
use prometheus::{IntCounterVec, IntGaugeVec};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Http {
    durations: Traced,
    active: IntGaugeVec,
    requests: IntCounterVec,
    shed: IntCounterVec,
    ready: IntGaugeVec,
    deadline: IntCounterVec,
}

impl Http {
    pub(super) fn new(families: &Families<'_>) -> Self {
        let made = Self {
            durations: Traced::new(
                families,
                "http_server_request_duration_seconds",
                "Duration of inbound requests; error_type only on failure",
                &["http_request_method", "http_route", "http_response_status_code", "error_type"],
                HTTP,
            ),
            active: families.gauge(
                "http_server_active_requests",
                "Inbound requests being answered",
                &["http_request_method"],
            ),
            requests: families.counter(
                "http_requests_total",
                "Inbound requests answered; path is the route",
                &["method", "path", "status_class"],
            ),
            shed: families.counter(
                "load_shed_total",
                "Requests refused at the door",
                &["scope", "priority", "reason"],
            ),
            ready: families.gauge(
                "app_ready",
                "Whether a check of readiness passed when it was last asked: 0 or 1",
                &["check"],
            ),
            deadline: families.counter(
                "deadline_exceeded_total",
                "Work that the caller's own deadline ended",
                &["stage"],
            ),
        };
        made.start_at_zero();
        made
    }

    fn start_at_zero(&self) {
        for method in HTTP_METHODS {
            self.active.with_label_values(&[method]);
        }
        ["database", "shutdown"].into_iter().for_each(|check| self.will_check(check));
        for class in STATUS_CLASSES {
            self.requests.with_label_values(&["_OTHER", UNMATCHED, class]);
        }
        for priority in Priority::ALL {
            for reason in ShedReason::ALL {
                self.shed.with_label_values(&[INBOUND, priority.as_str(), reason.word()]);
            }
        }
        for stage in DeadlineStage::ALL {
            self.deadline.with_label_values(&[stage.word()]);
        }
    }

    /// Not ready until somebody has looked.
    pub(super) fn will_check(&self, check: &str) {
        self.ready.with_label_values(&[check]);
    }

    /// Of failures the durations begin with the first of their kind.
    pub(super) fn declare(&self, method: &str, route: &str, successes: &[u16]) {
        let method = http_method(method);
        for class in STATUS_CLASSES {
            self.requests.with_label_values(&[method, route, class]);
        }
        for status in successes {
            self.durations.start_at_zero(&[method, route, &status.to_string(), ""]);
        }
    }

    pub(super) fn exemplars(&self) -> Arc<Exemplars> {
        self.durations.exemplars()
    }

    pub(super) fn began(&self, method: &str) {
        self.active.with_label_values(&[http_method(method)]).inc();
    }

    pub(super) fn ended(&self, request: &ServedRequest<'_>) {
        let method = http_method(request.method);
        let route = request.route.unwrap_or(UNMATCHED);
        let status = request.status.to_string();
        let error_type = if request.status >= 500 { status.as_str() } else { "" };
        self.active.with_label_values(&[method]).dec();
        let (labels, took) = ([method, route, &status, error_type], request.took.as_secs_f64());
        let trace_id = u128::from_str_radix(request.trace_id, 16).ok();
        self.durations.observe(&labels, took, trace_id);
        let class = status_class(request.status);
        self.requests.with_label_values(&[method, route, class]).inc();
    }

    pub(super) fn shed(&self, priority: Priority, reason: ShedReason) {
        self.shed.with_label_values(&[INBOUND, priority.as_str(), reason.word()]).inc();
        if reason == ShedReason::Deadline {
            self.deadline_passed(DeadlineStage::Admission);
        }
    }

    pub(super) fn checked(&self, check: &str, ready: bool) {
        self.ready.with_label_values(&[check]).set(i64::from(ready));
    }

    pub(super) fn deadline_passed(&self, stage: DeadlineStage) {
        self.deadline.with_label_values(&[stage.word()]).inc();
    }
}
