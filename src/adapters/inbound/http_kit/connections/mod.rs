//! Connections: taken from a listener, bounded in number, in patience and in memory, and brought to
//! an end. axum's own loop sets no limit on how long a client may keep silent, and waits for ever for
//! the last connection.

mod bytes;
mod connection;
mod limits;
mod patient_stream;
mod reply_body;
mod rooms;
mod watch;

pub use bytes::{ByteBudget, ClientBytes, HeldBytes};
pub use connection::HealthOnly;
pub use limits::ConnectionLimits;
pub(in crate::adapters::inbound::http_kit) use reply_body::HeldReply;
pub use rooms::AddressKey;

use crate::adapters::inbound::http_kit::lifecycle::Lifecycle;
use crate::adapters::observe::log_throttle::LogThrottle;
use crate::adapters::observe::traffic::{ConnectionEvent, RefusedConnection, Traffic};
use axum::Router;
use connection::Connection;
use rooms::{Room, Seat};
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Out of file descriptors: somebody must leave first.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
const LOG_INTERVAL: Duration = Duration::from_secs(1);
/// Who comes when everything is taken may still ask for health, if it asks quickly: so many, and of one
/// address a quarter of them.
const HEALTH_ROOM: usize = 64;
const HEALTH_PATIENCE: Duration = Duration::from_secs(2);
/// Bodies of requests and replies that are held in memory for clients, in all.
const HELD_BYTES: usize = 256 << 20;

/// Everything that connections of one listener share.
#[derive(Debug)]
pub struct HttpServer {
    pub router: Router,
    pub limits: ConnectionLimits,
    pub lifecycle: Arc<Lifecycle>,
    pub traffic: Arc<dyn Traffic>,
    /// Nobody is answered any more.
    pub end: CancellationToken,
    /// For connections to finish their requests after `end`.
    pub patience: Duration,
}

impl HttpServer {
    /// Serves until the end, then lets every connection finish its request for a while.
    pub async fn serve(self, listener: TcpListener) {
        let (connections, cut_off) = (TaskTracker::new(), CancellationToken::new());
        let mut doorman = Doorman::new(&self);
        while let Some((stream, peer, seat)) = doorman.next(&listener, &self.end).await {
            let connection = self.connection(peer, seat, &doorman);
            let (end, cut_off) = (self.end.clone(), cut_off.clone());
            connections.spawn(async move {
                tokio::select! {
                    () = connection.serve(stream, end) => {}
                    () = cut_off.cancelled() => {}
                }
            });
        }
        connections.close();
        if timeout(self.patience, connections.wait()).await.is_err() {
            cut_off.cancel();
            connections.wait().await;
        }
    }

    fn connection(&self, peer: SocketAddr, seat: Seat, doorman: &Doorman) -> Connection {
        let health_only = seat.in_room(&doorman.for_health);
        let mut limits = self.limits;
        if health_only {
            limits.idle = limits.idle.min(HEALTH_PATIENCE);
        }
        Connection {
            router: self.router.clone(),
            peer,
            limits,
            bytes: doorman.bytes.of_client(AddressKey::at(peer.ip())),
            lifecycle: Arc::clone(&self.lifecycle),
            traffic: Arc::clone(&self.traffic),
            health_only,
            _seat: seat,
        }
    }
}

/// Who may come in.
struct Doorman {
    for_all: Arc<Room>,
    for_health: Arc<Room>,
    bytes: Arc<ByteBudget>,
    traffic: Arc<dyn Traffic>,
    log: LogThrottle<RefusedConnection>,
}

impl Doorman {
    fn new(server: &HttpServer) -> Self {
        Self {
            for_all: Room::new(server.limits.max, server.limits.per_address),
            for_health: Room::new(HEALTH_ROOM, HEALTH_ROOM / 4),
            bytes: ByteBudget::new(HELD_BYTES),
            traffic: Arc::clone(&server.traffic),
            log: LogThrottle::new(LOG_INTERVAL),
        }
    }

    /// `None` at the end.
    async fn next(
        &mut self,
        listener: &TcpListener,
        end: &CancellationToken,
    ) -> Option<(TcpStream, SocketAddr, Seat)> {
        loop {
            let accepted = tokio::select! {
                () = end.cancelled() => return None,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => {
                    if let Some(seat) = self.admit(peer) {
                        return Some((stream, peer, seat));
                    }
                }
                // Who hung up in the queue is nobody's loss.
                Err(error) if is_the_clients(&error) => {}
                Err(error) => {
                    self.refused(RefusedConnection::Descriptors, &error.to_string());
                    sleep(ACCEPT_AGAIN).await;
                }
            }
        }
    }

    /// A seat among all, else one of those who may only ask for health, else none.
    fn admit(&self, peer: SocketAddr) -> Option<Seat> {
        let address = AddressKey::at(peer.ip());
        match self.for_all.seat(address) {
            Ok(seat) => Some(seat),
            Err(reason) => {
                self.refused(reason, &peer.ip().to_string());
                self.for_health.seat(address).ok()
            }
        }
    }

    fn refused(&self, reason: RefusedConnection, cause: &str) {
        self.traffic.connection(ConnectionEvent::Refused(reason));
        if let Some(left_out) = self.log.may_log(reason) {
            let reason = reason.as_str();
            tracing::warn!(reason, cause, left_out, "connections are refused");
        }
    }
}

fn is_the_clients(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused
    )
}
