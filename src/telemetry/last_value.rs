//! Spans as a collector wants them: each attribute once. A field that is recorded again, as by each
//! attempt of a call, reaches the exporter beside its older values; the last one holds.

use opentelemetry::KeyValue;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct LastValue<E>(pub E);

impl<E: SpanExporter> SpanExporter for LastValue<E> {
    fn export(&self, mut batch: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        batch.iter_mut().for_each(|span| keep_last(&mut span.attributes));
        self.0.export(batch)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

/// There are a dozen of them at most.
fn keep_last(attributes: &mut Vec<KeyValue>) {
    let mut at = 0;
    while let Some(attribute) = attributes.get(at) {
        if attributes[at + 1..].iter().any(|later| later.key == attribute.key) {
            attributes.remove(at);
        } else {
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_attribute_that_was_recorded_again_the_last_value_holds() {
        let pair = |key, value| KeyValue::new(key, value);
        let mut attributes = vec![pair("a", 1), pair("b", 2), pair("a", 3), pair("a", 4)];
        keep_last(&mut attributes);
        assert_eq!(attributes, [pair("b", 2), pair("a", 4)]);
    }
}
