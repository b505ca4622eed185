//! Our spans as others see them: whose they continue, by which name partners are told of them, what
//! they are linked to. The one room beside telemetry that knows that OpenTelemetry exports them; where
//! nothing exports them, every act here is none and every question is answered by `None`.

use crate::core::ports::trace::TraceParent;
use opentelemetry::trace::{SpanContext, Status, TraceContextExt, TraceFlags, TraceState};
use opentelemetry::{Context, SpanId, TraceId, Value};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Goes on with somebody else's trace. Before anybody asks for the span's name: then it has begun.
pub fn set_parent(span: &Span, parent: &TraceParent) {
    // It fails where nothing is exported, and then nothing has to be joined.
    let _ = span.set_parent(Context::new().with_remote_span_context(context_of(parent)));
}

/// Says that `to` caused this span, in a trace of its own.
pub fn add_link(span: &Span, to: &TraceParent) {
    span.add_link(context_of(to));
}

/// The name under which the span is exported, for those who are to be its children.
#[must_use]
pub fn trace_parent_of(span: &Span) -> Option<TraceParent> {
    let context = span.context();
    let span = context.span();
    let named = span.span_context();
    let (trace, id) = (named.trace_id().to_bytes(), named.span_id().to_bytes());
    let (trace, id) = (u128::from_be_bytes(trace), u64::from_be_bytes(id));
    named.is_valid().then(|| TraceParent::of(trace, id, named.is_sampled()))
}

/// An attribute for the exporter alone: a field would be written into every line of the log.
pub fn set_attribute(span: &Span, name: &'static str, value: impl Into<Value>) {
    span.set_attribute(name, value);
}

pub fn set_error(span: &Span, why: &'static str) {
    span.set_status(Status::error(why));
}

fn context_of(name: &TraceParent) -> SpanContext {
    let trace = TraceId::from_hex(name.trace_id()).unwrap_or(TraceId::INVALID);
    let span = SpanId::from_hex(name.span_id()).unwrap_or(SpanId::INVALID);
    let flags = TraceFlags::default().with_sampled(name.is_sampled());
    SpanContext::new(trace, span, flags, true, TraceState::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_exporter_nothing_has_a_name() {
        let subscriber = tracing_subscriber::registry();
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::info_span!("request");
            set_parent(&span, &TraceParent::new(7, 8));
            assert_eq!(trace_parent_of(&span), None);
        });
    }

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for sampled in [true, false] {
            let context = context_of(&TraceParent::of(7, 8, sampled));
            assert!(context.is_valid() && context.is_remote());
            assert_eq!(context.is_sampled(), sampled);
            assert_eq!((context.trace_id(), context.span_id()), (7.into(), 8.into()));
        }
    }
}
