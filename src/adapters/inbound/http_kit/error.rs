//! The only mapping of the core's errors to HTTP. A status is chosen by what the client does next;
//! nothing that an inner error says of itself is shown.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::core::domain::order::OrderInvalid;
use crate::core::domain::unavailable::PaymentSystemUnavailableError;
use crate::core::domain::unavailable::{Cause, NotExecuted, Shed, Unknown};
use crate::core::payment::operator::OperatorRefused;
use crate::core::payment::task::TaskError;
use crate::core::ports::catalog::{CatalogError, CatalogUnavailableError};
use crate::core::ports::payment::CallbackError;
use crate::core::ports::storage_error::StorageError;
use crate::core::use_cases::cancel_order::CancelError;
use crate::core::use_cases::confirm_order::ConfirmError;
use crate::core::use_cases::operate_tasks::OperateError;
use crate::core::use_cases::place_order::PlaceOrderError;
use crate::core::use_cases::receive_callback::ReceiveError;
use crate::core::use_cases::recommend::RecommendError;
use crate::core::use_cases::refund_order::RefundError;
use http::StatusCode;

impl From<StorageError> for Problem {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Unavailable => Self::new(Code::StorageUnavailable),
            StorageError::Corrupt(_) => Self::internal(error.to_string()),
        }
    }
}

impl From<PlaceOrderError> for Problem {
    fn from(error: PlaceOrderError) -> Self {
        match error {
            PlaceOrderError::Invalid(invalid) => {
                Self::new(Code::OrderInvalid).with_detail(why_invalid(invalid))
            }
            PlaceOrderError::ProductNotFound(product) => Self::new(Code::ProductNotFound)
                .with_status(StatusCode::UNPROCESSABLE_ENTITY)
                .with_member("product_id", product.as_str()),
            PlaceOrderError::CatalogUnavailable(fault) => fault.into(),
            PlaceOrderError::Storage(fault) => fault.into(),
        }
    }
}

impl From<CatalogError> for Problem {
    fn from(error: CatalogError) -> Self {
        match error {
            CatalogError::NotFound => Self::new(Code::ProductNotFound),
            CatalogError::Unavailable(fault) => fault.into(),
        }
    }
}

impl From<CatalogUnavailableError> for Problem {
    fn from(fault: CatalogUnavailableError) -> Self {
        unavailable(Code::CatalogUnavailable, fault.cause).retry_after(fault.retry_after)
    }
}

impl From<RecommendError> for Problem {
    fn from(fault: RecommendError) -> Self {
        unavailable(Code::RecommendationsUnavailable, fault.cause)
    }
}

impl From<PaymentSystemUnavailableError> for Problem {
    fn from(fault: PaymentSystemUnavailableError) -> Self {
        unavailable(Code::PaymentSystemUnavailable, fault.cause.into())
            .retry_after(fault.retry_after)
    }
}

impl From<ConfirmError> for Problem {
    fn from(error: ConfirmError) -> Self {
        match error {
            ConfirmError::NotFound => Self::new(Code::OrderNotFound),
            ConfirmError::NotConfirmable(status) => {
                Self::new(Code::OrderNotConfirmable).with_member("order_status", status.as_str())
            }
            ConfirmError::Rejected => Self::new(Code::PaymentRejected),
            ConfirmError::Unavailable(fault) => fault.into(),
            ConfirmError::DeadlineExceeded => Self::new(Code::DeadlineExceeded),
            ConfirmError::Storage(fault) => fault.into(),
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
            CancelError::Storage(fault) => fault.into(),
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
            RefundError::InProgress => Self::new(Code::RefundInProgress),
            RefundError::Rejected => Self::new(Code::RefundRejected),
            RefundError::Storage(fault) => fault.into(),
        }
    }
}

impl From<ReceiveError> for Problem {
    fn from(error: ReceiveError) -> Self {
        match error {
            ReceiveError::UnknownProvider(_) => Self::new(Code::NotFound),
            ReceiveError::Callback(CallbackError::SignatureInvalid) => {
                Self::new(Code::SignatureInvalid)
            }
            ReceiveError::Callback(CallbackError::Malformed(_)) => {
                Self::new(Code::InvalidRequest).with_detail(NOT_A_CALLBACK)
            }
            ReceiveError::Storage(fault) => fault.into(),
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
            OperateError::Storage(fault) => fault.into(),
        }
    }
}

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

