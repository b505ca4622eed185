//! The entrance of one partner: a listener that can refuse, reset or ignore connections, and
//! connections that a handler can cut without a reply.
//!
//! A partner that is down must refuse the connection, because only that proves to its caller that
//! nothing was executed. So the listening socket is really closed, and a second socket, bound but
//! never listening, keeps the port ours meanwhile.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::locked;

/// What happens to a connection that knocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entrance {
    Open,
    /// The port is closed: connection refused.
    Refusing,
    /// Accepted and reset at once.
    Resetting,
    /// Accepted and never read or answered: a TLS handshake hangs here too.
    Stalling,
}

/// The handle by which the entrance is changed while its listener runs elsewhere.
#[derive(Debug)]
pub struct ListenerControl {
    address: SocketAddr,
    wanted: watch::Sender<Entrance>,
    seen: watch::Sender<Entrance>,
    /// Parent of every open connection's token.
    connections: Mutex<CancellationToken>,
}

impl ListenerControl {
    pub fn bind(address: SocketAddr) -> io::Result<(Arc<Self>, ControlledListener)> {
        let reservation = bound_socket(address)?;
        let address = reservation.local_addr()?;
        let socket = listen(address)?;
        let control = Arc::new(Self {
            address,
            wanted: watch::Sender::new(Entrance::Open),
            seen: watch::Sender::new(Entrance::Open),
            connections: Mutex::default(),
        });
        let orders = control.wanted.subscribe();
        let listener = ControlledListener {
            control: Arc::clone(&control),
            orders,
            socket: Some(socket),
            _reservation: reservation,
        };
        Ok((control, listener))
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// When this returns, the entrance is as asked, and no connection of before is left.
    pub async fn set(&self, entrance: Entrance) {
        if *self.wanted.borrow() == entrance {
            return;
        }
        if entrance == Entrance::Open {
            self.cut_all();
        }
        self.wanted.send_replace(entrance);
        let mut seen = self.seen.subscribe();
        // An error means that the listener has been stopped: nothing is left to wait for.
        let _stopped = seen.wait_for(|seen| *seen == entrance).await;
        if entrance != Entrance::Open {
            self.cut_all();
        }
    }

    pub fn cut_all(&self) {
        std::mem::take(&mut *locked(&self.connections)).cancel();
    }

    fn new_connection(&self) -> CancellationToken {
        locked(&self.connections).child_token()
    }
}

/// The listener behind a [`ListenerControl`].
#[derive(Debug)]
pub struct ControlledListener {
    control: Arc<ListenerControl>,
    orders: watch::Receiver<Entrance>,
    socket: Option<TcpListener>,
    _reservation: TcpSocket,
}

impl ControlledListener {
    async fn obey(&mut self, entrance: Entrance) {
        if entrance == Entrance::Refusing {
            self.socket = None;
        }
        while self.socket.is_none() && entrance != Entrance::Refusing {
            match listen(self.control.address) {
                Ok(socket) => self.socket = Some(socket),
                Err(error) => {
                    tracing::warn!(%error, address = %self.control.address, "cannot listen again yet");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        self.control.seen.send_replace(entrance);
    }

    fn admit(&self, stream: TcpStream, entrance: Entrance) -> Option<Wire> {
        let token = self.control.new_connection();
        match entrance {
            Entrance::Open => {
                // Failure would cost milliseconds, not correctness.
                let _slower = stream.set_nodelay(true);
                return Some(Wire::new(stream, token));
            }
            Entrance::Stalling => {
                tokio::spawn(token.run_until_cancelled_owned(ignore(stream)));
            }
            Entrance::Resetting | Entrance::Refusing => {
                // Without it the peer sees an orderly end instead of a reset: also a lost call.
                let _politer = stream.set_zero_linger();
            }
        }
        None
    }
}

impl Listener for ControlledListener {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        loop {
            let entrance = *self.orders.borrow_and_update();
            self.obey(entrance).await;
            let accepted = match &self.socket {
                None => {
                    let _control_lives_as_long = self.orders.changed().await;
                    continue;
                }
                Some(socket) => tokio::select! {
                    biased;
                    _ = self.orders.changed() => continue,
                    accepted = socket.accept() => accepted,
                },
            };
            match accepted {
                Ok((stream, peer)) => {
                    if let Some(wire) = self.admit(stream, entrance) {
                        return (wire, peer);
                    }
                }
                // Out of file descriptors, most likely: a pause lets some close.
                Err(error) => {
                    tracing::warn!(%error, "accept failed");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.control.address)
    }
}

/// A TCP stream that breaks when its token is cancelled.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    token: CancellationToken,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Wire {
    fn new(stream: TcpStream, token: CancellationToken) -> Self {
        let cut = Box::pin(token.clone().cancelled_owned());
        Self { stream, token, cut }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.token.is_cancelled() || self.cut.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.token.is_cancelled() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.token.is_cancelled() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// What a handler knows of the connection that its request came by.
#[derive(Debug, Clone)]
pub struct Connection {
    token: CancellationToken,
}

impl Connection {
    /// The peer sees the end of the connection and no further byte.
    pub fn cut(&self) {
        self.token.cancel();
    }
}

impl Connected<IncomingStream<'_, ControlledListener>> for Connection {
    fn connect_info(stream: IncomingStream<'_, ControlledListener>) -> Self {
        Self { token: stream.io().token.clone() }
    }
}

fn bound_socket(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    bound_socket(address)?.listen(1024)
}

/// Holds a connection open, reading nothing out of it but its end.
async fn ignore(stream: TcpStream) {
    let mut bin = [0; 1024];
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut bin) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}
