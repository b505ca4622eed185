//! One connection, from its first byte to its last.

use super::bytes::ClientBytes;
use super::limits::ConnectionLimits;
use super::patient_stream::PatientStream;
use super::reply_body::{HeldReply, ReplyBody};
use super::rooms::Seat;
use super::watch::Watch;
use crate::adapters::inbound::http_kit::lifecycle::Lifecycle;
use crate::adapters::observe::traffic::{ConnectionEvent, TimedOutConnection, Traffic};
use axum::Router;
use axum::extract::ConnectInfo;
use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// A client that answers no ping while it waits for a reply is gone (HTTP/2).
const PING_EVERY: Duration = Duration::from_secs(20);
const STREAMS: u32 = 64;
/// Headers that come in, and a reply's bytes on their way out (HTTP/1).
const BUFFER_BYTES: usize = 64 << 10;
/// What may wait in a stream's own buffer, each way, and in all streams of a connection (HTTP/2).
const STREAM_OUT_BYTES: usize = 32 << 10;
const STREAM_IN_BYTES: u32 = 64 << 10;
const STREAMS_IN_BYTES: u32 = 256 << 10;
/// From "we close" to the end of it.
const GOODBYE: Duration = Duration::from_secs(1);

/// On a request: its connection was let in to ask for health, and for nothing else.
#[derive(Debug, Clone, Copy)]
pub struct HealthOnly;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) router: Router,
    pub(super) peer: SocketAddr,
    pub(super) limits: ConnectionLimits,
    pub(super) bytes: Arc<ClientBytes>,
    pub(super) lifecycle: Arc<Lifecycle>,
    pub(super) traffic: Arc<dyn Traffic>,
    pub(super) health_only: bool,
    /// Given back at the end.
    pub(super) _seat: Seat,
}

/// What its requests need of it.
#[derive(Debug)]
struct Shared {
    connection: Connection,
    watch: Arc<Watch>,
    speaks_http2: AtomicBool,
}

impl Connection {
    pub(super) async fn serve(self, stream: TcpStream, end: CancellationToken) {
        // Replies are small and complete: waiting for more to send only delays them.
        let _ = stream.set_nodelay(true);
        let (traffic, lifecycle) = (Arc::clone(&self.traffic), Arc::clone(&self.lifecycle));
        let _open = Open::new(&*traffic);
        let limits = self.limits;
        let watch = Watch::new(limits.idle, limits.write);
        let shared = Shared { connection: self, watch, speaks_http2: AtomicBool::new(false) };
        let shared = Arc::new(shared);
        let service = {
            let shared = Arc::clone(&shared);
            service_fn(move |request| Arc::clone(&shared).answer(request))
        };
        let builder = builder();
        let stream = TokioIo::new(PatientStream::new(stream, limits.write));
        let connection = builder.serve_connection(stream, service);
        tokio::pin!(connection);
        // A connection that breaks is the client's affair.
        tokio::select! {
            _ = connection.as_mut() => return,
            reason = shared.watch.timed_out() => {
                traffic.connection(ConnectionEvent::TimedOut(reason));
                connection.as_mut().graceful_shutdown();
                if reason == TimedOutConnection::Idle {
                    let _ = timeout(GOODBYE, connection).await;
                }
                return;
            }
            () = shared.told_to_go_away(&lifecycle) => {}
            () = end.cancelled() => {}
        }
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            _ = connection => {}
            reason = shared.watch.timed_out() => {
                traffic.connection(ConnectionEvent::TimedOut(reason));
            }
        }
    }
}

impl Shared {
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<ReplyBody>, Infallible> {
        let open = self.watch.begin();
        if request.version() == Version::HTTP_2 {
            self.speaks_http2.store(true, Ordering::Relaxed);
        }
        let connection = &self.connection;
        let mut request = request.map(axum::body::Body::new);
        let extensions = request.extensions_mut();
        extensions.insert(ConnectInfo(connection.peer));
        extensions.insert(Arc::clone(&connection.bytes));
        if connection.health_only {
            extensions.insert(HealthOnly);
        }
        let mut response = connection.router.clone().oneshot(request).await?;
        let held = response.extensions_mut().remove::<HeldReply>();
        Ok(response.map(|body| ReplyBody::new(body, held, open)))
    }

    /// When the service stops, HTTP/2 has a frame to say so that cuts nobody off. In HTTP/1 each reply
    /// says so; closing between two of them would cut off a request that is on its way.
    async fn told_to_go_away(&self, lifecycle: &Lifecycle) {
        lifecycle.stopped().await;
        if !self.speaks_http2.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    // How long headers may take is watched with all other silence.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(BUFFER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .max_concurrent_streams(STREAMS)
        .max_send_buf_size(STREAM_OUT_BYTES)
        .initial_stream_window_size(STREAM_IN_BYTES)
        .initial_connection_window_size(STREAMS_IN_BYTES);
    builder
}

/// Counted as open until dropped.
struct Open<'a>(&'a dyn Traffic);

impl<'a> Open<'a> {
    fn new(traffic: &'a dyn Traffic) -> Self {
        traffic.connection(ConnectionEvent::Opened);
        Self(traffic)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.connection(ConnectionEvent::Closed);
    }
}
