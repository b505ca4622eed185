//! Sber's internet acquiring in both generations, over one ledger: an order registered by one is
//! known to the other.

mod callback;
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
use serde_json::json;

use self::params::{Generation, Params};
use self::words::Refused;
use super::bank::Bank;
use super::callbacks::{Message, encoded};
use super::fault::{Answer, Then};
use super::frontend::Caller;
use super::modes::Mode;
use super::order::{Order, Protocol};
use super::partners::{Credential, Credentials, Operations, PaymentPartner, PaymentSystem};
use super::reply::SimulatedReply;

pub const SYSTEM: PaymentSystem = PaymentSystem {
    path: CLASSIC_PATH,
    id_prefix: None,
    credentials: &[
        Credential { name: USERNAME, default: "sandbox-api", variable: Some("SBER_USERNAME") },
        Credential { name: PASSWORD, default: "sandbox", variable: Some("SBER_PASSWORD") },
        Credential { name: TOKEN, default: "sandbox-token", variable: None },
        Credential {
            name: CALLBACK_SECRET,
            default: "sandbox-callback-secret",
            variable: Some("SBER_CALLBACK_SECRET"),
        },
    ],
    signs_with: CALLBACK_SECRET,
    operations: Operations {
        register: "register.do",
        query: "getOrderStatusExtended.do",
        cancel: "decline.do",
        refund: "refund.do",
    },
    voice: callback::voice,
    refusal,
    open: |bank, credentials, public_url| Arc::new(Sber { bank, credentials, public_url }),
};

/// Where the JSON generation's methods are.
pub const JSON_PATH: &str = "/ecomm/gw/partner/api/v1/";
const CLASSIC_PATH: &str = "/payment/rest/";

const USERNAME: &str = "username";
const PASSWORD: &str = "password";
/// Replaces the pair in the classic generation.
const TOKEN: &str = "token";
/// Signs classic callbacks.
const CALLBACK_SECRET: &str = "callback-secret";

const CLASSIC: Protocol = Protocol("sber_classic");
const JSON: Protocol = Protocol("sber_json");

#[derive(Debug)]
struct Sber {
    bank: Arc<Bank>,
    credentials: Credentials,
    /// Where the payment pages are.
    public_url: String,
}

impl PaymentPartner for Sber {
    fn bank(&self) -> &Arc<Bank> {
        &self.bank
    }

    fn router(self: Arc<Self>) -> Router {
        Router::new()
            .route(&format!("{CLASSIC_PATH}{{method}}"), any(classic))
            .route(&format!("{JSON_PATH}{{method}}"), any(json_generation))
            .route("/health", get(health))
            .fallback(no_such_path)
            .with_state(self)
    }

    fn title(&self) -> &'static str {
        "Сбер"
    }

    fn protocol(&self) -> Protocol {
        CLASSIC
    }

    fn message(&self, order: &Order, kind: &str, failed: bool, _now_ms: i64) -> Message {
        callback::message(order, kind, failed)
    }

    fn knows_attempts(&self) -> bool {
        true
    }

    /// The classic generation appends its order id; the other promises nothing.
    fn way_back(&self, order: &Order, url: &str) -> String {
        if order.asked.protocol != CLASSIC {
            return url.to_owned();
        }
        let separator = if url.contains('?') { '&' } else { '?' };
        format!("{url}{separator}orderId={}", encoded(&order.id))
    }
}

fn refusal(mode: &Mode, operation: &'static str) -> Option<Answer> {
    let registers = matches!(operation, "register.do" | "registerPreAuth.do");
    registers.then_some(Answer::ErrorCode(mode.code))
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
    let healthy = |_: &Then| SimulatedReply::json(StatusCode::OK, json!({"status": "ok"}), "ok");
    sber.bank.frontend.pass(caller, "health", None, healthy).await
}

async fn no_such_path(State(sber): State<Arc<Sber>>, caller: Caller) -> Response {
    sber.bank
        .frontend
        .pass(caller, "unknown", None, |_| SimulatedReply::empty_page(StatusCode::NOT_FOUND))
        .await
}

impl Sber {
    async fn pass(
        self: Arc<Self>,
        caller: Caller,
        path: &str,
        method_allowed: bool,
        params: Option<Params>,
    ) -> Response {
        let frontend = Arc::clone(&self.bank.frontend);
        let Some((name, operation)) = OPERATIONS.iter().find(|(name, _)| *name == path) else {
            return frontend
                .pass(caller, "unknown", None, |_| {
                    SimulatedReply::empty_page(StatusCode::NOT_FOUND)
                })
                .await;
        };
        let number = params.as_ref().and_then(|params| self.number_of(params));
        frontend
            .pass(caller, name, number.as_deref(), move |then| {
                if !method_allowed {
                    return SimulatedReply::empty_page(StatusCode::METHOD_NOT_ALLOWED);
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

    fn answer(&self, operation: Operation, params: &Params, then: &Then) -> SimulatedReply {
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
            (Generation::Classic, Some(token), (None, None))
                if token == self.credentials.get(TOKEN) =>
            {
                Ok(())
            }
            (Generation::Classic, Some(_), _) => Err(Refused::access_denied()),
            (_, _, (None, _)) => Err(Refused::missing("userName")),
            (_, _, (_, None)) => Err(Refused::missing("password")),
            (_, _, (Some(name), Some(password))) => {
                let own = |credential| self.credentials.get(credential);
                let known = name == own(USERNAME) && password == own(PASSWORD);
                if known { Ok(()) } else { Err(Refused::access_denied()) }
            }
        }
    }
}
