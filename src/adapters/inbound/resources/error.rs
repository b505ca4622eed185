//! The only mapping of the core's errors to HTTP. A status is chosen by what the client does next;
//! nothing that an inner error says of itself is shown.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::resources::reasons::{why_invalid, why_refused};
use crate::adapters::inbound::resources::wire::MoneyBody;
use crate::core::domain::ids::ProductId;
use crate::core::domain::unavailable::{
    Cause, NotExecuted, PaymentSystemUnavailableError, Shed, Unknown,
};
use crate::core::ports::catalog::{CatalogError, CatalogUnavailableError};
use crate::core::ports::idempotency::Refusal;
use crate::core::ports::payment::CallbackError;
use crate::core::ports::recommendations::RecommendationsUnavailableError;
use crate::core::ports::storage_error::StorageError;
use crate::core::use_cases::cancel_order::CancelError;
use crate::core::use_cases::confirm_order::ConfirmError;
use crate::core::use_cases::idempotency::IdempotencyError;
use crate::core::use_cases::operate_tasks::OperateError;
use crate::core::use_cases::place_order::PlaceOrderError;
use crate::core::use_cases::receive_callback::ReceiveError;
use crate::core::use_cases::refund_order::RefundError;
use http::StatusCode;

impl From<StorageError> for Problem {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Unavailable => Self::new(Code::StorageUnavailable),
            StorageError::ForeignExternalId
            | StorageError::ExternalIdTaken(_)
            | StorageError::Corrupt(_) => Self::internal(error.to_string()),
            StorageError::UnknownWord(_) | StorageError::UnknownProvider(_) => {
                Self::new(Code::StorageUnavailable)
                    .with_detail(NEWER_VERSION)
                    .with_cause(error.to_string())
            }
        }
    }
}

impl From<IdempotencyError> for Problem {
    fn from(error: IdempotencyError) -> Self {
        match error {
            IdempotencyError::InProgress => Self::new(Code::IdempotencyInProgress),
            IdempotencyError::KeyReused => Self::new(Code::IdempotencyKeyReused),
            IdempotencyError::Storage(error) => error.into(),
        }
    }
}

/// As when it was first given.
impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::OrderInvalid(Some(invalid)) => PlaceOrderError::Invalid(invalid).into(),
            Refusal::OrderInvalid(None) => Self::new(Code::OrderInvalid),
            Refusal::ProductsNotFound(products) => {
                PlaceOrderError::ProductsNotFound(products).into()
            }
            Refusal::CurrencyNotSupported(products) if products.is_empty() => {
                RefundError::OtherCurrency.into()
            }
            Refusal::CurrencyNotSupported(products) => {
                PlaceOrderError::CurrencyNotSupported(products).into()
            }
            Refusal::NotRefundable(status) => RefundError::NotRefundable(status).into(),
            Refusal::RefundExceeds => RefundError::Exceeds.into(),
            Refusal::RefundRejected => RefundError::Rejected.into(),
        }
    }
}

impl From<PlaceOrderError> for Problem {
    fn from(error: PlaceOrderError) -> Self {
        match error {
            PlaceOrderError::Invalid(invalid) => {
                Self::new(Code::OrderInvalid).with_detail(why_invalid(invalid))
            }
            PlaceOrderError::ProductsNotFound(products) => Self::new(Code::ProductNotFound)
                .with_status(StatusCode::UNPROCESSABLE_ENTITY)
                .about_product(products.first()),
            PlaceOrderError::CurrencyNotSupported(products) => {
                Self::new(Code::CurrencyNotSupported).about_product(products.first())
            }
            PlaceOrderError::CatalogUnavailable { product, error } => {
                Self::from(error).about_product(Some(&product))
            }
            PlaceOrderError::PriceChanged { expected, total } => Self::new(Code::PriceChanged)
                .with_member("expected_total", MoneyBody(expected))
                .with_member("total", MoneyBody(total)),
            PlaceOrderError::ExternalIdTaken(order) => {
                Self::new(Code::ExternalIdTaken).with_member("order_id", order.to_string())
            }
            PlaceOrderError::Replayed(refusal) => refusal.into(),
            PlaceOrderError::Idempotency(error) => error.into(),
            PlaceOrderError::Storage(error) => error.into(),
        }
    }
}

impl From<CatalogError> for Problem {
    fn from(error: CatalogError) -> Self {
        match error {
            CatalogError::NotFound => Self::new(Code::ProductNotFound),
            CatalogError::Unavailable(error) => error.into(),
        }
    }
}

impl From<CatalogUnavailableError> for Problem {
    fn from(CatalogUnavailableError(no_answer): CatalogUnavailableError) -> Self {
        unavailable(Code::CatalogUnavailable, no_answer.cause).retry_after(no_answer.retry_after)
    }
}

impl From<RecommendationsUnavailableError> for Problem {
    fn from(RecommendationsUnavailableError(no_answer): RecommendationsUnavailableError) -> Self {
        unavailable(Code::RecommendationsUnavailable, no_answer.cause)
    }
}

impl From<PaymentSystemUnavailableError> for Problem {
    fn from(error: PaymentSystemUnavailableError) -> Self {
        unavailable(Code::PaymentSystemUnavailable, error.cause.into())
            .retry_after(error.retry_after)
    }
}

