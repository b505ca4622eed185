use super::*;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn config(format: LogFormat) -> TelemetryConfig {
    let (filter, service_name) = ("info".into(), "order-service".into());
    TelemetryConfig { format, filter, spans_to: None, service_name }
}

#[derive(Clone, Default)]
struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panics here").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What is written while `act` runs.
fn written(config: &TelemetryConfig, act: impl FnOnce()) -> String {
    let buffer = LogBuffer::default();
    let writer = buffer.clone();
    let built = subscriber(config, None, move || writer.clone());
    let (subscriber, _) = built.expect("a subscriber");
    tracing::subscriber::with_default(subscriber, act);
    let bytes = buffer.0.lock().expect("nobody panics here").clone();
    String::from_utf8(bytes).expect("text")
}

#[test]
fn a_json_line_is_flat_and_knows_its_request() {
    let text = written(&config(LogFormat::Json), || {
        let request = tracing::info_span!("request", trace_id = "ab", request_id = "r1", n = 1);
        let _request = request.entered();
        let call =
            tracing::info_span!("call", n = 2, otel.kind = "client", late = tracing::field::Empty);
        call.record("late", "known");
        let _call = call.entered();
        tracing::warn!(
            system = "sber",
            failure_rate = 0.5,
            open = true,
            "circuit breaker state changed"
        );
    });
    assert_eq!(text.lines().count(), 1);
    let line: Value = serde_json::from_str(&text).unwrap();
    for (name, value) in [
        ("level", "WARN".into()),
        ("target", module_path!().into()),
        ("message", "circuit breaker state changed".into()),
        ("system", "sber".into()),
        ("failure_rate", Value::from(0.5)),
        ("open", true.into()),
        ("trace_id", "ab".into()),
        ("request_id", "r1".into()),
        ("n", 2.into()),
        ("late", "known".into()),
        ("otel.kind", Value::Null),
    ] {
        assert_eq!(line[name], value, "{name} in {text}");
    }
    assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn the_filter_is_obeyed() {
    let text = written(&config(LogFormat::Pretty), || {
        tracing::debug!("too much");
        tracing::info!("enough");
    });
    assert!(text.contains("enough") && !text.contains("too much"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn another_filter_is_in_force_for_a_while() {
    let buffer = LogBuffer::default();
    let writer = buffer.clone();
    let built = subscriber(&config(LogFormat::Json), None, move || writer.clone());
    let (subscriber, switch) = built.expect("a subscriber");
    let _guard = tracing::subscriber::set_default(subscriber);
    tracing::debug!("before");
    switch.set("debug", Duration::from_secs(60)).unwrap();
    tracing::debug!("within");
    assert!(switch.set("order_service=nonsense", Duration::from_secs(60)).is_err());
    assert_eq!(switch.describe().filter, "debug");
    tokio::time::sleep(Duration::from_secs(61)).await;
    tracing::debug!("after");
    assert_eq!(switch.describe().ends_in, None);
    let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
    let told = |word: &str| text.contains(word);
    assert_eq!((told("before"), told("within"), told("after")), (false, true, false), "{text}");
}

#[test]
fn spans_reach_the_collector() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = collector.local_addr().unwrap();
    let received = std::thread::spawn(move || answer_one(collector.accept().expect("a caller").0));
    let spans_to = Some(format!("http://{address}/v1/traces"));
    let config = TelemetryConfig { spans_to, ..config(LogFormat::Json) };
    let spans = provider(&config).unwrap();
    let (subscriber, switch) = subscriber(&config, spans.as_ref(), std::io::sink).unwrap();
    tracing::subscriber::with_default(subscriber, || {
        tracing::info_span!("SberAdapter.Register", external.system = "sber").in_scope(|| {});
    });
    let lines = LogQueue::start(std::io::sink()).unwrap();
    Telemetry { spans, lines, switch }.stop();
    let request = received.join().unwrap();
    for part in ["POST /v1/traces", "SberAdapter.Register", "external.system", "order-service"] {
        assert!(request.contains(part), "{part} is not in {request}");
    }
}

/// Reads one HTTP request with its body, answers 200, and tells what came.
fn answer_one(mut stream: TcpStream) -> String {
    let (mut received, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut chunk).expect("bytes");
        received.extend_from_slice(&chunk[..read]);
        let text = String::from_utf8_lossy(&received).to_lowercase();
        let head = received.windows(4).position(|w| w == b"\r\n\r\n").map(|at| at + 4);
        let length =
            text.split("content-length: ").nth(1).and_then(|t| t.lines().next()?.parse().ok());
        if read == 0
            || head.zip(length).is_some_and(|(h, l): (usize, usize)| received.len() >= h + l)
        {
            break;
        }
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("a caller that waits");
    String::from_utf8_lossy(&received).into_owned()
}
