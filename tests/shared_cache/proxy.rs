//! A proxy before the Redis: its connections can be closed, or fall silent without a word.

use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    Up,
    /// Open connections end, and new ones at once.
    Closed,
    /// Nothing comes through, and nobody is told.
    Silent,
}

pub struct Proxy {
    pub url: String,
    link: Arc<watch::Sender<Link>>,
}

impl Proxy {
    pub async fn to(redis: &str, link: Link) -> Self {
        let (scheme, rest) = redis.split_once("://").unwrap();
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let server = host.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let link = Arc::new(watch::Sender::new(link));
        let seen = Arc::clone(&link);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server.clone(), seen.subscribe()));
            }
        });
        Self { url: format!("{scheme}://127.0.0.1:{port}/{path}"), link }
    }

    pub fn set(&self, link: Link) {
        self.link.send_replace(link);
    }
}

async fn carry(mut client: TcpStream, server: String, mut link: watch::Receiver<Link>) {
    let mut server = TcpStream::connect(server).await.unwrap();
    let (mut there, mut back) = ([0; 4_096], [0; 4_096]);
    loop {
        let now = *link.borrow_and_update();
        match now {
            Link::Closed => return,
            // A dead connection stays dead when the next one would live.
            Link::Silent => std::future::pending().await,
            Link::Up => {}
        }
        let moved = tokio::select! {
            _ = link.changed() => continue,
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
