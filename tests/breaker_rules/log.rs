//! The one line that a change of state leaves in the log.

use crate::support::{bench, steady};
use std::io::{Result, Write};
use std::sync::{Arc, Mutex};
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.lock().expect("no panics").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[test]
fn a_change_of_state_is_one_warning_with_its_fields() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt().json().with_writer(lines.clone()).finish();
    tracing::subscriber::with_default(subscriber, || {
        let bench = bench(&steady());
        bench.break_down();
        assert!(bench.refusal().is_some());
    });
    let text = String::from_utf8(lines.0.lock().expect("no panics").clone()).expect("UTF-8");
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert_eq!(lines[0]["level"], "WARN");
    let expected = serde_json::json!({
        "message": "circuit breaker state changed",
        "system": "catalog",
        "prev_state": "closed",
        "new_state": "open",
        "failure_rate": 1.0,
    });
    assert_eq!(lines[0]["fields"], expected);
}
