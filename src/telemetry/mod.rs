//! What the service tells of itself while it runs: log lines on stderr and, if a collector is
//! named, spans. Metrics are an adapter of their own.

mod last_value;
mod line;
mod log_queue;
mod log_switch;

use crate::adapters::observe::log_control::LogControl;
use crate::config::{LogFormat, TelemetryConfig};
use last_value::LastValue;
use line::{JsonLine, Members};
use log_queue::LogQueue;
use log_switch::LogSwitch;
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::EnvResourceDetector;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::io::IsTerminal;
use std::sync::Arc;
use tracing::Subscriber;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, reload};

/// What the log leaves out and a trace wants: the events of the guards and the fallbacks, the spans of
/// the storage. And without the rest each export would make spans of its own, to be exported.
const EXPORTED: &str =
    "info,order_service=debug,opentelemetry=off,hyper=off,reqwest=off,h2=off,tower=off";

/// Running telemetry. It outlives the async runtime, because its last act blocks.
#[derive(Debug)]
pub struct Telemetry {
    spans: Option<SdkTracerProvider>,
    lines: LogQueue,
    switch: LogSwitch,
}

#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("the span exporter cannot be built")]
    Exporter(#[from] ExporterBuildError),
    #[error("the log filter is not valid")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    #[error("the log has no thread to write it")]
    Log(#[from] std::io::Error),
    #[error("telemetry was started before in this process")]
    Started(#[from] tracing_subscriber::util::TryInitError),
}

impl Telemetry {
    /// Call it before the async runtime starts.
    ///
    /// # Errors
    /// A filter or a collector's address that cannot be used; a second start.
    pub fn start(config: &TelemetryConfig) -> Result<Self, TelemetryError> {
        let spans = provider(config)?;
        let lines = LogQueue::start(std::io::stderr())?;
        let (subscriber, switch) = subscriber(config, spans.as_ref(), lines.clone())?;
        subscriber.try_init()?;
        Ok(Self { spans, lines, switch })
    }

    /// What changes the log's filter while the service runs.
    #[must_use]
    pub fn log_control(&self) -> Arc<dyn LogControl> {
        Arc::new(self.switch.clone())
    }

    /// Sends the spans that still wait, and the last lines. Call it after the async runtime has ended.
    pub fn stop(self) {
        if let Some(spans) = self.spans
            && let Err(error) = spans.shutdown()
        {
            tracing::warn!(%error, "the last spans were not exported");
        }
        self.lines.flush();
    }
}

fn subscriber<W>(
    config: &TelemetryConfig,
    spans: Option<&SdkTracerProvider>,
    writer: W,
) -> Result<(impl Subscriber + Send + Sync + use<W>, LogSwitch), TelemetryError>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_writer(writer);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match config.format {
        LogFormat::Pretty => Box::new(lines.with_ansi(std::io::stderr().is_terminal())),
        LogFormat::Json => Box::new(lines.fmt_fields(Members).event_format(JsonLine)),
    };
    let exported = spans.map(|provider| {
        let tracer = provider.tracer("order-service");
        let layer = tracing_opentelemetry::layer().with_tracer(tracer);
        // Where in the code and on which thread is of no use to who reads a trace.
        let layer = layer.with_location(false).with_threads(false).with_tracked_inactivity(false);
        layer.with_filter(EnvFilter::new(EXPORTED))
    });
    let (filter, handle) = reload::Layer::new(EnvFilter::try_new(&config.filter)?);
    let lines = lines.with_filter(filter);
    let subscriber = tracing_subscriber::registry().with(lines).with(exported);
    Ok((subscriber, LogSwitch::new(handle, &config.filter)))
}

/// Timeouts, headers, sampling and batch sizes are the SDK's to read from the standard variables.
fn provider(config: &TelemetryConfig) -> Result<Option<SdkTracerProvider>, TelemetryError> {
    let Some(collector) = &config.spans_to else { return Ok(None) };
    let exporter = SpanExporter::builder().with_http().with_endpoint(collector).build()?;
    let resource = Resource::builder_empty()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_detector(Box::new(EnvResourceDetector::new()))
        .with_service_name(config.service_name.clone())
        .build();
    let provider = SdkTracerProvider::builder().with_resource(resource);
    Ok(Some(provider.with_batch_exporter(LastValue(exporter)).build()))
}

#[cfg(test)]
mod tests;
