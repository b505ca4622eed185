//! All partners in one: constant answers, made with as little work as can be, so that what is measured is the
//! side that asks.

use crate::client::{content_length, head_of};
use anyhow::Result;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Of every product, in kopecks.
const PRICE: u32 = 19_900;

static REGISTERED: AtomicU64 = AtomicU64::new(0);

pub async fn serve(address: &str) -> Result<()> {
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            // A client that hangs up ends its connection.
            let _ = answer_all(stream).await;
        });
    }
}

async fn answer_all(mut stream: TcpStream) -> Result<()> {
    let mut received = Vec::with_capacity(4096);
    loop {
        let request = loop {
            if let Some(head) = head_of(&received) {
                let end = head.len() + content_length(head)?;
                if received.len() >= end {
                    break String::from_utf8(received.drain(..end).collect())?;
                }
            }
            if stream.read_buf(&mut received).await? == 0 {
                return Ok(());
            }
        };
        let (status, body) = answer(&request);
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(answer.as_bytes()).await?;
    }
}

fn answer(request: &str) -> (u16, String) {
    let path = request.split(' ').nth(1).unwrap_or_default();
    let last = path.rsplit('/').next().unwrap_or_default();
    match last {
        "register.do" => {
            let number = REGISTERED.fetch_add(1, Ordering::Relaxed);
            let id = format!("00000000-0000-0000-0000-{number:012}");
            let form = format!("https://bank.example/pay/{id}");
            (200, format!(r#"{{"orderId":"{id}","formUrl":"{form}"}}"#))
        }
        "getOrderStatusExtended.do" => {
            let number = request.split("orderNumber=").nth(1).unwrap_or_default();
            let number = number.split('&').next().unwrap_or_default();
            (
                200,
                format!(
                    r#"{{"errorCode":"0","orderNumber":"{number}","orderStatus":0,"amount":{PRICE},"currency":"643"}}"#
                ),
            )
        }
        "recommendations" => (200, r#"{"items":[{"product_id":"p-1","name":"Tea"}]}"#.to_owned()),
        "health" => (200, "{}".to_owned()),
        product if path.contains("/products/") => (
            200,
            format!(
                r#"{{"id":"{product}","name":"Tea","price":{{"amount":{PRICE},"currency":"RUB"}}}}"#
            ),
        ),
        // The second payment system is not there: whoever is sent to it would blur the first one's figures.
        _ => (503, "{}".to_owned()),
    }
}
