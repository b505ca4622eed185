//! A collector of spans: takes what the service exports over OTLP/HTTP and hands it out by name.

use crate::harness::PATIENCE;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

#[derive(Debug)]
pub struct Collector {
    pub url: String,
    spans: Arc<Mutex<Vec<Span>>>,
}

impl Collector {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let spans = Arc::<Mutex<Vec<Span>>>::default();
        let heard = Arc::clone(&spans);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&heard)));
            }
        });
        Self { url, spans }
    }

    /// Waits for the first span of that name in that trace, or in any.
    pub async fn span(&self, name: &str, trace: Option<&str>) -> Span {
        let end = Instant::now() + PATIENCE;
        loop {
            let spans = self.spans.lock().unwrap().clone();
            let wanted = |span: &&Span| {
                span.name == name && trace.is_none_or(|trace| hex(&span.trace_id) == trace)
            };
            if let Some(span) = spans.iter().find(wanted) {
                return span.clone();
            }
            let names: Vec<_> = spans.iter().map(|span| &span.name).collect();
            assert!(Instant::now() < end, "no {name} among {names:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Those of that name in that trace so far, in the order of their beginning.
    pub fn all(&self, name: &str, trace: &str) -> Vec<Span> {
        let mut spans = self.spans.lock().unwrap().clone();
        spans.retain(|span| span.name == name && hex(&span.trace_id) == trace);
        spans.sort_by_key(|span| span.start_time_unix_nano);
        spans
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An attribute as text.
pub fn attribute(span: &Span, key: &str) -> String {
    let found: Vec<_> = span.attributes.iter().filter(|pair| pair.key == key).collect();
    assert_eq!(found.len(), 1, "{key} of {span:?}");
    match found[0].value.clone().and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("{key} is {other:?}"),
    }
}

/// One connection, each of whose requests says how long it is.
async fn serve(mut stream: TcpStream, spans: Arc<Mutex<Vec<Span>>>) -> Option<()> {
    let mut read = Vec::new();
    loop {
        let head = loop {
            if let Some(at) = read.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            stream.read_buf(&mut read).await.ok().filter(|length| *length > 0)?;
        };
        let text = String::from_utf8_lossy(&read[..head]).to_lowercase();
        let length = text.split("content-length: ").nth(1)?.lines().next()?;
        let end = head + length.parse::<usize>().unwrap();
        while read.len() < end {
            stream.read_buf(&mut read).await.ok().filter(|length| *length > 0)?;
        }
        let export = ExportTraceServiceRequest::decode(&read[head..end]).unwrap();
        let scopes = export.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        spans.lock().unwrap().extend(scopes.flat_map(|scope| scope.spans));
        read.drain(..end);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.ok()?;
    }
}
