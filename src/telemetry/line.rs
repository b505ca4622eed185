//! One event as one flat JSON object: what a query can reach without knowing our spans' nesting.

use serde_json::{Map, Value};
use std::fmt;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tracing::field::{Field, Visit};
use tracing::span::Record;
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// The fields of the spans around an event (`trace_id`, `request_id`, `order.id`) stand beside its
/// own; the innermost wins, and the event's own win over all.
#[derive(Debug)]
pub(super) struct JsonLine;

impl<S> FormatEvent<S, Members> for JsonLine
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, Members>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = Line(Map::new());
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            let Some(fields) = extensions.get::<FormattedFields<Members>>() else { continue };
            let members = fields.fields.trim_end_matches(',');
            if let Ok(fields) = serde_json::from_str::<Map<_, _>>(&format!("{{{members}}}")) {
                line.0.extend(fields);
            }
        }
        event.record(&mut line);
        let now = OffsetDateTime::now_utc().format(&Rfc3339).map_err(|_| fmt::Error)?;
        line.put("timestamp", now);
        line.put("level", event.metadata().level().as_str());
        line.put("target", event.metadata().target());
        let text = serde_json::to_string(&line.0).map_err(|_| fmt::Error)?;
        writeln!(writer, "{text}")
    }
}

/// A span's fields as members of an object, each with a comma behind it: every request has spans and few
/// have lines, so what is recorded later is appended, and nothing is read again before there is a line.
#[derive(Debug)]
pub(super) struct Members;

impl<'w> FormatFields<'w> for Members {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut members = MemberWriter { writer, written: Ok(()) };
        fields.record(&mut members);
        members.written
    }

    fn add_fields(
        &self,
        current: &'w mut FormattedFields<Self>,
        fields: &Record<'_>,
    ) -> fmt::Result {
        self.format_fields(current.as_writer(), fields)
    }
}

struct MemberWriter<'w> {
    writer: Writer<'w>,
    written: fmt::Result,
}

impl MemberWriter<'_> {
    /// `otel.` fields steer the exporter and say nothing to a reader.
    fn put(&mut self, field: &Field, value: impl serde::Serialize) {
        let name = field.name();
        if self.written.is_err() || name.starts_with("otel.") {
            return;
        }
        let value = serde_json::to_string(&value).map_err(|_| fmt::Error);
        self.written = value.and_then(|value| write!(self.writer, "\"{name}\":{value},"));
    }
}

impl Visit for MemberWriter<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if !field.name().starts_with("otel.") {
            self.put(field, format!("{value:?}"));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }
}

struct Line(Map<String, Value>);

impl Line {
    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field.name(), value);
    }
}
