//! A partner of a few lines: it gives the scripted answers, one a request, and remembers what it was
//! asked. What it was not told to expect it answers with a broken connection.

pub mod port;
pub mod spans;

use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

#[derive(Debug, Clone)]
pub enum Answer {
    /// Status line and headers, and a body.
    Http(String, Vec<u8>),
    /// Reads the request and says nothing.
    Hang,
    /// Ends the connection without a byte.
    Cut,
    /// Promises more than it sends.
    CutMidBody,
    /// Sends a byte now and then, for ever.
    Drip,
}

pub fn status(code: u16) -> Answer {
    Answer::Http(format!("HTTP/1.1 {code} Whatever"), b"<html>secret gateway text</html>".to_vec())
}

pub fn status_with(code: u16, header: &str) -> Answer {
    Answer::Http(format!("HTTP/1.1 {code} Whatever\r\n{header}"), Vec::new())
}

pub fn json(code: u16, body: &Value) -> Answer {
    text(code, &body.to_string())
}

pub fn text(code: u16, body: &str) -> Answer {
    let head = format!("HTTP/1.1 {code} Whatever\r\nContent-Type: text/plain;charset=UTF-8");
    Answer::Http(head, body.as_bytes().to_vec())
}

#[derive(Debug)]
pub struct Stub {
    pub url: String,
    script: Arc<Mutex<VecDeque<Answer>>>,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Stub {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let stub = Self { url, script: Arc::default(), asked: Arc::default() };
        let (script, asked) = (Arc::clone(&stub.script), Arc::clone(&stub.asked));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&script), Arc::clone(&asked)));
            }
        });
        stub
    }

    pub fn will(&self, answer: Answer) -> &Self {
        self.script.lock().unwrap().push_back(answer);
        self
    }

    /// What it was asked since the last look.
    pub fn asked(&self) -> Vec<Request> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    pub fn asked_once(&self) -> Request {
        let mut asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        asked.remove(0)
    }
}

async fn serve(
    stream: TcpStream,
    script: Arc<Mutex<VecDeque<Answer>>>,
    asked: Arc<Mutex<Vec<Request>>>,
) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let request = read_request(&mut stream).await?;
        asked.lock().unwrap().push(request);
        let answer = script.lock().unwrap().pop_front();
        match answer? {
            Answer::Http(head, body) => {
                let head = format!("{head}\r\nContent-Length: {}\r\n\r\n", body.len());
                stream.write_all(head.as_bytes()).await.ok()?;
                stream.write_all(&body).await.ok()?;
            }
            Answer::Hang => std::future::pending::<()>().await,
            Answer::Cut => return None,
            Answer::CutMidBody => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{").await.ok()?;
                return None;
            }
            Answer::Drip => {
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
                loop {
                    stream.write_all(b" ").await.ok()?;
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        }
    }
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|length| *length > 0)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_owned(), value.to_owned()));
    }
    let mut request = Request { method, target, headers, body: String::new() };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    request.body = String::from_utf8(body).unwrap();
    Some(request)
}
