//! Connections: taken from a listener, bounded in number, in patience and in memory, and brought to
//! an end. axum's own loop sets no limit on how long a client may take for its headers, and waits
//! for ever for the last connection.

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

/// Open connections at a time; more wait in the listener's backlog.
const CONNECTIONS: usize = 10_000;
/// How long a client may take for its headers, and how long a connection may idle.
const HEADERS_LIMIT: Duration = Duration::from_secs(30);
/// A client that neither reads nor answers a ping is gone (HTTP/2).
const PING_EVERY: Duration = Duration::from_secs(20);
const STREAMS_PER_CONNECTION: u32 = 256;
/// Out of file descriptors: somebody must leave first.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Serves until `end`, then lets every connection finish its request for at most `patience`.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    end: CancellationToken,
    patience: Duration,
) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let connections = TaskTracker::new();
    let cut_off = CancellationToken::new();
    while let Some((stream, peer, permit)) = accept(&listener, &permits, &end).await {
        let router = router.clone();
        let (end, cut_off) = (end.clone(), cut_off.clone());
        connections.spawn(async move {
            let _permit = permit;
            tokio::select! {
                () = serve_connection(stream, peer, router, end) => {}
                () = cut_off.cancelled() => {}
            }
        });
    }
    connections.close();
    if timeout(patience, connections.wait()).await.is_err() {
        cut_off.cancel();
        connections.wait().await;
    }
}

/// `None` at the end.
async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
    end: &CancellationToken,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let accepting = async {
        let permit = Arc::clone(permits).acquire_owned().await.ok()?;
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => return Some((stream, peer, permit)),
                Err(_) => sleep(ACCEPT_AGAIN).await,
            }
        }
    };
    tokio::select! {
        () = end.cancelled() => None,
        accepted = accepting => accepted,
    }
}

async fn serve_connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    end: CancellationToken,
) {
    // Replies are small and complete: waiting for more to send only delays them.
    let _ = stream.set_nodelay(true);
    let service = router.map_request(move |mut request: Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        request
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS_LIMIT);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .max_concurrent_streams(STREAMS_PER_CONNECTION);
    let connection =
        builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    tokio::pin!(connection);
    // A connection that breaks is the client's affair.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = end.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
