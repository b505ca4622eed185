//! Sber's internet acquiring in both generations, over one ledger: an order registered by one is
//! known to the other.

mod operations;
mod params;
mod register;
mod words;

use std::sync::Arc;

use axum::Form;
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::FormRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{any, get};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use self::params::{Generation, Params};
use self::words::Refused;
use super::bank::Bank;
use super::callbacks::{Form as CallbackForm, Message};
use super::door::Caller;
use super::fault::Then;
use super::order::{Event, Order, Protocol};
use super::reply::Reply;
use super::settings::SberCredentials;

/// Where the classic generation's methods are.
pub const CLASSIC_PATH: &str = "/payment/rest/";
/// Where the JSON generation's are.
pub const JSON_PATH: &str = "/ecomm/gw/partner/api/v1/";

#[derive(Debug)]
pub struct Sber {
    pub bank: Arc<Bank>,
    pub credentials: SberCredentials,
    /// Where the payment pages are.
    pub public_url: String,
}

#[derive(Debug, Clone, Copy)]
enum Operation {
    Register,
    RegisterPreAuth,
    Status,
    Deposit,
    Reverse,
    Refund,
    Decline,
}

const OPERATIONS: [(&str, Operation); 7] = [
    ("register.do", Operation::Register),
    ("registerPreAuth.do", Operation::RegisterPreAuth),
    ("getOrderStatusExtended.do", Operation::Status),
    ("deposit.do", Operation::Deposit),
    ("reverse.do", Operation::Reverse),
    ("refund.do", Operation::Refund),
    ("decline.do", Operation::Decline),
];

pub fn router(sber: Arc<Sber>) -> Router {
    Router::new()
        .route(&format!("{CLASSIC_PATH}{{method}}"), any(classic))
        .route(&format!("{JSON_PATH}{{method}}"), any(json_generation))
        .route("/health", get(health))
        .fallback(no_such_path)
        .with_state(sber)
}

async fn classic(
    State(sber): State<Arc<Sber>>,
    Path(path): Path<String>,
    method: Method,
    caller: Caller,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Response {
    let pairs = form.map(|Form(pairs)| pairs).unwrap_or_default();
    let allowed = method == Method::POST || method == Method::GET;
    sber.pass(caller, &path, allowed, Some(Params::classic(pairs))).await
}

async fn json_generation(
    State(sber): State<Arc<Sber>>,
    Path(path): Path<String>,
    method: Method,
    caller: Caller,
    body: Bytes,
) -> Response {
    sber.pass(caller, &path, method == Method::POST, Params::json(&body)).await
}

async fn health(State(sber): State<Arc<Sber>>, caller: Caller) -> Response {
    let healthy = |_: &Then| Reply::json(StatusCode::OK, json!({"status": "ok"}), "ok");
    sber.bank.door.pass(caller, "health", None, healthy).await
}

async fn no_such_path(State(sber): State<Arc<Sber>>, caller: Caller) -> Response {
    sber.bank.door.pass(caller, "unknown", None, |_| Reply::empty_page(StatusCode::NOT_FOUND)).await
}

impl Sber {
    async fn pass(
        self: Arc<Self>,
        caller: Caller,
        path: &str,
        method_allowed: bool,
        params: Option<Params>,
    ) -> Response {
        let door = Arc::clone(&self.bank.door);
        let Some((name, operation)) = OPERATIONS.iter().find(|(name, _)| *name == path) else {
            return door
                .pass(caller, "unknown", None, |_| Reply::empty_page(StatusCode::NOT_FOUND))
                .await;
        };
        let number = params.as_ref().and_then(|params| self.number_of(params));
        door.pass(caller, name, number.as_deref(), move |then| {
            if !method_allowed {
                return Reply::empty_page(StatusCode::METHOD_NOT_ALLOWED);
            }
            match params {
                Some(params) => self.answer(*operation, &params, then),
                None => words::refused(Generation::Json, Refused::bad("body"), "ru"),
            }
        })
        .await
    }

    /// Calls that name an order by the bank's id are booked under its number.
    fn number_of(&self, params: &Params) -> Option<String> {
        let by_id =
            || self.bank.view_by_id(params.text("orderId")?, |order| order.asked.number.clone());
        params.text("orderNumber").map(str::to_owned).or_else(by_id)
    }

    fn answer(&self, operation: Operation, params: &Params, then: &Then) -> Reply {
        if let Err(refused) = self.authenticate(params) {
            return words::refused(
                params.generation,
                refused,
                params.text("language").unwrap_or("ru"),
            );
        }
        let register = |two_stage| {
            register::register(&self.bank, &self.public_url, params, two_stage, &then.order)
        };
        match operation {
            Operation::Register => register(false),
            Operation::RegisterPreAuth => register(true),
            Operation::Status => operations::status(&self.bank, params),
            Operation::Deposit => operations::deposit(&self.bank, params),
            Operation::Reverse => operations::reverse(&self.bank, params),
            Operation::Refund => operations::refund(&self.bank, params),
            Operation::Decline => operations::decline(&self.bank, params),
        }
    }

    fn authenticate(&self, params: &Params) -> Result<(), Refused> {
        let pair = (params.text("userName"), params.text("password"));
        match (params.generation, params.text("token"), pair) {
            (Generation::Classic, Some(token), (None, None)) if token == self.credentials.token => {
                Ok(())
            }
            (Generation::Classic, Some(_), _) => Err(Refused::access_denied()),
            (_, _, (None, _)) => Err(Refused::missing("userName")),
            (_, _, (_, None)) => Err(Refused::missing("password")),
            (_, _, (Some(name), Some(password))) => {
                let known =
                    name == self.credentials.user_name && password == self.credentials.password;
                if known { Ok(()) } else { Err(Refused::access_denied()) }
            }
        }
    }
}

/// What Sber calls back about, and how.
pub fn voice(order: &Order, event: Event, _now_ms: i64) -> Option<Message> {
    let (operation, status) = match event {
        Event::Held => ("approved", 1),
        Event::Paid => ("deposited", 1),
        Event::AttemptFailed if order.asked.two_stage => ("approved", 0),
        Event::AttemptFailed => ("deposited", 0),
        Event::Expired => ("declinedByTimeout", 0),
        Event::Reversed => ("reversed", 1),
        Event::Refunded => ("refunded", 1),
        // No callback is documented for an order that the merchant himself called off.
        Event::Cancelled => return None,
    };
    Some(message(order, operation, status))
}

/// A callback of any content about that order.
pub fn message(order: &Order, operation: &str, status: i64) -> Message {
    let number = &order.asked.number;
    let form = match order.asked.protocol {
        Protocol::SberJson => CallbackForm::Json(json!({
            "mdOrder": order.id, "orderNumber": number, "operation": operation, "status": status,
            "additionalParams": Value::Object(Default::default()),
        })),
        Protocol::SberClassic | Protocol::Odnakassa => CallbackForm::Query(vec![
            ("mdOrder".into(), order.id.clone()),
            ("orderNumber".into(), number.clone()),
            ("operation".into(), operation.to_owned()),
            ("status".into(), status.to_string()),
        ]),
    };
    Message { number: number.clone(), kind: operation.to_owned(), form }
}
