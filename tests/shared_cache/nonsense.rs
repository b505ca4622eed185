//! What lies in the Redis is believed no more than the catalog.

use crate::instance::{Instance, MAX_STALE, NOW, Server, key, priced, product, redis};

/// An entry as an instance would have written it, with these changes.
fn entry(id: &str, changes: &[(&str, &str)]) -> String {
    let as_of = NOW.micros().to_string();
    let lives = MAX_STALE.as_millis().to_string();
    let id = format!("{id:?}");
    let mut members = vec![
        ("id", id.as_str()),
        ("name", r#""Чай""#),
        ("price", r#"{"amount":100,"currency":"RUB"}"#),
        ("as_of", as_of.as_str()),
        ("lives_ms", lives.as_str()),
    ];
    for (name, value) in changes {
        members.retain(|(known, _)| known != name);
        members.push((name, value));
    }
    let members: Vec<_> = members.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// What the second reader gets when this lies under the key: 1 by the catalog, 100 by the entry.
async fn read_over(redis: &str, id: &str) -> i64 {
    let instance = Instance::connected(redis, [priced(id, 1)]).await;
    instance.read(id).await.unwrap().product.price.minor()
}

#[tokio::test]
async fn an_entry_that_breaks_a_rule_is_a_miss() {
    let Some(redis) = redis() else { return };
    let mut server = Server::at(&redis).await;
    let lives = MAX_STALE.as_millis().to_string();
    let long = format!("{:?}", "n".repeat(9_000));
    let future = (NOW.micros() + 5_000_000).to_string();
    for (changes, used) in [
        (&[][..], true),
        (&[("vat", "1")], true),
        (&[("id", r#""p-2""#)], false),
        (&[("name", "1")], false),
        (&[("name", long.as_str())], false),
        (&[("price", r#"{"amount":-1,"currency":"RUB"}"#)], false),
        (&[("price", r#"{"amount":1.5,"currency":"RUB"}"#)], false),
        (&[("price", r#"{"amount":100,"currency":"USD"}"#)], true),
        (&[("price", r#"{"amount":100,"currency":"usd"}"#)], false),
        (&[("price", "null")], false),
        (&[("as_of", future.as_str())], false),
        (&[("as_of", r#""yesterday""#)], false),
        (&[("as_of", "0")], false),
        (&[("lives_ms", "1000")], false),
        (&[("lives_ms", "-1")], false),
    ] {
        let id = product();
        let told = entry(&id, changes);
        let () = server.run(&["SET", &key(&id), &told, "PX", &lives]).await;
        let expected = if used { 100 } else { 1 };
        assert_eq!(read_over(&redis, &id).await, expected, "{told:.200}");
    }
}

#[tokio::test]
async fn what_is_no_entry_at_all_is_a_miss() {
    let Some(redis) = redis() else { return };
    let mut server = Server::at(&redis).await;
    for words in ["", "null", "\u{0}", "<html>", "[1]", "{"] {
        let id = product();
        let () = server.run(&["SET", &key(&id), words, "PX", "60000"]).await;
        assert_eq!(read_over(&redis, &id).await, 1, "{words}");
    }
    // For ever, and of another kind.
    let id = product();
    let () = server.run(&["SET", &key(&id), &entry(&id, &[])]).await;
    assert_eq!(read_over(&redis, &id).await, 1);
    let id = product();
    let _: i64 = server.run(&["LPUSH", &key(&id), "x"]).await;
    assert_eq!(read_over(&redis, &id).await, 1);
}
