//! A partner that does what its script says, once for each request, and remembers what it was asked.
//! It speaks just enough HTTP to be wrong in every way that a partner can be.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

const MAX_REQUEST_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone)]
pub enum Answer {
    /// 200 with this body.
    Json(String),
    Status(u16),
    /// A status with one more header line.
    With(u16, &'static str),
    /// 200 with this body as `text/html`.
    Html(&'static str),
    /// 200, a length, and half of what it promises.
    Truncated,
    /// 200 and a body without end.
    Huge,
    /// The connection is reset after the request.
    Reset,
    /// Nothing, for ever.
    Hang,
}

impl Answer {
    pub fn json(body: &str) -> Self {
        Self::Json(body.to_owned())
    }
}

#[derive(Debug)]
pub struct StubPartner {
    pub url: String,
    state: Arc<State>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    script: Mutex<VecDeque<Answer>>,
    heard: Mutex<Vec<String>>,
    /// One permit for each answer that may be given.
    gate: Semaphore,
}

impl StubPartner {
    /// Answers as `script` says, and 500 when that is over.
    pub async fn playing(script: impl IntoIterator<Item = Answer>) -> Self {
        Self::start(script, Semaphore::MAX_PERMITS >> 1).await
    }

    /// As [`playing`](Self::playing), but each answer waits for [`let_one_through`](Self::let_one_through).
    pub async fn held(script: impl IntoIterator<Item = Answer>) -> Self {
        Self::start(script, 0).await
    }

    async fn start(script: impl IntoIterator<Item = Answer>, permits: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State {
            script: Mutex::new(script.into_iter().collect()),
            heard: Mutex::default(),
            gate: Semaphore::new(permits),
        });
        let server = tokio::spawn(serve(listener, Arc::clone(&state)));
        Self { url, state, server }
    }

    pub fn let_one_through(&self) {
        self.state.gate.add_permits(1);
    }

    pub fn then(&self, answer: Answer) {
        self.state.script.lock().unwrap().push_back(answer);
    }

    /// The heads of all requests so far.
    pub fn heard(&self) -> Vec<String> {
        self.state.heard.lock().unwrap().clone()
    }

    pub fn calls(&self) -> usize {
        self.state.heard.lock().unwrap().len()
    }

    /// Until so many requests have come, whether answered or not.
    pub async fn until_heard(&self, calls: usize) {
        while self.calls() < calls {
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for StubPartner {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(answer_one(stream, Arc::clone(&state)));
    }
}

async fn answer_one(mut stream: TcpStream, state: Arc<State>) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < MAX_REQUEST_BYTES {
        head.push(stream.read_u8().await.ok()?);
    }
    state.heard.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
    state.gate.acquire().await.ok()?.forget();
    let answer = state.script.lock().unwrap().pop_front().unwrap_or(Answer::Status(500));
    let bytes = match answer {
        Answer::Json(body) => whole(200, "Content-Type: application/json", &body),
        Answer::Status(status) => whole(status, "X-Stub: 1", ""),
        Answer::With(status, header) => whole(status, header, ""),
        Answer::Html(body) => whole(200, "Content-Type: text/html", body),
        Answer::Truncated => b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":".to_vec(),
        Answer::Huge => return flood(stream).await,
        Answer::Reset => return stream.set_zero_linger().ok(),
        Answer::Hang => std::future::pending().await,
    };
    stream.write_all(&bytes).await.ok()
}

fn whole(status: u16, header: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Stub\r\n{header}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Ends when the other side has had enough.
async fn flood(mut stream: TcpStream) -> Option<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").await.ok()?;
    loop {
        stream.write_all(&[b' '; 8192]).await.ok()?;
    }
}
