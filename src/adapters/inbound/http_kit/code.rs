//! The codes of the API's problems: one table of words for programs, for people in two languages,
//! for the status line, and for the OpenAPI document.

use crate::adapters::inbound::http_kit::lang::Text;
use http::StatusCode;
use std::time::Duration;

struct Row {
    word: &'static str,
    status: StatusCode,
    title: &'static str,
    detail: Text,
}

macro_rules! codes {
    ($($name:ident $word:literal $status:ident $title:literal $en:literal $ru:literal;)*) => {
        /// What is wrong. A word once given out keeps its meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($name),* }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            const fn row(self) -> Row {
                match self {
                    $(Self::$name => Row {
                        word: $word,
                        status: StatusCode::$status,
                        title: $title,
                        detail: Text::new($en, $ru),
                    }),*
                }
            }
        }
    };
}

codes! {
    InvalidRequest "invalid_request" BAD_REQUEST "Invalid request"
        "The request breaks the rules listed under errors."
        "Запрос нарушает правила, перечисленные в errors.";
    IdempotencyKeyRequired "idempotency_key_required" BAD_REQUEST "Idempotency key required"
        "This request needs an Idempotency-Key: without it a repeat would give money back twice."
        "Для этого запроса нужен Idempotency-Key: иначе повтор вернул бы деньги дважды.";
    Unauthenticated "unauthenticated" UNAUTHORIZED "Unauthenticated"
        "A valid bearer token is required."
        "Требуется действительный токен доступа.";
    SignatureInvalid "signature_invalid" UNAUTHORIZED "Signature invalid"
        "The signature is missing or does not match."
        "Подпись отсутствует или не совпадает.";
    Forbidden "forbidden" FORBIDDEN "Forbidden"
        "The token does not allow this."
        "Токен не даёт права на это действие.";
    NotFound "not_found" NOT_FOUND "Not found"
        "There is nothing at this address."
        "По этому адресу ничего нет.";
    OrderNotFound "order_not_found" NOT_FOUND "Order not found"
        "There is no such order."
        "Такого заказа нет.";
    TaskNotFound "task_not_found" NOT_FOUND "Task not found"
        "There is no such task."
        "Такой задачи нет.";
    ProductNotFound "product_not_found" NOT_FOUND "Product not found"
        "There is no such product."
        "Такого товара нет.";
    WebhookEndpointNotFound "webhook_endpoint_not_found" NOT_FOUND "Webhook endpoint not found"
        "There is no such webhook endpoint."
        "Такого адреса для вебхуков нет.";
    MethodNotAllowed "method_not_allowed" METHOD_NOT_ALLOWED "Method not allowed"
        "This address does not take this method; Allow lists those that it takes."
        "Этот адрес не принимает такой метод; допустимые перечислены в Allow.";
    IdempotencyInProgress "idempotency_in_progress" CONFLICT "Idempotency key in progress"
        "A request with this Idempotency-Key is still being served."
        "Запрос с этим Idempotency-Key ещё выполняется.";
    OrderNotConfirmable "order_not_confirmable" CONFLICT "Order not confirmable"
        "An order in this status cannot be confirmed."
        "Заказ в этом состоянии нельзя подтвердить.";
    CancelInProgress "cancel_in_progress" CONFLICT "Cancel in progress"
        "A cancel of this order was accepted: it cannot be paid any more."
        "Отмена этого заказа уже принята: оплатить его больше нельзя.";
    PriceChanged "price_changed" CONFLICT "Price changed"
        "The total is not the expected one: show it to the customer, and ask again."
        "Сумма не совпадает с ожидаемой: покажите её покупателю и повторите запрос.";
    ExternalIdTaken "external_id_taken" CONFLICT "External id taken"
        "There is an order with this external_id already: order_id says which."
        "Заказ с таким external_id уже есть: его номер указан в order_id.";
    TooManyEndpoints "too_many_endpoints" CONFLICT "Too many webhook endpoints"
        "There may be 20 webhook endpoints: delete one first."
        "Допустимо не более 20 адресов для вебхуков: сначала удалите один.";
    OrderNotCancellable "order_not_cancellable" CONFLICT "Order not cancellable"
        "An order in this status cannot be cancelled."
        "Заказ в этом состоянии нельзя отменить.";
    OrderNotRefundable "order_not_refundable" CONFLICT "Order not refundable"
        "An order in this status cannot be refunded."
        "По заказу в этом состоянии нельзя вернуть деньги.";
    RefundInProgress "refund_in_progress" CONFLICT "Refund in progress"
        "Another refund of this order is under way."
        "По этому заказу уже идёт другой возврат.";
    OperationRefused "operation_refused" CONFLICT "Operation refused"
        "The task is not in a state for this."
        "Задача не в том состоянии, чтобы это сделать.";
    RequestTimeout "request_timeout" REQUEST_TIMEOUT "Request timeout"
        "The request's body did not come in time."
        "Тело запроса не пришло вовремя.";
    PayloadTooLarge "payload_too_large" PAYLOAD_TOO_LARGE "Payload too large"
        "The request's body is larger than allowed."
        "Тело запроса больше допустимого.";
    UnsupportedMediaType "unsupported_media_type" UNSUPPORTED_MEDIA_TYPE "Unsupported media type"
        "The body must be application/json."
        "Тело запроса должно быть application/json.";
    OrderInvalid "order_invalid" UNPROCESSABLE_ENTITY "Order invalid"
        "The order makes no sense."
        "Заказ не имеет смысла.";
    CurrencyNotSupported "currency_not_supported" UNPROCESSABLE_ENTITY "Currency not supported"
        "Orders can be paid in roubles only."
        "Заказы можно оплачивать только в рублях.";
    PaymentRejected "payment_rejected" UNPROCESSABLE_ENTITY "Payment rejected"
        "The payment system refused the order."
        "Платёжная система отклонила заказ.";
    RefundExceedsPayment "refund_exceeds_payment" UNPROCESSABLE_ENTITY "Refund exceeds payment"
        "The amount is more than what is left of the payment."
        "Сумма больше остатка платежа.";
    RefundRejected "refund_rejected" UNPROCESSABLE_ENTITY "Refund rejected"
        "The payment system refused the refund."
        "Платёжная система отклонила возврат.";
    IdempotencyKeyReused "idempotency_key_reused" UNPROCESSABLE_ENTITY "Idempotency key reused"
        "This Idempotency-Key was used with another request."
        "Этот Idempotency-Key уже использован с другим запросом.";
    RateLimited "rate_limited" TOO_MANY_REQUESTS "Rate limited"
        "Too many requests; come back later."
        "Слишком много запросов, повторите позже.";
    Internal "internal" INTERNAL_SERVER_ERROR "Internal error"
        "Something went wrong on our side."
        "Что-то пошло не так на нашей стороне.";
    Overloaded "overloaded" SERVICE_UNAVAILABLE "Overloaded"
        "The service takes no more requests at the moment; come back later."
        "Сервис сейчас не принимает новые запросы, повторите позже.";
    Maintenance "maintenance" SERVICE_UNAVAILABLE "Maintenance"
        "Operators have said that nothing is placed and no money moves for now; come back later."
        "По решению операторов заказы сейчас не создаются и деньги не движутся; повторите позже.";
    StorageUnavailable "storage_unavailable" SERVICE_UNAVAILABLE "Storage unavailable"
        "Orders cannot be read or written at the moment; come back later."
        "Заказы сейчас нельзя прочитать или записать, повторите позже.";
    CatalogUnavailable "catalog_unavailable" SERVICE_UNAVAILABLE "Catalog unavailable"
        "The product catalog is temporarily unavailable; come back later."
        "Каталог товаров временно недоступен, повторите позже.";
    RecommendationsUnavailable "recommendations_unavailable" SERVICE_UNAVAILABLE
        "Recommendations unavailable"
        "Recommendations are temporarily unavailable; come back later."
        "Рекомендации временно недоступны, повторите позже.";
    PaymentSystemUnavailable "payment_system_unavailable" SERVICE_UNAVAILABLE
        "Payment system unavailable"
        "The payment system is temporarily unavailable; come back later."
        "Платёжная система временно недоступна, повторите позже";
    DeadlineExceeded "deadline_exceeded" GATEWAY_TIMEOUT "Deadline exceeded"
        "No answer was ready within the time limit."
        "Ответ не был готов за отведённое время.";
}

