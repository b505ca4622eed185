//! Which room may name which: the table of the house, checked against the parsed sources.

mod source_tree;

use source_tree::{Graph, Module, Name, files_below, modules, names_in, root};
use std::fs;

/// A part of the tree, and all that its code may name besides itself and the standard library. The
/// row with the longest matching path counts; a file without a row fails.
struct Room {
    path: &'static str,
    ours: &'static [&'static str],
    crates: &'static [&'static str],
}

const fn room(
    path: &'static str,
    ours: &'static [&'static str],
    crates: &'static [&'static str],
) -> Room {
    Room { path, ours, crates }
}

#[rustfmt::skip]
const HOUSE: &[Room] = &[
    // the core knows nobody; its rooms stand one above the other, and a name goes down, never up
    room("core::domain", &[], &["thiserror", "serde", "uuid", "time"]),
    room("core::payment", &["core::domain"], &["thiserror", "uuid"]),
    room("core::ports", &["core::domain", "core::payment"], &["async_trait", "thiserror", "tokio::time"]),
    room("core::engine", &["core::domain", "core::payment", "core::ports"], &["thiserror", "tracing", "tokio::sync", "tokio::time", "tokio_util::task"]),
    room("core::use_cases", &["core"], &["async_trait", "thiserror", "tracing", "tokio::sync", "tokio::time", "tokio_util::sync", "tokio::select", "futures_util"]),

    // what adapters tell each other and the operator; the one seam to the exporter of spans is in it
    room("adapters::observe", &["core::domain", "core::ports", "adapters::resilience"], &["thiserror"]),
    room("adapters::observe::log_throttle", &[], &["tokio::time"]),
    room("adapters::observe::storage_upkeep", &["core::domain", "core::payment", "core::ports"], &["async_trait"]),
    room("adapters::observe::service_mode", &["core::domain", "core::ports", "core::engine::money_hold"], &["async_trait", "tracing"]),
    room("adapters::observe::spans", &["core::ports"], &["opentelemetry", "tracing", "tracing_opentelemetry"]),

    // the machines know no vendor
    room("adapters::resilience", &["core::domain::unavailable", "core::ports::deadline"], &["tokio", "serde", "tracing", "thiserror", "rustix", "fastrand"]),

    // the partners know nothing of one another
    room("adapters::outbound::http_client", &["core::domain", "core::ports", "adapters::resilience", "adapters::observe"], &["reqwest", "http", "httpdate", "http_body_util", "tokio", "serde", "serde_json", "thiserror", "tracing", "fastrand"]),
    room("adapters::outbound::alarm", &["core::domain", "core::ports", "adapters::observe"], &["tracing"]),
    room("adapters::outbound::read_answer", &["core::domain", "adapters::resilience"], &["http", "thiserror"]),
    room("adapters::outbound::health", &["core::domain", "core::ports", "adapters::observe", "adapters::outbound::http_client"], &["tokio"]),
    room("adapters::outbound::process", &["core::domain", "core::ports"], &["getrandom"]),
    room("adapters::outbound::payment_page", &["adapters::outbound::http_client"], &[]),
    room("adapters::outbound::told", &[], &["serde", "serde_json"]),
    room("adapters::outbound::payment_failure", &["core::domain", "core::ports", "adapters::resilience", "adapters::outbound::alarm"], &["tracing"]),
    room("adapters::outbound::signature", &[], &["hmac", "sha2", "secrecy", "webpki", "rustls_pki_types"]),
    room("adapters::outbound::sber", PAYMENT_VENDOR, PAYMENT_VENDOR_CRATES),
    room("adapters::outbound::odnakassa", PAYMENT_VENDOR, PAYMENT_VENDOR_CRATES),
    room("adapters::outbound::remote_cache", &[], &["fastrand", "redis", "tokio::spawn", "tokio::time", "tracing"]),
    room("adapters::outbound::webhooks", &["core::domain", "core::ports", "adapters::resilience", "adapters::outbound::http_client"], &["async_trait", "aws_lc_rs", "base64", "hmac", "http", "sha2", "thiserror", "tokio::time"]),
    room("adapters::outbound::catalog", CACHED_VENDOR, CACHED_VENDOR_CRATES),
    room("adapters::outbound::recommendations", VENDOR, VENDOR_CRATES),
    room("adapters::outbound::storage", &["core::domain", "core::payment", "core::ports", "adapters::observe::adapter_events", "adapters::observe::storage_upkeep", "adapters::observe::service_mode"], &["async_trait", "fastrand", "sqlx", "tokio", "tracing", "serde", "serde_json", "thiserror", "time", "uuid", "futures_util"]),
    room("adapters::observe::metrics", &["core::domain", "core::payment", "core::ports", "adapters::observe", "adapters::resilience"], &["async_trait", "prometheus", "tokio::sync", "tokio::time", "tracing"]),

    // the driving side knows the core, and what operators look at; its kit knows no resource,
    // and the listeners know nothing of one another
    room("adapters::inbound::http_kit", &["core::domain::timestamp", "core::ports", "adapters::observe", "adapters::resilience::adaptive", "adapters::resilience::settings"], HTTP_CRATES),
    room("adapters::inbound::resources", &["core", "adapters::observe::spans", "adapters::inbound::http_kit"], &["http", "serde", "tracing", "utoipa", "uuid"]),
    room("adapters::inbound::api", &["core", "adapters::observe", "adapters::resilience::settings", "adapters::inbound::http_kit", "adapters::inbound::resources"], HTTP_CRATES),
    room("adapters::inbound::api::auth", &["core::domain", "core::ports", "adapters::inbound::http_kit"], &["http", "jsonwebtoken", "rustls_pki_types", "secrecy", "serde", "serde_json", "thiserror", "tracing"]),
    room("adapters::inbound::api::quota", &[], &["governor", "tokio::time"]),
    room("adapters::inbound::admin", &["core", "adapters::observe", "adapters::resilience", "adapters::inbound::http_kit", "adapters::inbound::resources"], HTTP_CRATES),
    room("adapters::inbound::worker", &["core", "adapters::observe"], &["fastrand", "tokio", "tokio_util", "tracing"]),

    // the frame knows everything
    room("bootstrap", &[""], &["anyhow", "axum", "rustix", "tokio", "tokio_util", "tracing", "secrecy", "clap"]),
    room("config", &["core", "adapters"], &["envy", "humantime", "secrecy", "serde", "thiserror", "tracing_subscriber::EnvFilter"]),
    room("telemetry", &["config", "adapters::observe::log_control"], &["tokio", "serde", "serde_json", "time", "tracing", "tracing_subscriber", "tracing_opentelemetry", "opentelemetry", "opentelemetry_sdk", "opentelemetry_otlp", "thiserror"]),
    room("bin", &[""], &["anyhow", "clap", "mimalloc", "tokio"]),

    // the guide's experiments: the machines, and the whole service, in the hands of a teacher
    room("lab", &["core::domain::unavailable", "core::ports::deadline", "adapters::resilience", "adapters::observe::log_control", "adapters::observe::traffic", "adapters::inbound::http_kit", "bootstrap::service", "config", "sandbox"], &["fastrand", "futures_util", "reqwest", "serde_json", "tokio", "tokio_util"]),

    // the partners' stand-in is written against their protocols, not against our code
    room("sandbox", &[], &["axum", "http", "tokio", "tokio_util", "futures_util", "serde", "serde_json", "reqwest", "hmac", "sha2", "fastrand", "humantime", "time", "uuid", "thiserror", "tracing"]),
];

