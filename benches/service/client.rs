//! One connection of a client that costs next to nothing: HTTP/1.1, kept alive, a request at a time.

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[derive(Debug)]
pub struct Connection {
    address: String,
    stream: Option<TcpStream>,
    received: Vec<u8>,
    /// Where the body of the last answer begins.
    body: usize,
}

impl Connection {
    pub fn new(address: &str) -> Self {
        let (address, received) = (address.to_owned(), Vec::with_capacity(4096));
        Self { address, stream: None, received, body: 0 }
    }

    pub async fn open(&mut self) -> Result<&mut TcpStream> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(&self.address).await?;
            stream.set_nodelay(true)?;
            self.stream = Some(stream);
        }
        self.stream.as_mut().context("just opened")
    }

    /// The status of the answer. A connection that broke is opened anew by the next request.
    pub async fn ask(&mut self, request: &[u8]) -> Result<u16> {
        let answer = self.exchange(request).await;
        if answer.is_err() {
            self.stream = None;
        }
        answer
    }

    /// The body of the last answer.
    pub fn body(&self) -> &[u8] {
        &self.received[self.body..]
    }

    /// The first text that stands under `name` in the body of the last answer.
    pub fn member(&self, name: &str) -> Result<String> {
        let body = std::str::from_utf8(self.body())?;
        let value = body.split(&format!("\"{name}\":\"")).nth(1);
        let value = value.and_then(|rest| rest.split('"').next());
        Ok(value.with_context(|| format!("no {name} in {body}"))?.to_owned())
    }

    async fn exchange(&mut self, request: &[u8]) -> Result<u16> {
        self.open().await?.write_all(request).await?;
        self.received.clear();
        let (stream, received) = (self.stream.as_mut().context("open")?, &mut self.received);
        let mut end = None;
        while end.is_none_or(|end| received.len() < end) {
            anyhow::ensure!(stream.read_buf(received).await? > 0, "the server hung up");
            if end.is_none()
                && let Some(head) = head_of(received)
            {
                self.body = head.len();
                end = Some(head.len() + content_length(head)?);
            }
        }
        let status = std::str::from_utf8(received.get(9..12).context("a status")?)?.parse()?;
        Ok(status)
    }
}

/// Up to and with the empty line.
pub fn head_of(received: &[u8]) -> Option<&[u8]> {
    let end = received.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some(&received[..end + 4])
}

/// 0 when nothing is said.
pub fn content_length(head: &[u8]) -> Result<usize> {
    const NAME: &[u8] = b"content-length:";
    let mut lines = head.split(|byte| *byte == b'\n');
    let line = lines
        .find(|line| line.get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME)));
    let Some(line) = line else { return Ok(0) };
    Ok(std::str::from_utf8(&line[NAME.len()..])?.trim().parse()?)
}

pub fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes()
}

pub fn send(method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}