impl From<ConfirmError> for Problem {
    fn from(error: ConfirmError) -> Self {
        match error {
            ConfirmError::NotFound => Self::new(Code::OrderNotFound),
            ConfirmError::NotConfirmable(status) => {
                Self::new(Code::OrderNotConfirmable).with_member("order_status", status.as_str())
            }
            ConfirmError::CancelInProgress => Self::new(Code::CancelInProgress),
            ConfirmError::Rejected => Self::new(Code::PaymentRejected),
            ConfirmError::Unavailable(error) => error.into(),
            ConfirmError::DeadlineExceeded => Self::new(Code::DeadlineExceeded),
            ConfirmError::Storage(error) => error.into(),
        }
    }
}

impl From<CancelError> for Problem {
    fn from(error: CancelError) -> Self {
        match error {
            CancelError::NotFound => Self::new(Code::OrderNotFound),
            CancelError::NotCancellable(status) => {
                Self::new(Code::OrderNotCancellable).with_member("order_status", status.as_str())
            }
            CancelError::Storage(error) => error.into(),
        }
    }
}

impl From<RefundError> for Problem {
    fn from(error: RefundError) -> Self {
        match error {
            RefundError::NotFound => Self::new(Code::OrderNotFound),
            RefundError::NotRefundable(status) => {
                Self::new(Code::OrderNotRefundable).with_member("order_status", status.as_str())
            }
            RefundError::Exceeds => Self::new(Code::RefundExceedsPayment),
            RefundError::OtherCurrency => {
                Self::new(Code::CurrencyNotSupported).with_detail(OTHER_CURRENCY)
            }
            RefundError::InProgress => Self::new(Code::RefundInProgress),
            RefundError::Rejected => Self::new(Code::RefundRejected),
            RefundError::Replayed(refusal) => refusal.into(),
            RefundError::Idempotency(error) => error.into(),
            RefundError::Storage(error) => error.into(),
        }
    }
}

impl From<ReceiveError> for Problem {
    fn from(error: ReceiveError) -> Self {
        match error {
            ReceiveError::UnknownProvider(_) => Self::new(Code::NotFound),
            ReceiveError::Skewed => Self::new(Code::SignatureInvalid),
            ReceiveError::TooMany { retry_after } => {
                Self::new(Code::RateLimited).retry_after(Some(retry_after))
            }
            ReceiveError::Callback(CallbackError::SignatureInvalid) => {
                Self::new(Code::SignatureInvalid)
            }
            ReceiveError::Callback(CallbackError::Malformed(_) | CallbackError::NotOurs(_)) => {
                Self::new(Code::InvalidRequest).with_detail(NOT_A_CALLBACK)
            }
            ReceiveError::Storage(error) => error.into(),
        }
    }
}

impl From<OperateError> for Problem {
    fn from(error: OperateError) -> Self {
        match error {
            OperateError::NotFound => Self::new(Code::TaskNotFound),
            OperateError::Refused(refused) => {
                Self::new(Code::OperationRefused).with_detail(why_refused(refused))
            }
            OperateError::Storage(error) => error.into(),
        }
    }
}

impl Problem {
    fn about_product(self, product: Option<&ProductId>) -> Self {
        let Some(product) = product else { return self };
        self.with_member("product_id", product.as_str())
    }
}

const OTHER_CURRENCY: Text = Text::new(
    "Money goes back in the currency in which it was paid.",
    "Деньги возвращаются в той валюте, в которой заказ оплачен.",
);

const NEWER_VERSION: Text = Text::new(
    "This order is at a payment system that only a newer version of the service knows.",
    "Этот заказ оформлен в платёжной системе, которую знает только более новая версия сервиса.",
);

const NOT_A_CALLBACK: Text =
    Text::new("This is not a callback of this provider.", "Это не уведомление этой системы.");

/// 503 while the partner cannot answer; 504 where the caller's own deadline ended the waiting.
fn unavailable(code: Code, cause: Cause) -> Problem {
    match cause {
        Cause::NotExecuted(NotExecuted::Shed(Shed::DeadlineTooShort))
        | Cause::Unknown(Unknown::DeadlinePassed) => Problem::new(Code::DeadlineExceeded),
        Cause::NotExecuted(_) | Cause::Unknown(_) => Problem::new(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_callers_own_deadline_is_a_504_and_everything_else_a_503() {
        let problem =
            |cause: Cause| Problem::from(CatalogUnavailableError(cause.into())).status.as_u16();
        assert_eq!(problem(Cause::Unknown(Unknown::DeadlinePassed)), 504);
        assert_eq!(problem(Cause::NotExecuted(NotExecuted::Shed(Shed::DeadlineTooShort))), 504);
        assert_eq!(problem(Cause::Unknown(Unknown::TimedOut)), 503);
        assert_eq!(problem(Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen))), 503);
    }

    #[test]
    fn what_only_a_newer_version_can_do_is_worth_another_try_and_a_line_in_the_log() {
        let problem = Problem::from(StorageError::UnknownProvider("not-yet".into()));
        assert_eq!((problem.code, problem.status.as_u16()), (Code::StorageUnavailable, 503));
        assert_eq!(problem.retry_after_secs(), Some(1));
        assert!(problem.cause().unwrap().contains("\"not-yet\""));
    }

    #[test]
    fn the_breakers_remaining_time_is_what_the_client_is_told() {
        let system = crate::core::domain::provider::Provider::Sber.into();
        let retry_after = Some(Duration::from_millis(12_300));
        let error =
            PaymentSystemUnavailableError { system, cause: Shed::BreakerOpen.into(), retry_after };
        assert_eq!(Problem::from(error).retry_after_secs(), Some(13));
    }
}