const VENDOR: &[&str] = &[
    "core::domain",
    "core::payment",
    "core::ports",
    "adapters::observe",
    "adapters::resilience",
    "adapters::outbound::http_client",
    "adapters::outbound::alarm",
    "adapters::outbound::read_answer",
];
const CACHED_VENDOR: &[&str] = &[
    "core::domain",
    "core::payment",
    "core::ports",
    "adapters::observe",
    "adapters::resilience",
    "adapters::outbound::http_client",
    "adapters::outbound::alarm",
    "adapters::outbound::read_answer",
    "adapters::outbound::remote_cache",
];
const PAYMENT_VENDOR: &[&str] = &[
    "core::domain",
    "core::payment",
    "core::ports",
    "adapters::observe",
    "adapters::resilience",
    "adapters::outbound::http_client",
    "adapters::outbound::alarm",
    "adapters::outbound::payment_failure",
    "adapters::outbound::payment_page",
    "adapters::outbound::signature",
    "adapters::outbound::told",
];
#[rustfmt::skip]
const VENDOR_CRATES: &[&str] = &["async_trait", "http", "reqwest", "serde", "serde_json", "secrecy", "time", "tokio", "tracing", "thiserror"];
#[rustfmt::skip]
const PAYMENT_VENDOR_CRATES: &[&str] = &["async_trait", "form_urlencoded", "http", "serde", "serde_json", "secrecy", "tracing"];
#[rustfmt::skip]
const CACHED_VENDOR_CRATES: &[&str] = &["async_trait", "futures_util", "http", "moka", "serde", "serde_json", "thiserror", "tokio::spawn", "tokio::time", "tracing"];
#[rustfmt::skip]
const HTTP_CRATES: &[&str] = &["axum", "http", "http_body_util", "humantime", "hyper", "hyper_util", "tower", "tower_http", "tokio", "tokio_util", "futures_util", "serde", "serde_json", "utoipa", "sha2", "subtle", "secrecy", "time", "tracing", "thiserror", "uuid"];

