//! A wire to PostgreSQL that is cut at the worst moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// When the connection breaks at the next message with the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    Never,
    /// The server never hears it.
    Before,
    /// The server does it, and its answer is lost.
    After,
}

/// The statement itself, as it ends on the wire: the bare word stands in READ COMMITTED too, and would cut BEGIN.
pub const COMMIT: &str = "COMMIT\0";

#[derive(Debug)]
pub struct Proxy {
    port: u16,
    cut: Arc<AtomicU8>,
}

impl Proxy {
    /// To the server of this URL, watching for this word of a query or of a value that is bound.
    pub async fn start(url: &str, word: &'static str) -> Self {
        let server = host(url).to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let cut = Arc::new(AtomicU8::new(0));
        let plan = Arc::clone(&cut);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // A server that is down is met as a connection that ends.
                let Ok(server) = TcpStream::connect(&server).await else { continue };
                tokio::spawn(carry(client, server, word, Arc::clone(&plan)));
            }
        });
        Self { port, cut }
    }

    /// The URL with the proxy in the place of the server.
    pub fn url(&self, url: &str) -> String {
        url.replace(host(url), &format!("127.0.0.1:{}", self.port))
    }

    pub fn cut(&self, cut: Cut) {
        self.cut.store(cut as u8, Ordering::SeqCst);
    }

    pub fn has_cut(&self) -> bool {
        self.cut.load(Ordering::SeqCst) == Cut::Never as u8
    }
}

fn host(url: &str) -> &str {
    let (_, rest) = url.split_once('@').unwrap();
    rest.split_once('/').unwrap().0
}

async fn carry(client: TcpStream, server: TcpStream, word: &str, plan: Arc<AtomicU8>) {
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let back = tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
    let mut buffer = vec![0; 65_536];
    while let Ok(read @ 1..) = from_client.read(&mut buffer).await {
        let said = &buffer[..read];
        let marked = said.windows(word.len()).any(|part| part == word.as_bytes());
        let cut = if marked { plan.swap(Cut::Never as u8, Ordering::SeqCst) } else { 0 };
        if cut == Cut::Before as u8 {
            break;
        }
        if cut == Cut::After as u8 {
            // Nothing more is carried back, but the server has heard it.
            back.abort();
            let _ = back.await;
            let _gone = to_server.write_all(said).await;
            return;
        }
        if to_server.write_all(said).await.is_err() {
            break;
        }
    }
    back.abort();
}