const fn why_invalid(invalid: OrderInvalid) -> Text {
    match invalid {
        OrderInvalid::ItemCount => {
            Text::new("An order has 1 to 100 items.", "В заказе от 1 до 100 позиций.")
        }
        OrderInvalid::Quantity => {
            Text::new("A quantity is 1 to 10000.", "Количество от 1 до 10000.")
        }
        OrderInvalid::ProductTwice => Text::new(
            "A product may stand in an order once.",
            "Товар может стоять в заказе только один раз.",
        ),
        OrderInvalid::Currency => Text::new(
            "All prices of an order must be in one currency.",
            "Все цены заказа должны быть в одной валюте.",
        ),
        OrderInvalid::Total => Text::new(
            "The total must be 1 to 999999999999 minor units.",
            "Сумма должна быть от 1 до 999999999999 копеек.",
        ),
    }
}

const fn why_refused(refused: OperatorRefused) -> Text {
    match refused {
        OperatorRefused::Over => Text::new("The task is over.", "Задача завершена."),
        OperatorRefused::Running => Text::new(
            "The task is being worked on at this moment.",
            "Задача выполняется в эту минуту.",
        ),
        OperatorRefused::Unknown => Text::new(
            "Its outcome is unknown: resolve it first.",
            "Её исход неизвестен: сначала укажите, чем она закончилась.",
        ),
        OperatorRefused::NothingUnknown => Text::new(
            "No outcome of this order is unknown.",
            "У этого заказа нет неизвестных исходов.",
        ),
        OperatorRefused::AnotherNumber => Text::new(
            "The order has moved on: what is unknown by now has another number.",
            "Заказ изменился: теперь неизвестен исход под другим номером.",
        ),
    }
}

/// How a task ended badly, for people; its code is the core's own word.
pub const fn why_failed(error: TaskError) -> Text {
    match error {
        TaskError::PaymentRejected => Code::PaymentRejected.detail(),
        TaskError::PaymentSystemUnavailable => Code::PaymentSystemUnavailable.detail(),
        TaskError::OrderNotCancellable => Code::OrderNotCancellable.detail(),
        TaskError::DeadlineExceeded => Code::DeadlineExceeded.detail(),
        TaskError::QueueFull => Code::Overloaded.detail(),
        TaskError::Expired => Text::new(
            "It could not be done within the time that a task is given.",
            "Не удалось выполнить за отведённое задаче время.",
        ),
        TaskError::RefundRejected => Code::RefundRejected.detail(),
        TaskError::Mismatch => Text::new(
            "The payment system's record differs from ours; a person will look at it.",
            "Данные платёжной системы расходятся с нашими; их проверит сотрудник.",
        ),
        TaskError::OutcomeUnknown => Text::new(
            "The outcome could not be found out; a person will look at it.",
            "Итог выяснить не удалось; его проверит сотрудник.",
        ),
        TaskError::LeaseLost => Text::new(
            "The work broke off again and again; a person will look at it.",
            "Работа раз за разом обрывалась; её проверит сотрудник.",
        ),
        TaskError::CancelledByOperator => {
            Text::new("An operator cancelled it.", "Отменено оператором.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_callers_own_deadline_is_a_504_and_everything_else_a_503() {
        let problem = |cause| {
            Problem::from(CatalogUnavailableError { cause, retry_after: None }).status.as_u16()
        };
        assert_eq!(problem(Cause::Unknown(Unknown::DeadlinePassed)), 504);
        assert_eq!(problem(Cause::NotExecuted(NotExecuted::Shed(Shed::DeadlineTooShort))), 504);
        assert_eq!(problem(Cause::Unknown(Unknown::TimedOut)), 503);
        assert_eq!(problem(Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen))), 503);
    }

    #[test]
    fn the_breakers_remaining_time_is_what_the_client_is_told() {
        let system = crate::core::domain::unavailable::System::Sber;
        let retry_after = Some(Duration::from_millis(12_300));
        let fault =
            PaymentSystemUnavailableError { system, cause: Shed::BreakerOpen.into(), retry_after };
        assert_eq!(Problem::from(fault).retry_after_secs(), Some(13));
    }
}
