//! Variables that look like ours and are not: most likely misspelt.

use super::rows;
use crate::core::domain::unavailable::System;
use std::collections::{BTreeMap, BTreeSet};

/// The names of all rows, of what is set, and of the groups.
pub(super) struct Names<'a, K, S> {
    pub(super) known: &'a BTreeMap<String, K>,
    pub(super) set: &'a BTreeMap<String, S>,
    pub(super) prefixes: &'a BTreeSet<String>,
}

pub(super) struct Unknown {
    pub(super) variable: String,
    pub(super) expected: String,
    /// It begins like one of ours; otherwise it may well be somebody else's.
    pub(super) ours: bool,
}

impl<K, S> Names<'_, K, S> {
    pub(super) fn unknown(&self) -> Vec<Unknown> {
        let names = self.set.keys().filter(|name| !self.known.contains_key(*name));
        names.filter_map(|name| self.judge(name)).collect()
    }

    /// Nothing under a system's prefix is anybody else's, but for what an orchestrator sets. Under
    /// the general prefixes, and outside, only what closely resembles a name of ours is meant for us.
    fn judge(&self, name: &str) -> Option<Unknown> {
        let prefixed = |p: &&String| !p.is_empty() && name.starts_with(p.as_str());
        let prefix = self.prefixes.iter().find(prefixed);
        let expected = match (self.resembled_by(name), prefix) {
            (Some(row), _) => format!("another name: did you mean {row}?"),
            (None, Some(prefix)) if is_of_a_system(prefix) && !is_a_service_link(name) => {
                format!("another name: no {prefix}… variable is so called")
            }
            (None, Some(_) | None) => return None,
        };
        Some(Unknown { variable: name.to_owned(), expected, ours: prefix.is_some() })
    }

    fn resembled_by(&self, name: &str) -> Option<&str> {
        let free = self.known.keys().filter(|row| !self.set.contains_key(*row));
        let close = free.map(|row| (distance(row, name), row)).filter(|(d, _)| *d <= 2);
        close.min().map(|(_, row)| row.as_str())
    }
}

fn is_of_a_system(prefix: &str) -> bool {
    System::ALL.into_iter().any(|system| rows::prefix(system) == prefix)
}

/// Kubernetes tells every pod of the services around it: `CATALOG_SERVICE_HOST`, `CATALOG_PORT`,
/// `CATALOG_PORT_8080_TCP_ADDR`.
fn is_a_service_link(name: &str) -> bool {
    name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || name.ends_with("_PORT")
        || name.split_once("_PORT_").is_some_and(|(_, r)| r.starts_with(|c: char| c.is_numeric()))
}

/// How many letters differ (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}
