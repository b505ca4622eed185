//! The catalog: twenty products that can be changed into anything, also into nonsense.

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

/// Name and price in kopecks of p-1, p-2, …; the last is free of charge.
const PRODUCTS: [(&str, i64); 20] = [
    ("Чай чёрный / Black tea", 19_900),
    ("Чай зелёный / Green tea", 24_900),
    ("Кофе в зёрнах / Coffee beans", 89_900),
    ("Самовар / Samovar", 1_249_900),
    ("Матрёшка / Nesting doll", 159_000),
    ("Валенки / Felt boots", 349_000),
    ("Шапка-ушанка / Fur hat", 279_900),
    ("Мёд липовый / Linden honey", 54_900),
    ("Варенье клубничное / Strawberry jam", 32_500),
    ("Пряник тульский / Gingerbread", 18_000),
    ("Халва / Halva", 14_950),
    ("Балалайка / Balalaika", 890_000),
    ("Платок павловопосадский / Shawl", 420_000),
    ("Книга рецептов / Cookbook", 99_000),
    ("Кружка / Mug", 45_000),
    ("Ложка деревянная / Wooden spoon", 12_000),
    ("Блокнот / Notebook", 25_000),
    ("Карандаш / Pencil", 1),
    ("Подарочный набор / Gift set", 599_999),
    ("Каталог / Brochure", 0),
];

#[derive(Debug)]
pub struct Catalog {
    pub frontend: Arc<Frontend>,
    products: Mutex<BTreeMap<String, Value>>,
}

impl Catalog {
    pub fn new(frontend: Arc<Frontend>) -> Self {
        Self { frontend, products: Mutex::new(seeded()) }
    }

    /// Any JSON: a catalog may also answer without a price.
    pub fn put(&self, id: &str, product: Value) {
        locked(&self.products).insert(id.to_owned(), product);
    }

    pub fn remove(&self, id: &str) -> bool {
        locked(&self.products).remove(id).is_some()
    }

    pub fn list(&self) -> Vec<Value> {
        locked(&self.products).values().cloned().collect()
    }

    pub fn reset(&self) {
        *locked(&self.products) = seeded();
    }
}

pub fn router(catalog: Arc<Catalog>) -> Router {
    Router::new()
        .route("/products/{id}", get(product))
        .route("/health", get(health))
        .fallback(no_such_path)
        .with_state(catalog)
}

async fn product(
    State(catalog): State<Arc<Catalog>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Response {
    let frontend = Arc::clone(&catalog.frontend);
    let number = id.clone();
    frontend
        .pass(caller, "product", Some(&number), move |_| match locked(&catalog.products).get(&id) {
            Some(product) => SimulatedReply::json(StatusCode::OK, product.clone(), "ok"),
            None => SimulatedReply::json(
                StatusCode::NOT_FOUND,
                json!({"error": "no such product"}),
                "not found",
            ),
        })
        .await
}

async fn health(State(catalog): State<Arc<Catalog>>, caller: Caller) -> Response {
    let healthy = SimulatedReply::json(StatusCode::OK, json!({"status": "ok"}), "ok");
    catalog.frontend.pass(caller, "health", None, |_| healthy).await
}

async fn no_such_path(State(catalog): State<Arc<Catalog>>, caller: Caller) -> Response {
    catalog
        .frontend
        .pass(caller, "unknown", None, |_| SimulatedReply::empty_page(StatusCode::NOT_FOUND))
        .await
}

fn seeded() -> BTreeMap<String, Value> {
    let product = |(number, (name, price)): (usize, &(&str, i64))| {
        let id = format!("p-{number}");
        let product = json!({
            "id": id, "name": name, "price": {"amount": price, "currency": "RUB"},
            // Not promised to anybody: readers must ignore it.
            "unit": "piece",
        });
        (id, product)
    };
    (1..).zip(&PRODUCTS).map(product).collect()
}