/// Rooms in which files name each other in circles, and why. A circle is one thing in several files: it
/// can only be read as a whole.
#[rustfmt::skip]
const CIRCLES: &[(&str, &str)] = &[
    ("adapters::outbound::storage::postgres", "one store: each file is the part of `PgStore` behind one port, beside the work that its transactions share"),
    ("adapters::outbound::storage::sqlite", "one store: its ports put work into the one writer, and the writer knows each kind of work by name"),
    ("sandbox", "one simulated world, in which every part reaches every other: a fault has to reach replies, orders and callbacks alike"),
];

/// What tests may name beyond their room's row: fakes of other rooms, never the machinery itself.
const TEST_STAND_INS: &[&str] = &["sandbox"];

fn within(name: &str, area: &str) -> bool {
    area.is_empty() || name.strip_prefix(area).is_some_and(|r| r.is_empty() || r.starts_with("::"))
}

fn room_of(module: &str) -> Option<&'static Room> {
    HOUSE.iter().filter(|r| within(module, r.path)).max_by_key(|r| r.path.len())
}

fn permitted(room: &Room, name: &Name) -> bool {
    let any = |areas: &[&str]| areas.iter().any(|area| within(&name.path, area));
    match (name.ours, name.in_test) {
        (true, false) => within(&name.path, room.path) || any(room.ours),
        (true, true) => within(&name.path, room.path) || any(room.ours) || any(TEST_STAND_INS),
        (false, false) => any(room.crates),
        (false, true) => true,
    }
}

