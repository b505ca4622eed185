//! The boards: five, and every query of theirs asks for what there is.

use crate::{assert_known, files, known, read};
use serde_json::Value;
use std::path::PathBuf;

/// Every query of every board, with where it stands.
pub fn queries() -> Vec<(PathBuf, String)> {
    let mut queries = Vec::new();
    for file in files("config/grafana/dashboards", ".json") {
        let board: Value = serde_json::from_str(&read(file.to_str().unwrap())).unwrap();
        let panels = board["panels"].as_array().unwrap().iter();
        let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
        let noted = board["annotations"]["list"].as_array().unwrap();
        for asker in targets.chain(noted) {
            queries.push((file.clone(), asker["expr"].as_str().unwrap().to_owned()));
        }
    }
    queries
}

#[test]
fn boards_ask_only_for_what_is_told() {
    assert_eq!(files("config/grafana/dashboards", ".json").len(), 5);
    let known = known();
    for (file, query) in queries() {
        assert_known(&query, &known, &file);
    }
}

/// What is told and shown nowhere is found by nobody.
#[test]
fn every_family_is_on_a_board_or_in_a_rule() {
    let mut shown: String = queries().into_iter().map(|(_, query)| query + "\n").collect();
    for file in files("config/prometheus", ".yml") {
        shown += &read(file.to_str().unwrap());
    }
    for name in known().into_iter().filter(|name| name != "ALERTS") {
        let family = ["_bucket", "_count", "_sum"].iter().find_map(|end| name.strip_suffix(end));
        let told_otherwise = ["process_virtual_memory_bytes", "bulkhead_rejected_total"];
        let shown = shown.contains(family.unwrap_or(&name));
        assert!(shown || told_otherwise.contains(&name.as_str()), "{name} is nowhere");
    }
}
