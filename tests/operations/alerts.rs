//! The alerts: all of them, each with a page of what to do, a board and a story.

use crate::{assert_known, files, known, promql, read, root};
use std::collections::BTreeSet;

/// (name, severity)
const ALERTS: [(&str, &str); 30] = [
    ("OrderErrorBudgetBurnFast", "page"),
    ("OrderErrorBudgetBurnMedium", "page"),
    ("OrderErrorBudgetBurnSlow", "ticket"),
    ("OrderErrorBudgetNearlySpent", "ticket"),
    ("CircuitBreakerOpenLong", "ticket"),
    ("AllPaymentSystemsUnavailable", "page"),
    ("CircuitBreakerFlapping", "ticket"),
    ("CircuitBreakerStuckHalfOpen", "ticket"),
    ("CircuitBreakerForcedTooLong", "ticket"),
    ("BulkheadSaturated", "ticket"),
    ("TaskQueueStalled", "page"),
    ("TaskFailed", "ticket"),
    ("PaymentMismatch", "page"),
    ("RetryBudgetExhausted", "ticket"),
    ("DbPoolExhausted", "ticket"),
    ("DatabaseCanForget", "ticket"),
    ("DatabaseMayHaveForgotten", "page"),
    ("MetricsMissing", "page"),
    ("LateMoney", "ticket"),
    ("StrangePaymentStatus", "ticket"),
    ("CallbackOfUnknownNumber", "ticket"),
    ("WebhooksFailing", "ticket"),
    ("WebhooksDelayed", "ticket"),
    ("WebhookEndpointGone", "ticket"),
    ("CredentialsRefused", "page"),
    ("PaymentsDeclinedUnusually", "ticket"),
    ("PaymentsAbandonedUnusually", "ticket"),
    ("TasksInReview", "ticket"),
    ("TasksWaitForOperator", "ticket"),
    ("OperatorTaskForgotten", "page"),
];

#[test]
fn every_alert_leads_to_a_page_and_a_board_and_has_a_story() {
    let rules = read("config/prometheus/alerts.yml");
    let boards: String = files("config/grafana/dashboards", ".json")
        .iter()
        .map(|board| read(board.to_str().unwrap()))
        .collect();
    let stories: String = files("config/prometheus/tests", ".yml")
        .iter()
        .map(|story| read(story.to_str().unwrap()))
        .collect();
    let blocks: Vec<&str> = rules.split("- alert: ").skip(1).collect();
    let named = blocks.iter().map(|block| block.lines().next().unwrap());
    assert_eq!(named.collect::<Vec<_>>(), ALERTS.map(|(name, _)| name));
    for (block, (name, severity)) in blocks.iter().zip(ALERTS) {
        assert!(block.contains(&format!("severity: {severity}}}")), "{name}");
        let after = |key: &str| block.split(key).nth(1).unwrap().lines().next().unwrap();
        let page = after("runbook_url: ").split("/blob/main/").nth(1).unwrap();
        assert_eq!(page, format!("docs/runbooks/{name}.md"));
        let text = read(page);
        for part in [name, "\n## Look at\n", "\n## Do\n"] {
            assert!(text.contains(part), "{page} has no {part}");
        }
        let board = after("dashboard: ").rsplit('/').next().unwrap();
        assert!(boards.contains(&format!("\"uid\": \"{board}\"")), "{name} leads to {board}");
        assert!(stories.contains(name), "nothing tells when {name} fires");
    }
}

#[test]
fn every_page_belongs_to_an_alert() {
    let pages = files("docs/runbooks", ".md");
    let pages: BTreeSet<&str> =
        pages.iter().map(|page| page.file_stem().unwrap().to_str().unwrap()).collect();
    let alerts = ALERTS.map(|(name, _)| name).into_iter().chain(["README"]);
    assert_eq!(pages, alerts.collect());
}

#[test]
fn rules_ask_only_for_what_is_told() {
    let known = known();
    for file in files("config/prometheus", ".yml") {
        for query in promql::queries(&read(file.to_str().unwrap())) {
            assert_known(&query, &known, &file);
        }
    }
    let rules = read("config/prometheus/alerts.yml");
    assert_eq!(promql::queries(&rules).len(), ALERTS.len());
}

#[test]
fn stories_are_made_of_what_is_told() {
    let known = known();
    for file in files("config/prometheus/tests", ".yml") {
        let text = read(file.to_str().unwrap());
        let series = text.split("series: '").skip(1).map(|rest| rest.split('\'').next().unwrap());
        for series in series {
            assert_known(series, &known, &file);
        }
    }
    assert!(root().join("config/prometheus/prometheus.yml").exists());
}
