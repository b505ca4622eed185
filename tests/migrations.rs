//! What a migration may do: only what the version before it can live with, because while a deploy goes
//! on both work on the same tables (`migrations/README.md`).

#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;

/// From here on the rules hold; what came before was never released with another version beside it.
const FIRST: &str = "0011";

/// (file, words of the statement, why it may)
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("0011_callbacks_counted.sql", "INDEX CALLBACKS_", "a table of few and small rows"),
    ("0013_order_records.sql", "INDEX CALLBACKS_", "a table of few and small rows"),
    ("0013_order_records.sql", "INDEX TASKS_OF_ORDER", "tasks are pruned: a moment"),
    (
        "0016_changed_orders.sql",
        "INDEX ORDERS_CHANGED",
        "no shop of the version before is large yet",
    ),
    ("0020_tasks_of_order.sql", "INDEX TASKS_OF_ORDER", "tasks are pruned: a moment"),
];

/// Without comments and the bodies of functions.
fn statements(sql: &str) -> Vec<String> {
    let lines = sql.lines().map(|line| line.split("--").next().unwrap());
    let plain = lines.collect::<Vec<_>>().join(" ");
    let outside: String = plain.split("$$").step_by(2).collect();
    let joined = |words: &str| words.split_whitespace().collect::<Vec<_>>().join(" ");
    let all = outside.split(';').map(|it| joined(it).to_uppercase());
    all.filter(|statement| !statement.is_empty()).collect()
}

/// The table that a statement begins with.
fn table<'s>(statement: &'s str, beginning: &str) -> Option<&'s str> {
    let rest = statement.strip_prefix(beginning)?.trim_start();
    let rest = rest.strip_prefix("IF NOT EXISTS ").unwrap_or(rest);
    rest.split([' ', '(']).next()
}

/// Why the version before cannot live with it. `fresh` are the tables that the same migration makes.
fn breaks(statement: &str, fresh: &BTreeSet<String>, server: bool) -> Option<&'static str> {
    if let Some(altered) = table(statement, "ALTER TABLE") {
        if fresh.contains(altered) {
            return None;
        }
        // A check or a column ends with a comma outside brackets.
        let mut depth = 0;
        let parts = statement.split(|letter| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            letter == ',' && depth == 0
        });
        return parts.map(str::trim).find_map(breaks_part);
    }
    if statement.starts_with("DROP TABLE") || statement.starts_with("DROP VIEW") {
        return Some("what the version before reads is gone");
    }
    let indexed =
        ["CREATE INDEX", "CREATE UNIQUE INDEX"].iter().any(|it| statement.starts_with(it));
    let on = statement.split(" ON ").nth(1).and_then(|rest| rest.split([' ', '(']).next());
    let grown = on.is_some_and(|table| !fresh.contains(table));
    if server && indexed && grown && !statement.contains("CONCURRENTLY") {
        return Some("nobody writes while it is built: CONCURRENTLY, outside a transaction");
    }
    None
}

fn breaks_part(part: &str) -> Option<&'static str> {
    let says = |words: &str| part.contains(words);
    let filled = says(" DEFAULT ") || says("GENERATED ALWAYS");
    if says("ADD COLUMN") && says("NOT NULL") && !filled {
        return Some("the version before does not fill the column: NOT NULL needs a DEFAULT");
    }
    if says("DROP COLUMN") || says("RENAME ") {
        return Some("the version before still names it");
    }
    if says(" TYPE ") && says("ALTER") {
        return Some("the table is rewritten, and the version before reads another type");
    }
    if says("SET NOT NULL") {
        return Some("the version before may leave it empty");
    }
    if says("ADD CONSTRAINT") && !says("NOT VALID") {
        return Some("all rows are read under a lock: NOT VALID, then VALIDATE");
    }
    None
}

fn problems(name: &str, sql: &str, server: bool) -> Vec<String> {
    let statements = statements(sql);
    let made = statements.iter().filter_map(|statement| table(statement, "CREATE TABLE"));
    let fresh: BTreeSet<String> = made.map(str::to_owned).collect();
    let excepted = |statement: &str| {
        EXCEPTIONS.iter().any(|(file, words, _)| *file == name && statement.contains(words))
    };
    let broken =
        statements.iter().filter(|statement| !excepted(statement)).filter_map(|statement| {
            Some(format!("{name}: {}: {statement}", breaks(statement, &fresh, server)?))
        });
    broken.collect()
}

#[test]
fn the_version_before_lives_with_every_migration() {
    let mut found = Vec::new();
    for folder in ["sqlite", "postgres"] {
        for file in std::fs::read_dir(format!("migrations/{folder}")).unwrap() {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            if *name >= *FIRST {
                let sql = std::fs::read_to_string(file.path()).unwrap();
                found.extend(problems(&name, &sql, folder == "postgres"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_migration_that_breaks_the_version_before_is_refused() {
    for broken in [
        "ALTER TABLE tasks ADD COLUMN x INTEGER NOT NULL",
        "ALTER TABLE tasks ADD COLUMN y INTEGER, ADD COLUMN x TEXT NOT NULL CHECK (x IN ('a', 'b'))",
        "ALTER TABLE orders DROP COLUMN items",
        "ALTER TABLE orders RENAME COLUMN items TO things",
        "ALTER TABLE orders RENAME TO sales",
        "ALTER TABLE orders ALTER COLUMN total TYPE numeric",
        "ALTER TABLE orders ALTER total SET NOT NULL",
        "ALTER TABLE orders ADD CONSTRAINT positive CHECK (total > 0)",
        "DROP TABLE callbacks",
        "CREATE INDEX slow ON orders (total)",
        "-- harmless\nCREATE TABLE new (id BIGINT); CREATE INDEX a ON new (id); drop table orders",
    ] {
        assert_eq!(problems("0099_broken.sql", broken, true).len(), 1, "{broken}");
    }
}

#[test]
fn a_migration_that_only_adds_is_welcome() {
    for sound in [
        "ALTER TABLE tasks ADD COLUMN x INTEGER",
        "ALTER TABLE tasks ADD COLUMN x INTEGER NOT NULL DEFAULT 0, ADD COLUMN y TEXT",
        "ALTER TABLE tasks ADD COLUMN x BOOLEAN NOT NULL GENERATED ALWAYS AS (id > 0) STORED",
        "ALTER TABLE orders ADD CONSTRAINT positive CHECK (total > 0) NOT VALID",
        "ALTER TABLE tasks SET (fillfactor = 80)",
        "CREATE TABLE new (id BIGINT NOT NULL); CREATE INDEX a ON new (id)",
        "-- no-transaction\nCREATE INDEX CONCURRENTLY quick ON orders (total)",
        "CREATE FUNCTION f() RETURNS trigger AS $$ BEGIN DROP TABLE x; END $$ LANGUAGE plpgsql",
    ] {
        assert_eq!(problems("0099_sound.sql", sound, true), Vec::<String>::new());
    }
}
