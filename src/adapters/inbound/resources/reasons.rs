//! Why something was refused or has failed, in people's words, where a code alone says too little.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::lang::{Lang, Text};
use crate::core::domain::money::Money;
use crate::core::domain::order::OrderInvalid;
use crate::core::payment::dispute::Dispute;
use crate::core::payment::operator::OperatorRefused;
use crate::core::payment::task::TaskError;

pub(super) const fn why_invalid(invalid: OrderInvalid) -> Text {
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

pub(super) const fn why_refused(refused: OperatorRefused) -> Text {
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
pub(super) const fn why_failed(error: TaskError) -> Text {
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

/// The sums that two records differ in. No numbers: they may be another customer's.
pub(super) fn both_sums(dispute: &Dispute, lang: Lang) -> Option<String> {
    let (theirs, ours) = (dispute.theirs.sum, dispute.ours.sum);
    let unknown = Text::new("unknown", "неизвестно").in_lang(lang);
    let told = |sum: Option<Money>| sum.map_or(unknown.to_owned(), |sum| format!("{sum:?}"));
    let (there, here) = (told(theirs), told(ours));
    (theirs != ours).then(|| match lang {
        Lang::En => format!("In minor units, {there} there and {here} here."),
        Lang::Ru => format!("В минимальных единицах валюты: {there} у неё, {here} у нас."),
    })
}
