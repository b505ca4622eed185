//! A wire to the Redis that can be cut, or lie dead without a word.

use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Whole,
    /// Open connections end, and new ones at once.
    Cut,
    /// Nothing comes through, and nobody is told.
    Dead,
}

pub struct Cable {
    pub url: String,
    wire: Arc<watch::Sender<Wire>>,
}

impl Cable {
    pub async fn to(redis: &str, wire: Wire) -> Self {
        let (scheme, rest) = redis.split_once("://").unwrap();
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let server = host.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let wire = Arc::new(watch::Sender::new(wire));
        let seen = Arc::clone(&wire);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server.clone(), seen.subscribe()));
            }
        });
        Self { url: format!("{scheme}://127.0.0.1:{port}/{path}"), wire }
    }

    pub fn set(&self, wire: Wire) {
        self.wire.send_replace(wire);
    }
}

async fn carry(mut client: TcpStream, server: String, mut wire: watch::Receiver<Wire>) {
    let mut server = TcpStream::connect(server).await.unwrap();
    let (mut there, mut back) = ([0; 4_096], [0; 4_096]);
    loop {
        let now = *wire.borrow_and_update();
        match now {
            Wire::Cut => return,
            // A dead connection stays dead when the next one would live.
            Wire::Dead => std::future::pending().await,
            Wire::Whole => {}
        }
        let moved = tokio::select! {
            _ = wire.changed() => continue,
            read = client.read(&mut there) => match read {
                Ok(read @ 1..) => server.write_all(&there[..read]).await,
                Ok(0) | Err(_) => return,
            },
            read = server.read(&mut back) => match read {
                Ok(read @ 1..) => client.write_all(&back[..read]).await,
                Ok(0) | Err(_) => return,
            },
        };
        if moved.is_err() {
            return;
        }
    }
}
