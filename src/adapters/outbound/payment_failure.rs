//! The last step of a payment call that failed: the failure in the core's words, the alarm and the
//! span hearing of it on the way.

use crate::adapters::outbound::alarm::ConfigAlarm;
use crate::adapters::resilience::verdict::Failed;
use crate::core::domain::provider::Provider;
use crate::core::domain::unavailable::{NotExecuted, PaymentSystemUnavailableError};
use crate::core::ports::payment::{Concern, PaymentError, Rejection};
use tracing::Span;

#[must_use]
pub fn conclude(
    provider: Provider,
    alarm: &ConfigAlarm,
    failure: Failed<PaymentError>,
) -> PaymentError {
    let error = match failure {
        Failed::NoAnswer(no_answer) => PaymentError::without_answer(provider.into(), no_answer),
        Failed::Answered(error) => error,
    };
    if let Some(sign) = misconfiguration(&error) {
        alarm.raise(sign);
    }
    Span::current()
        .record("otel.status_code", "ERROR")
        .record("otel.status_description", description(&error));
    error
}

/// The word for the alarm, when a person has to look at our configuration.
fn misconfiguration(error: &PaymentError) -> Option<&str> {
    match error {
        PaymentError::NotExecuted(unavailable) if unavailable.cause == NotExecuted::Misdirected => {
            Some(unavailable.cause.as_str())
        }
        PaymentError::Rejected(Rejection { code, concerns: Concern::Account }) => Some(code),
        PaymentError::NotExecuted(_)
        | PaymentError::Unknown(_)
        | PaymentError::Duplicate
        | PaymentError::Rejected(_) => None,
    }
}

fn description(error: &PaymentError) -> String {
    match error {
        PaymentError::NotExecuted(PaymentSystemUnavailableError {
            cause: NotExecuted::Shed(shed),
            ..
        }) if shed.is_circuit_open() => "circuit open".to_owned(),
        PaymentError::NotExecuted(_)
        | PaymentError::Unknown(_)
        | PaymentError::Duplicate
        | PaymentError::Rejected(_) => error.to_string(),
    }
}