/// All violations at once, each with its place.
fn assert_none(violations: &[String]) {
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

fn violations_of(check: impl Fn(&Module, &Name) -> Option<String>) -> Vec<String> {
    let mut violations = vec![];
    for module in modules() {
        for name in &module.names {
            if let Some(violation) = check(module, name) {
                let place = format!("{}:{}", module.file.display(), name.line);
                violations.push(format!("{place} names {}: {violation}", name.path));
            }
        }
    }
    violations
}

#[test]
fn a_name_is_seen_wherever_it_is_spelled() {
    let source = r#"
        use crate::{core::ports::{self as doors, clock::Clock}, config};
        use tokio::time;
        mod wire;
        pub use wire::Reply;
        #[derive(serde::Serialize)]
        struct Row { client: super::sber::Sber }
        fn run() {
            time::sleep();
            println!("{}", reqwest::get(vec![uuid::Uuid::nil()]));
        }
        #[cfg(test)]
        mod tests { use super::super::catalog::wire; }
    "#;
    let names = names_in("adapters::outbound::odnakassa", source);
    let spelled = |in_test| names.iter().filter(move |n| n.in_test == in_test);
    let plain: Vec<_> = spelled(false).map(|n| n.path.as_str()).collect();
    let expected = [
        "core::ports",
        "core::ports::clock::Clock",
        "config",
        "tokio::time",
        "adapters::outbound::odnakassa::wire::Reply",
        "serde::Serialize",
        "adapters::outbound::sber::Sber",
        "reqwest::get",
        "uuid::Uuid::nil",
    ];
    assert_eq!(plain, expected);
    assert!(spelled(true).map(|n| n.path.as_str()).eq(["adapters::outbound::catalog::wire"]));
}

#[test]
fn every_file_is_in_a_room_or_only_leads_to_rooms() {
    let modules = modules();
    let lost = modules.iter().filter(|m| room_of(&m.path).is_none() && !m.hall);
    let mut violations: Vec<_> =
        lost.map(|m| format!("{} has no row in the house's table", m.file.display())).collect();
    for file in files_below("src") {
        let known = modules.iter().any(|m| root().join(&m.file) == file);
        if file.extension().is_some_and(|e| e == "rs") && !known {
            violations.push(format!("{} belongs to no module", file.display()));
        }
    }
    assert_none(&violations);
}

#[test]
fn every_row_of_the_table_is_a_room_that_exists() {
    let modules = modules();
    let empty = HOUSE.iter().filter(|room| !modules.iter().any(|m| within(&m.path, room.path)));
    assert_none(&empty.map(|room| format!("nothing is in {}", room.path)).collect::<Vec<_>>());
}

#[test]
fn a_room_names_only_what_its_row_permits() {
    assert_none(&violations_of(|module, name| {
        let room = room_of(&module.path)?;
        (!permitted(room, name)).then(|| format!("not for {}", room.path))
    }));
}

#[test]
fn no_files_name_each_other_in_circles() {
    let mut violations = vec![];
    let mut met = vec![];
    for (files, names) in Graph::of_the_crate().circles() {
        let allowed = CIRCLES.iter().find(|(room, _)| files.iter().all(|file| within(file, room)));
        match allowed {
            Some((room, _)) => met.push(*room),
            None => violations.extend(names.iter().map(|(from, to)| format!("{from} names {to}"))),
        }
    }
    let kept = CIRCLES.iter().filter(|(room, _)| !met.contains(room));
    violations.extend(kept.map(|(room, _)| format!("there are no circles in {room} any more")));
    assert_none(&violations);
}

#[test]
fn only_the_http_client_builds_connections() {
    assert_none(&violations_of(|module, name| {
        let builds =
            ["reqwest::Client", "reqwest::ClientBuilder", "reqwest::blocking", "reqwest::get"];
        let elsewhere = !["adapters::outbound::http_client", "sandbox", "lab"]
            .iter()
            .any(|room| within(&module.path, room));
        (elsewhere && !name.in_test && builds.iter().any(|b| within(&name.path, b)))
            .then(|| "each partner's client comes from adapters::outbound::http_client".into())
    }));
}

#[test]
fn only_the_configuration_and_the_failpoints_read_the_environment() {
    let readers = modules().iter().filter(|module| {
        let text = fs::read_to_string(root().join(&module.file)).unwrap();
        text.lines().any(|line| !line.trim_start().starts_with("//") && line.contains("env::var"))
    });
    // The last is a test, which is told its server so.
    let allowed =
        ["config", "core::engine::failpoint", "adapters::outbound::storage::postgres::plans"];
    let strangers = readers.filter(|m| !allowed.contains(&m.path.as_str()));
    assert_none(&strangers.map(|m| m.file.display().to_string()).collect::<Vec<_>>());
}

#[test]
fn no_file_is_longer_than_400_lines() {
    let modules = modules();
    let long = modules.iter().filter(|m| m.lines > 400);
    let violations = long.map(|m| format!("{} has {} lines", m.file.display(), m.lines));
    assert_none(&violations.collect::<Vec<_>>());
}

#[test]
fn no_file_tells_on_which_machine_it_was_written() {
    let private = ["home", "root", "work", "Users", "wt"].map(|folder| format!("/{folder}/"));
    let mut files: Vec<_> = fs::read_dir(root()).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.is_file() && !f.ends_with(".git"));
    for folder in [".ci", "benches", "config", "docs", "migrations", "scripts", "src", "tests"] {
        files.extend(files_below(folder));
    }
    let mut violations = vec![];
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for (number, line) in text.lines().enumerate() {
            let starts = |p: &str| {
                line.match_indices(p).any(|(at, _)| {
                    !line[..at].ends_with(|c: char| c.is_alphanumeric() || "/._-}*".contains(c))
                })
            };
            if private.iter().any(|p| starts(p)) {
                violations.push(format!("{}:{}: {line}", file.display(), number + 1));
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn every_invariant_names_tests_that_exist() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let invariants = page.split("## Invariants").nth(1).unwrap().split("\n## ").next().unwrap();
    let sources: String = ["src", "tests"]
        .iter()
        .flat_map(|folder| files_below(folder))
        .filter_map(|file| fs::read_to_string(file).ok())
        .collect();
    let rows = invariants.lines().filter(|line| line.starts_with("| ")).skip(1);
    let named = rows.flat_map(|row| row.rsplit(" | ").next().unwrap_or_default().split('`'));
    let (files, tests): (Vec<_>, Vec<_>) = named
        .filter(|word| word.contains(['_', '/']) && !word.contains(' '))
        .partition(|w| w.contains('/'));
    let lost = tests.into_iter().filter(|name| !sources.contains(&format!("fn {name}(")));
    let gone = files.into_iter().filter(|file| !file.contains('*') && !root().join(file).exists());
    assert_none(&lost.chain(gone).map(|name| format!("there is no {name}")).collect::<Vec<_>>());
}
