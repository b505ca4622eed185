//! A partner that does what its script says, once for each request, and remembers what it was asked.
//! It speaks just enough HTTP to be wrong in every way that a partner can be.

use serde_json::Value;
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
    /// Another status with a body of its own.
    Other(u16, String),
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

/// What it was asked.
#[derive(Debug, Clone)]
pub struct Request {
    pub head: String,
    pub body: String,
}

impl Request {
    /// Method and target.
    pub fn line(&self) -> (&str, &str) {
        let mut words = self.head.split_whitespace();
        (words.next().unwrap(), words.next().unwrap())
    }

    pub fn target(&self) -> &str {
        self.line().1
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let headers = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = headers.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
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
    heard: Mutex<Vec<Request>>,
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

    pub fn then(&self, answer: Answer) -> &Self {
        self.state.script.lock().unwrap().push_back(answer);
        self
    }

    /// The heads of all requests so far.
    pub fn heard(&self) -> Vec<String> {
        self.state.heard.lock().unwrap().iter().map(|request| request.head.clone()).collect()
    }

    /// The requests since the last look; these are forgotten.
    pub fn asked(&self) -> Vec<Request> {
        std::mem::take(&mut self.state.heard.lock().unwrap())
    }

    pub fn asked_once(&self) -> Request {
        let mut asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        asked.remove(0)
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
    let request = read_request(&mut stream).await?;
    state.heard.lock().unwrap().push(request);
    state.gate.acquire().await.ok()?.forget();
    let answer = state.script.lock().unwrap().pop_front().unwrap_or(Answer::Status(500));
    let bytes = match answer {
        Answer::Json(body) => whole(200, "Content-Type: application/json", &body),
        Answer::Other(status, body) => whole(status, "Content-Type: text/plain", &body),
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

async fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < MAX_REQUEST_BYTES {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut request = Request { head, body: String::new() };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    request.body = String::from_utf8(body).unwrap();
    Some(request)
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
