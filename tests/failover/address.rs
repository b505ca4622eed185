//! The one address of a database that moves: what a virtual address or HAProxy is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Debug)]
pub struct Address {
    port: u16,
    leads_to: Arc<AtomicU16>,
    moved: watch::Sender<()>,
}

impl Address {
    pub async fn of(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let leads_to = Arc::new(AtomicU16::new(server));
        let (moved, _) = watch::channel(());
        let (target, moving) = (Arc::clone(&leads_to), moved.clone());
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let server = ("127.0.0.1", target.load(Ordering::SeqCst));
                let Ok(mut server) = TcpStream::connect(server).await else { continue };
                let mut moved = moving.subscribe();
                tokio::spawn(async move {
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
                        _ = moved.changed() => {}
                    }
                });
            }
        });
        Self { port, leads_to, moved }
    }

    /// From now on it leads there; what was connected is cut off.
    pub fn lead_to(&self, server: u16) {
        self.leads_to.store(server, Ordering::SeqCst);
        self.moved.send_replace(());
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }
}
