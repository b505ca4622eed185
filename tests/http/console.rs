//! The page for people on call: what it may load, and that it asks for nothing but what is there.

use crate::admin::admin;
use crate::harness::{Harness, Reply, request, send};
use axum::Router;
use std::collections::BTreeSet;

async fn get(router: &Router, path: &str) -> Reply {
    send(router, request("GET", path, &[], None)).await
}

fn text(reply: &Reply) -> String {
    String::from_utf8(reply.bytes.clone()).unwrap()
}

/// Every address under `/console/` that a file names.
fn named(text: &str) -> BTreeSet<String> {
    let quoted = text.split('"').filter(|part| part.starts_with("/console/"));
    quoted.map(str::to_owned).collect()
}

/// The page and all files that it leads to, by address.
async fn files(router: &Router) -> Vec<(String, Reply)> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let mut wanted = vec!["/console".to_owned()];
    while let Some(path) = wanted.pop() {
        if seen.insert(path.clone()) {
            let reply = get(router, &path).await;
            assert_eq!(reply.status, 200, "{path}");
            wanted.extend(named(&text(&reply)));
            found.push((path, reply));
        }
    }
    found
}

#[tokio::test]
async fn the_page_needs_no_token_and_everything_that_it_shows_does() {
    let harness = Harness::open();
    let router = admin(&harness, Some("s3cret"));
    let files = files(&router).await;
    assert_eq!(files.len(), 12);
    assert!(files.iter().all(|(_, reply)| !text(reply).contains("s3cret")));
    for path in ["/admin/systems", "/admin/tasks"] {
        assert_eq!(get(&router, path).await.status, 401, "{path}");
    }
    assert_eq!(get(&router, "/console/secrets.js").await.code(), "not_found");
    let reply = send(&router, request("POST", "/console", &[], None)).await;
    assert_eq!(reply.code(), "method_not_allowed");
}

#[tokio::test]
async fn the_browser_is_told_to_run_nothing_else() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    for (path, reply) in files(&router).await {
        let policy = reply.header("content-security-policy");
        for rule in [
            "default-src 'none';",
            "script-src 'self';",
            "style-src 'self';",
            "connect-src 'self';",
            "form-action 'none';",
            "frame-ancestors 'none';",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-cache"),
        ] {
            assert_eq!(reply.header(name), value, "{path}");
        }
        let expected = match path.rsplit_once('.') {
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            Some(_) | None => "text/html; charset=utf-8",
        };
        assert_eq!(reply.header("content-type"), expected, "{path}");
    }
}

#[tokio::test]
async fn nothing_in_it_is_inline_and_nothing_becomes_markup() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    for (path, reply) in files(&router).await {
        let text = text(&reply);
        for bad in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            " style=\"",
            "<style",
            " onclick",
            "javascript:",
            "http://",
            "https://",
            "localStorage",
            "document.cookie",
        ] {
            assert!(!text.contains(bad), "{path} has {bad}");
        }
        let scripts = text.matches("<script").count();
        assert_eq!(scripts, text.matches("<script type=\"module\" src=\"/").count(), "{path}");
    }
}

/// The keys of a file of words.
fn keys(words: &str) -> BTreeSet<&str> {
    let lines = words.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(": \""));
    lines.map(|(key, _)| key).collect()
}

/// The gaps of each sentence, by key.
fn gaps(words: &str) -> Vec<(&str, BTreeSet<&str>)> {
    let lines = words.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(": \""));
    lines
        .map(|(key, text)| {
            let names = text.split('{').skip(1).filter_map(|rest| rest.split('}').next());
            (key, names.collect())
        })
        .collect()
}

#[tokio::test]
async fn both_languages_say_the_same() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    let english = text(&get(&router, "/console/en.js").await);
    let russian = text(&get(&router, "/console/ru.js").await);
    assert!(keys(&english).len() > 100);
    assert_eq!(keys(&english), keys(&russian));
    assert_eq!(gaps(&english), gaps(&russian));
    let page = text(&get(&router, "/console").await);
    for attribute in ["data-text=\"", "data-label=\""] {
        for part in page.split(attribute).skip(1) {
            let key = part.split('"').next().unwrap();
            assert!(keys(&english).contains(key), "the page says {key}");
        }
    }
}

#[tokio::test]
async fn whatever_a_task_or_a_system_can_be_has_words() {
    use order_service::adapters::resilience::breaker::{BreakerMode, BreakerState};
    use order_service::core::domain::unavailable::System;
    use order_service::core::payment::task::{Reason, TaskKind, TaskState};
    let harness = Harness::open();
    let router = admin(&harness, None);
    let english = text(&get(&router, "/console/en.js").await);
    let words = keys(&english);
    let mut wanted: Vec<String> = Vec::new();
    wanted.extend(TaskKind::ALL.map(|kind| kind.as_str().to_owned()));
    wanted.extend(TaskState::ALL.map(|state| state.as_str().to_owned()));
    wanted.extend(TaskState::ALL.map(|state| format!("status_{}", state.as_str())));
    wanted.extend(Reason::ALL.map(|reason| match reason {
        // The button of the same name has the word.
        Reason::Retry => "retry_reason".to_owned(),
        Reason::BreakerOpen
        | Reason::BulkheadFull
        | Reason::OutcomeUnknown
        | Reason::RespondAsync
        | Reason::Operator => reason.as_str().to_owned(),
    }));
    for state in BreakerState::ALL {
        wanted.extend(["state", "means", "dry"].map(|kind| format!("{kind}_{}", state.label())));
    }
    for mode in BreakerMode::ALL {
        match mode {
            BreakerMode::ForcedOpen => {
                wanted.extend(System::ALL.map(|system| match system {
                    System::Payment(_) => "effect_forced_open_payment".to_owned(),
                    System::Catalog | System::Recommendations | System::Webhooks => {
                        format!("effect_forced_open_{system}")
                    }
                }));
            }
            BreakerMode::Off
            | BreakerMode::DryRun
            | BreakerMode::Enforce
            | BreakerMode::ForcedClosed => wanted.push(format!("effect_{}", mode.as_str())),
        }
    }
    for word in wanted {
        assert!(words.contains(word.as_str()), "no words for {word}");
    }
}
