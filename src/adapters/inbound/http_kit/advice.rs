//! What a client does about each problem: whether to ask again, what to show to the buyer, and what to mend.
//! The pages behind the problems' `type` and the tables of the shop's guide are made from it.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::lang::Text;

#[derive(Debug, Clone, Copy)]
pub struct Advice {
    pub retry: Text,
    pub show: Text,
    pub fix: Text,
}

const NO: Text = Text::new("no", "нет");
const LATER: Text = Text::new(
    "yes, the same request under the same key, after `Retry-After`",
    "да, тот же запрос с тем же ключом через `Retry-After`",
);
const AFTER_MENDING: Text = Text::new("after mending it", "после исправления");
const OURS: Text = Text::new("“Something went wrong on our side”", "«Что-то пошло не так у нас»");
const BUSY: Text = Text::new(
    "“One moment, please”, and try again by itself",
    "«Подождите немного», и повторить самим",
);
const NOTHING: Text = Text::new("nothing: no buyer meets it", "ничего: покупатель её не увидит");
const ALREADY: Text = Text::new("how the order stands", "состояние заказа");
const NOTHING_TO_FIX: Text = Text::new("nothing", "ничего");
const OPERATOR: Text = Text::new(
    "tell the service's operator the `trace_id`",
    "сообщить `trace_id` тем, кто ведёт сервис",
);
const READ_ORDER: Text = Text::new(
    "read the order and go by its status",
    "прочитать заказ и действовать по его состоянию",
);

const fn advice(retry: Text, show: Text, fix: Text) -> Advice {
    Advice { retry, show, fix }
}

