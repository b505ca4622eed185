//! docs/configuration.md, the table of every variable: names, defaults and what is accepted come from
//! the code, the words about them from people. `UPDATE_DOCS=1` writes the former anew and keeps the
//! latter; a variable without words fails.

use super::{REQUIRED, read};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configuration.md");
const SYSTEMS: [&str; 4] = ["SBER_", "ODNAKASSA_", "CATALOG_", "RECOMMENDATIONS_"];

/// Defaults that the code finds out at start, and what they follow from.
const FOUND_OUT: &[(&str, &str)] = &[
    ("AUTH_MODE", "`none` on loopback, else required"),
    ("INSTANCE_ID", "the host's name"),
    ("MAX_CONNECTIONS_PER_ADDRESS", "`0`: a quarter"),
    ("LOG_FORMAT", "`pretty` on a terminal, else `json`"),
    ("PAYMENT_RETURN_HOSTS", "the host of `PAYMENT_RETURN_URL`"),
    ("PAYMENT_SYNC_WAIT", "the first provider's call timeout, at most `REQUEST_TIMEOUT` - 1s"),
    ("SBER_PASSWORD", "required without `SBER_TOKEN`"),
    ("SBER_USERNAME", "required without `SBER_TOKEN`"),
    ("*_CB_OPEN_TIMEOUT_MAX", "`CB_OPEN_TIMEOUT`: does not grow"),
];

/// A line of the table: what the code says, then what people say.
#[derive(Debug, Default, Clone, PartialEq)]
struct Line {
    name: String,
    default: String,
    accepted: String,
    since: String,
    what: String,
    when: String,
}

impl Line {
    fn markdown(&self) -> String {
        let Self { name, default, accepted, since, what, when } = self;
        format!("| `{name}` | {default} | {accepted} | {since} | {what} | {when} |\n")
    }

    fn parse(line: &str) -> Option<Self> {
        let cells: Vec<_> = line.strip_prefix("| `")?.split(" | ").map(str::trim).collect();
        let [name, default, accepted, since, what, when] = cells.try_into().ok()?;
        let owned = |cell: &str| cell.trim_end_matches('|').trim().to_owned();
        Some(Self {
            name: name.trim_end_matches('`').to_owned(),
            default: owned(default),
            accepted: owned(accepted),
            since: owned(since),
            what: owned(what),
            when: owned(when),
        })
    }
}

/// Every variable with its default in words, as the code has them.
fn defaults() -> BTreeMap<String, String> {
    let (config, _) = read(&[]).expect("the required variables are enough");
    let missing: BTreeSet<_> = order_service::config::Config::read([])
        .expect_err("some are required")
        .all
        .into_iter()
        .map(|problem| problem.variable)
        .collect();
    let shown = |name: &String, value: &String| {
        let given = REQUIRED.iter().any(|(required, _)| required == name);
        if missing.contains(name) || given {
            "required".to_owned()
        } else if value.is_empty() {
            "unset".to_owned()
        } else {
            format!("`{value}`")
        }
    };
    config.effective().iter().map(|(name, value)| (name.clone(), shown(name, value))).collect()
}

/// What each variable accepts, in the words of its refusal.
fn accepted(names: impl Iterator<Item = String>) -> BTreeMap<String, String> {
    let said = |name: String| {
        let problems = read(&[(&name, "\u{1}")]).err()?.all;
        let problem = problems.into_iter().find(|problem| problem.variable == name)?;
        // any text is accepted, and refused only for what stands beside it
        if problem.expected.starts_with("no ") {
            return None;
        }
        let durations =
            problem.expected.strip_prefix("a duration with its unit (250ms, 2s, 5m) from ");
        Some((name, durations.unwrap_or(&problem.expected).to_owned()))
    };
    names.filter_map(said).collect()
}

/// The lines as the code wants them, without people's words; what all systems have is one line.
fn lines() -> Vec<Line> {
    let defaults = defaults();
    let accepted = accepted(defaults.keys().cloned());
    let text = |name: &str| accepted.get(name).cloned().unwrap_or_else(|| "text".to_owned());
    let mut lines: BTreeMap<String, Line> = BTreeMap::new();
    for (name, default) in &defaults {
        let suffix = SYSTEMS.iter().find_map(|prefix| name.strip_prefix(prefix));
        let shared = suffix.filter(|suffix| {
            SYSTEMS.iter().all(|prefix| defaults.contains_key(&format!("{prefix}{suffix}")))
        });
        let (key, default) = match shared {
            Some(suffix) => {
                let of = |prefix: &&str| defaults[&format!("{prefix}{suffix}")].clone();
                let mut each: Vec<_> = SYSTEMS.iter().map(of).collect();
                if each.iter().all(|one| one == &each[0]) {
                    each.truncate(1);
                }
                (format!("*_{suffix}"), each.join(", "))
            }
            None => (name.clone(), default.clone()),
        };
        let found_out = FOUND_OUT.iter().find(|(name, _)| *name == key);
        let default = found_out.map_or(default, |(_, words)| (*words).to_owned());
        let line = Line { name: key.clone(), default, accepted: text(name), ..Line::default() };
        lines.entry(key).or_insert(line);
    }
    lines.into_values().collect()
}

#[test]
fn the_page_lists_every_variable_as_the_code_has_it() {
    let page = std::fs::read_to_string(PAGE).expect("docs/configuration.md");
    let said: Vec<_> = page.lines().filter_map(Line::parse).collect();
    let wanted: Vec<_> = lines()
        .into_iter()
        .map(|line| {
            let words = said.iter().find(|said| said.name == line.name).cloned();
            let Line { since, what, when, .. } = words.unwrap_or_default();
            Line { since, what, when, ..line }
        })
        .collect();
    let table = wanted.iter().fold(String::new(), |mut table, line| {
        write!(table, "{}", line.markdown()).expect("a string takes what is written");
        table
    });
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let (before, rest) = page.split_once("<!-- variables -->\n").expect("the table's mark");
        let (_, after) = rest.split_once("<!-- end -->").expect("the table's end");
        let head = "| variable | default | accepts | since | what it does | when to change it |\n\
                    |---|---|---|---|---|---|\n";
        let page = format!("{before}<!-- variables -->\n{head}{table}<!-- end -->{after}");
        std::fs::write(PAGE, page).expect("the page can be written");
        return;
    }
    assert_eq!(
        said, wanted,
        "write docs/configuration.md anew: UPDATE_DOCS=1 cargo test --test config table"
    );
    for line in &wanted {
        let words = [&line.since, &line.what, &line.when];
        let silent = words.iter().any(|words| words.is_empty());
        assert!(!silent, "docs/configuration.md says nothing about {}", line.name);
    }
}
