//! Recommendations for ten customers; whoever else asks gets the 404 of a customer without any.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use serde_json::{Value, json};

use super::frontend::{Caller, Frontend};
use super::locked;
use super::reply::SimulatedReply;

#[derive(Debug)]
pub struct Recommendations {
    pub frontend: Arc<Frontend>,
    customers: Mutex<BTreeMap<String, Value>>,
}

impl Recommendations {
    pub fn new(frontend: Arc<Frontend>) -> Self {
        Self { frontend, customers: Mutex::new(seeded()) }
    }

    /// The whole reply, any JSON.
    pub fn put(&self, customer: &str, reply: Value) {
        locked(&self.customers).insert(customer.to_owned(), reply);
    }

    pub fn remove(&self, customer: &str) -> bool {
        locked(&self.customers).remove(customer).is_some()
    }

    pub fn list(&self) -> BTreeMap<String, Value> {
        locked(&self.customers).clone()
    }

    pub fn reset(&self) {
        *locked(&self.customers) = seeded();
    }
}

pub fn router(recommendations: Arc<Recommendations>) -> Router {
    Router::new()
        .route("/customers/{id}/recommendations", get(for_customer))
        .route("/health", get(health))
        .fallback(no_such_path)
        .with_state(recommendations)
}

async fn for_customer(
    State(system): State<Arc<Recommendations>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Response {
    let frontend = Arc::clone(&system.frontend);
    let number = id.clone();
    frontend
        .pass(caller, "recommendations", Some(&number), move |_| {
            match locked(&system.customers).get(&id) {
                Some(reply) => SimulatedReply::json(StatusCode::OK, reply.clone(), "ok"),
                None => SimulatedReply::json(
                    StatusCode::NOT_FOUND,
                    json!({"error": "no recommendations"}),
                    "not found",
                ),
            }
        })
        .await
}

async fn health(State(system): State<Arc<Recommendations>>, caller: Caller) -> Response {
    let healthy = SimulatedReply::json(StatusCode::OK, json!({"status": "ok"}), "ok");
    system.frontend.pass(caller, "health", None, |_| healthy).await
}

async fn no_such_path(State(system): State<Arc<Recommendations>>, caller: Caller) -> Response {
    system
        .frontend
        .pass(caller, "unknown", None, |_| SimulatedReply::empty_page(StatusCode::NOT_FOUND))
        .await
}

fn seeded() -> BTreeMap<String, Value> {
    const GOODS: [(&str, &str); 4] = [
        ("p-2", "Чай зелёный / Green tea"),
        ("p-8", "Мёд липовый / Linden honey"),
        ("p-10", "Пряник тульский / Gingerbread"),
        ("p-15", "Кружка / Mug"),
    ];
    let customer = |number: usize| {
        let goods = GOODS.iter().cycle().skip(number % GOODS.len()).take(3);
        let items: Vec<_> =
            goods.map(|(id, name)| json!({"product_id": id, "name": name})).collect();
        (format!("c-{number}"), json!({"items": items}))
    };
    (1..=10).map(customer).collect()
}
