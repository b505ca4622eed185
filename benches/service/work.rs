//! What a client of the load does over and over.

use crate::client::{Connection, get, send};
use anyhow::{Result, ensure};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub const ORDER: &str = r#"{"customer_id":"c-1","items":[{"product_id":"p-1","quantity":1}]}"#;

#[derive(Debug, Clone)]
pub enum Work {
    /// The same request again and again.
    Same {
        request: Arc<Vec<u8>>,
        expected: u16,
    },
    /// Products that nobody has asked for before.
    FreshProduct(Arc<AtomicUsize>),
    PlaceAndConfirm,
    /// Each of these orders once.
    Confirm {
        orders: Arc<Vec<String>>,
        next: Arc<AtomicUsize>,
        expected: u16,
    },
}

impl Work {
    pub fn get(path: &str) -> Self {
        Self::Same { request: Arc::new(get(path)), expected: 200 }
    }

    pub fn place() -> Self {
        Self::Same { request: Arc::new(send("POST", "/v1/orders", "", ORDER)), expected: 201 }
    }

    pub fn fresh_products() -> Self {
        Self::FreshProduct(Arc::default())
    }

    pub fn confirm(order: &str, expected: u16) -> Self {
        let request = confirm(order);
        Self::Same { request: Arc::new(request), expected }
    }

    pub fn confirm_each(orders: Vec<String>, expected: u16) -> Self {
        Self::Confirm { orders: Arc::new(orders), next: Arc::default(), expected }
    }

    /// Once. `false` when nothing is left to do.
    ///
    /// # Errors
    /// Anything but the answer that the work is about: a figure about errors is none.
    pub async fn once(&self, connection: &mut Connection) -> Result<bool> {
        match self {
            Self::Same { request, expected } => {
                let status = connection.ask(request).await?;
                ensure!(status == *expected, "{status}: {}", text(connection));
            }
            Self::FreshProduct(next) => {
                let id = next.fetch_add(1, Ordering::Relaxed);
                let status = connection.ask(&get(&format!("/v1/products/fresh-{id}"))).await?;
                ensure!(status == 200, "{status}: {}", text(connection));
            }
            Self::PlaceAndConfirm => {
                let order = place(connection).await?;
                let status = connection.ask(&confirm(&order)).await?;
                ensure!(status == 200, "{status}: {}", text(connection));
            }
            Self::Confirm { orders, next, expected } => {
                let Some(order) = orders.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    return Ok(false);
                };
                let status = connection.ask(&confirm(order)).await?;
                ensure!(status == *expected, "{status}: {}", text(connection));
            }
        }
        Ok(true)
    }
}

/// Places an order; its id.
pub async fn place(connection: &mut Connection) -> Result<String> {
    let status = connection.ask(&send("POST", "/v1/orders", "", ORDER)).await?;
    ensure!(status == 201, "{status}: {}", text(connection));
    connection.member("id")
}

fn confirm(order: &str) -> Vec<u8> {
    send("POST", &format!("/v1/orders/{order}/confirm"), "", "")
}

fn text(connection: &Connection) -> String {
    String::from_utf8_lossy(connection.body()).into_owned()
}