impl Code {
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "a table, one row a code")]
    pub const fn advice(self) -> Advice {
        match self {
            Self::InvalidRequest => advice(
                AFTER_MENDING,
                OURS,
                Text::new(
                    "every member that `errors` points at",
                    "каждый элемент, на который указывает `errors`",
                ),
            ),
            Self::IdempotencyKeyRequired => advice(
                AFTER_MENDING,
                OURS,
                Text::new(
                    "send an `Idempotency-Key` of your own for each refund, kept before the first try",
                    "передавать свой `Idempotency-Key` для каждого возврата, сохранив его до первой попытки",
                ),
            ),
            Self::Unauthenticated => advice(
                Text::new("with a new token", "с новым токеном"),
                Text::new("the login, if it is the buyer's token", "вход, если токен покупателя"),
                Text::new(
                    "the token: its end, signature, issuer, audience",
                    "токен: срок, подпись, издателя, получателя",
                ),
            ),
            Self::SignatureInvalid => advice(
                NO,
                NOTHING,
                Text::new(
                    "the secret that signs callbacks; only payment systems call there",
                    "секрет подписи уведомлений; туда обращаются только платёжные системы",
                ),
            ),
            Self::Forbidden => advice(
                NO,
                OURS,
                Text::new(
                    "the token's scope, the `customer_id`, or the page that calls (`CORS_ALLOWED_ORIGINS`)",
                    "права токена, `customer_id` или страницу, которая вызывает (`CORS_ALLOWED_ORIGINS`)",
                ),
            ),
            Self::NotFound | Self::MethodNotAllowed => {
                advice(NO, OURS, Text::new("the address or the method", "адрес или метод"))
            }
            Self::OrderNotFound => advice(
                NO,
                Text::new("“No such order”", "«Такого заказа нет»"),
                Text::new(
                    "the id; another customer's order does not exist for a buyer's token",
                    "номер; чужого заказа для токена покупателя нет",
                ),
            ),
            Self::TaskNotFound => advice(
                NO,
                ALREADY,
                Text::new(
                    "the id; finished tasks are forgotten after `TASK_RETENTION`: read the order",
                    "номер; завершённые задачи забываются через `TASK_RETENTION`: прочитать заказ",
                ),
            ),
            Self::ProductNotFound => advice(
                Text::new("without these products", "без этих товаров"),
                Text::new("which products are gone", "каких товаров больше нет"),
                Text::new(
                    "the basket, where `errors` points",
                    "корзину, там, куда указывает `errors`",
                ),
            ),
            Self::IdempotencyInProgress => advice(LATER, BUSY, NOTHING_TO_FIX),
            Self::OrderNotConfirmable | Self::OrderNotCancellable | Self::OrderNotRefundable => {
                advice(NO, ALREADY, READ_ORDER)
            }
            Self::CancelInProgress => advice(
                NO,
                Text::new("“The order is being cancelled”", "«Заказ отменяется»"),
                Text::new(
                    "wait for the cancel's task; place a new order if the buyer wants it after all",
                    "дождаться задачи отмены; если покупатель передумал, оформить новый заказ",
                ),
            ),
            Self::PriceChanged => advice(
                Text::new(
                    "with the new `total` as `expected_total`",
                    "с новой `total` в `expected_total`",
                ),
                Text::new("the new price, and ask", "новую цену, и спросить"),
                NOTHING_TO_FIX,
            ),
            Self::ExternalIdTaken => advice(
                NO,
                ALREADY,
                Text::new(
                    "go on with the order that `order_id` names: it is the one that you asked for before",
                    "продолжать с заказом из `order_id`: это тот, который вы уже оформили",
                ),
            ),
            Self::WebhookEndpointNotFound => advice(
                NO,
                NOTHING,
                Text::new("the id, or whose token asks", "номер или чей токен в запросе"),
            ),
            Self::TooManyEndpoints => advice(
                NO,
                NOTHING,
                Text::new("delete an endpoint that nobody needs", "удалить ненужный адрес"),
            ),
            Self::RefundInProgress => advice(
                LATER,
                Text::new("“A refund is under way”", "«Возврат уже идёт»"),
                Text::new(
                    "wait for the other refund's task; one in review ends by an operator's word",
                    "дождаться задачи другого возврата; если она у оператора, он её завершит",
                ),
            ),
            Self::OperationRefused => advice(
                NO,
                NOTHING,
                Text::new(
                    "look at the task: it is the operator's route",
                    "посмотреть задачу: это адрес оператора",
                ),
            ),
            Self::RequestTimeout => advice(
                LATER,
                BUSY,
                Text::new(
                    "a slow network, or a body shorter than it says",
                    "медленную сеть или тело короче объявленного",
                ),
            ),
            Self::PayloadTooLarge => advice(
                AFTER_MENDING,
                OURS,
                Text::new(
                    "send less: an order has 100 items at most",
                    "передавать меньше: в заказе не больше 100 позиций",
                ),
            ),
            Self::UnsupportedMediaType => advice(
                AFTER_MENDING,
                OURS,
                Text::new(
                    "`Content-Type: application/json`, without compression",
                    "`Content-Type: application/json` без сжатия",
                ),
            ),
            Self::OrderInvalid => advice(
                AFTER_MENDING,
                Text::new("what `detail` says", "то, что сказано в `detail`"),
                Text::new("the basket", "корзину"),
            ),
            Self::CurrencyNotSupported => advice(
                NO,
                OURS,
                Text::new(
                    "the catalog's price, or the refund's currency: roubles only",
                    "цену в каталоге или валюту возврата: только рубли",
                ),
            ),
            Self::PaymentRejected => advice(
                Text::new("a new confirm may be tried", "можно подтвердить ещё раз"),
                Text::new("“The payment could not be started”", "«Не удалось начать оплату»"),
                OPERATOR,
            ),
            Self::RefundExceedsPayment => advice(
                Text::new(
                    "with a smaller `amount`, under a new key",
                    "с меньшей `amount` и новым ключом",
                ),
                NOTHING,
                Text::new(
                    "`GET /v1/orders/{id}/refunds` tells what went back",
                    "`GET /v1/orders/{id}/refunds` покажет, что возвращено",
                ),
            ),
            Self::RefundRejected => advice(
                NO,
                Text::new("“The refund takes longer”", "«Возврат займёт больше времени»"),
                OPERATOR,
            ),
            Self::IdempotencyKeyReused => advice(
                NO,
                OURS,
                Text::new(
                    "a key of its own for each request; the first request's outcome stands",
                    "свой ключ для каждого запроса; результат первого в силе",
                ),
            ),
            Self::RateLimited => advice(
                LATER,
                BUSY,
                Text::new(
                    "ask less often: `RateLimit` says what is left",
                    "спрашивать реже: `RateLimit` говорит, сколько осталось",
                ),
            ),
            Self::Internal => advice(
                Text::new("once, under the same key", "один раз, с тем же ключом"),
                OURS,
                OPERATOR,
            ),
            Self::Maintenance => advice(
                LATER,
                Text::new(
                    "“Payments pause for a moment”; what was paid stays",
                    "«Платежи ненадолго приостановлены»; уже оплаченное в силе",
                ),
                NOTHING_TO_FIX,
            ),
            Self::Overloaded | Self::StorageUnavailable => advice(LATER, BUSY, NOTHING_TO_FIX),
            Self::CatalogUnavailable => advice(
                LATER,
                Text::new(
                    "“Prices cannot be looked up just now”",
                    "«Сейчас не удаётся узнать цены»",
                ),
                NOTHING_TO_FIX,
            ),
            Self::RecommendationsUnavailable => advice(
                NO,
                Text::new("no recommendations", "ничего вместо рекомендаций"),
                NOTHING_TO_FIX,
            ),
            Self::PaymentSystemUnavailable => advice(
                LATER,
                Text::new(
                    "“Payment is not possible just now, please try again later”",
                    "«Оплата сейчас недоступна, попробуйте позже»",
                ),
                Text::new(
                    "nothing; nothing was sent, the order is as before",
                    "ничего: ничего не отправлено, заказ прежний",
                ),
            ),
            Self::DeadlineExceeded => advice(
                Text::new(
                    "yes, under the same key; first read the order",
                    "да, с тем же ключом; сначала прочитать заказ",
                ),
                BUSY,
                Text::new("a longer `Request-Timeout`", "больший `Request-Timeout`"),
            ),
        }
    }
}