impl Code {
    pub const fn as_str(self) -> &'static str {
        self.row().word
    }

    /// Where the code alone decides; some codes have another status at some routes.
    pub const fn status(self) -> StatusCode {
        self.row().status
    }

    pub const fn title(self) -> &'static str {
        self.row().title
    }

    pub const fn detail(self) -> Text {
        self.row().detail
    }

    pub fn type_uri(self) -> String {
        format!("/problems/{}", self.as_str().replace('_', "-"))
    }

    /// What is advised when nobody knows better; `None` where coming back does not help.
    pub const fn retry_after(self) -> Option<Duration> {
        match self {
            Self::IdempotencyInProgress
            | Self::RefundInProgress
            | Self::RateLimited
            | Self::Overloaded
            | Self::StorageUnavailable => Some(Duration::from_secs(1)),
            Self::CatalogUnavailable
            | Self::RecommendationsUnavailable
            | Self::PaymentSystemUnavailable => Some(Duration::from_secs(5)),
            Self::Maintenance => Some(Duration::from_secs(30)),
            Self::InvalidRequest
            | Self::IdempotencyKeyRequired
            | Self::Unauthenticated
            | Self::SignatureInvalid
            | Self::Forbidden
            | Self::NotFound
            | Self::OrderNotFound
            | Self::TaskNotFound
            | Self::ProductNotFound
            | Self::WebhookEndpointNotFound
            | Self::MethodNotAllowed
            | Self::OrderNotConfirmable
            | Self::CancelInProgress
            | Self::PriceChanged
            | Self::ExternalIdTaken
            | Self::TooManyEndpoints
            | Self::OrderNotCancellable
            | Self::OrderNotRefundable
            | Self::OperationRefused
            | Self::RequestTimeout
            | Self::PayloadTooLarge
            | Self::UnsupportedMediaType
            | Self::OrderInvalid
            | Self::CurrencyNotSupported
            | Self::PaymentRejected
            | Self::RefundExceedsPayment
            | Self::RefundRejected
            | Self::IdempotencyKeyReused
            | Self::Internal
            | Self::DeadlineExceeded => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_a_word_of_its_own() {
        let mut words: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), Code::ALL.len());
        assert_eq!(Code::PayloadTooLarge.type_uri(), "/problems/payload-too-large");
    }
}
