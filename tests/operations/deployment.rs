//! What the service is deployed with, held to the code and to itself: docker-compose.yml, config/stack, config/k8s.

use super::{read, root};
use std::fmt::Write;

const RULES: &str = "config/k8s/monitoring/rules.yaml";

/// The rules that Prometheus reads, in the form that its operator takes.
fn rules_for_the_operator() -> String {
    let mut rules = String::from(
        "# What config/prometheus/recording.yml and alerts.yml say, for the Prometheus operator; a test holds it to \
         them, and\n# `UPDATE_DOCS=1 cargo test --test operations kubernetes` writes it anew.\n\
         apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: order-service\n\
         spec:\n  groups:\n",
    );
    for file in ["config/prometheus/recording.yml", "config/prometheus/alerts.yml"] {
        let text = read(file);
        let (_, groups) = text.split_once("groups:\n").expect("groups of rules");
        for line in groups.lines() {
            let indent = if line.is_empty() { "" } else { "  " };
            writeln!(rules, "{indent}{line}").unwrap();
        }
    }
    rules
}

#[test]
fn kubernetes_has_the_rules_that_prometheus_has() {
    let wanted = rules_for_the_operator();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(root().join(RULES), &wanted).unwrap();
    }
    assert!(
        read(RULES) == wanted,
        "write {RULES} anew: UPDATE_DOCS=1 cargo test --test operations kubernetes"
    );
}

#[test]
fn every_file_that_the_stack_mounts_is_there() {
    let compose = read("docker-compose.yml");
    let paths = compose.split(['"', ' ', '}', ')', '\n']).filter_map(|word| {
        let path =
            word.strip_prefix("./").or_else(|| word.starts_with("config/").then_some(word))?;
        path.split(':').next()
    });
    let paths: Vec<_> = paths.collect();
    assert!(paths.len() > 15, "{paths:?}");
    for path in paths {
        assert!(root().join(path).exists(), "docker-compose.yml mounts {path}");
    }
}

/// Names of variables in a file: `NAME=…` of an environment, `{name: NAME, …}` of a manifest.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    let upper = |name: &&str| {
        name.len() > 3
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    let assigned = text.lines().filter_map(|line| line.trim_start_matches('#').split_once('='));
    let assigned = assigned.map(|(name, _)| name);
    let named = text.split("name: ").skip(1).filter_map(|rest| rest.split([',', '\n', '}']).next());
    assigned.chain(named).filter(upper)
}

#[test]
fn what_is_deployed_sets_only_variables_that_exist() {
    let known = read("docs/configuration.md");
    let knows = |name: &str| {
        let shared = name.split_once('_').map(|(_, rest)| format!("| `*_{rest}` |"));
        known.contains(&format!("| `{name}` |")) || shared.is_some_and(|row| known.contains(&row))
    };
    for file in [
        "config/stack/order-service.env",
        "config/k8s/base/deployment.yaml",
        "config/k8s/example/migrate-job.yaml",
        "config/k8s/example/order-service.env",
        "config/production.example.env",
        "config/sandbox.env",
        "config/postgres.env",
    ] {
        let text = read(file);
        let mut any = false;
        for name in variables(&text) {
            any = true;
            let held = name.strip_suffix("_FILE").unwrap_or(name);
            let ours = name.starts_with("OTEL_") || knows(name) || knows(held);
            assert!(ours, "{file} sets {name}, which docs/configuration.md does not know");
        }
        assert!(any, "{file} sets nothing");
    }
}
