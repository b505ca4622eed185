//! The connections of clients: how many there are, who was not let in, who kept us waiting.

use super::families::Families;
use super::labels::Label;
use crate::adapters::observe::traffic::{ConnectionEvent, RefusedConnection, TimedOutConnection};
use prometheus::{IntCounterVec, IntGaugeVec};

#[derive(Debug)]
pub(super) struct Clients {
    open: IntGaugeVec,
    refused: IntCounterVec,
    timed_out: IntCounterVec,
}

impl Clients {
    pub(super) fn new(families: &Families<'_>) -> Self {
        let made = Self {
            open: families.gauge("http_server_connections", "Connections of clients", &[]),
            refused: families.counter(
                "http_server_connections_refused_total",
                "Connections that were not let in, or for health only",
                &["reason"],
            ),
            timed_out: families.counter(
                "http_server_connections_timed_out_total",
                "Connections closed because the client kept us waiting",
                &["reason"],
            ),
        };
        made.open.with_label_values::<&str>(&[]);
        for reason in RefusedConnection::ALL {
            made.refused.with_label_values(&[reason.word()]);
        }
        for reason in TimedOutConnection::ALL {
            made.timed_out.with_label_values(&[reason.word()]);
        }
        made
    }

    pub(super) fn changed(&self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Opened => self.open.with_label_values::<&str>(&[]).inc(),
            ConnectionEvent::Closed => self.open.with_label_values::<&str>(&[]).dec(),
            ConnectionEvent::Refused(why) => self.refused.with_label_values(&[why.word()]).inc(),
            ConnectionEvent::TimedOut(why) => self.timed_out.with_label_values(&[why.word()]).inc(),
        }
    }
}
