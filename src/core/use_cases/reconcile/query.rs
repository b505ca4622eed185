//! Asking a provider as long as it takes.

use crate::core::domain::provider::ProviderNumber;
use crate::core::ports::call::Call;
use crate::core::ports::deadline::Deadline;
use crate::core::ports::payment::{Finding, PaymentError, PaymentPort, PaymentRef};
use std::time::Duration;

/// How often a question is asked that gets no answer.
const ATTEMPTS: u32 = 5;

/// Before the next try, where the guards name no time.
const PAUSE: Duration = Duration::from_secs(1);

/// Waits for the guards as long as they ask for; a silence is repeated a few times.
pub(super) async fn payment_status(
    port: &dyn PaymentPort,
    number: &ProviderNumber,
) -> Result<Finding, PaymentError> {
    let payment = PaymentRef { number: number.clone(), external_id: None };
    let mut attempt = 1;
    loop {
        let call = Call::new(Deadline::after(port.call_limit() * 2), None).in_background();
        let answer = port.payment_status(&payment, &call).await;
        let pause = match &answer {
            Err(PaymentError::NotExecuted(error)) => error.retry_after.unwrap_or(PAUSE).max(PAUSE),
            Err(PaymentError::Unknown(_)) => PAUSE,
            Ok(_) | Err(PaymentError::Duplicate | PaymentError::Rejected(_)) => return answer,
        };
        if attempt == ATTEMPTS {
            return answer;
        }
        attempt += 1;
        tokio::time::sleep(pause).await;
    }
}
