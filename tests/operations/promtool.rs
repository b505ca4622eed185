//! Prometheus's own word on the rules: that it can read them, and that each alert fires when its story
//! says so. Without `promtool` nothing of this is known, and that is said aloud.

use crate::{boards, files, root};
use std::path::PathBuf;
use std::process::Command;

fn promtool() -> Option<PathBuf> {
    let unpacked = root().join("target/tools/usr/bin/promtool");
    let candidates = [PathBuf::from("promtool"), unpacked];
    let runs = |tool: &PathBuf| {
        Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    let found = candidates.into_iter().find(runs);
    if found.is_none() {
        eprintln!(
            "\n*** SKIPPED: promtool is not installed, so nobody has read the alert rules or tried them.\n\
             *** On Debian: apt-get install prometheus, or run scripts/test, which fetches it.\n"
        );
    }
    found
}

fn run(tool: &PathBuf, arguments: &[&str], files: &[PathBuf]) {
    let output = Command::new(tool).args(arguments).args(files).output().unwrap();
    let (told, failed) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "promtool {arguments:?}:\n{told}\n{failed}");
}

#[test]
fn prometheus_reads_its_configuration() {
    let Some(tool) = promtool() else { return };
    run(&tool, &["check", "config"], &[root().join("config/prometheus/prometheus.yml")]);
}

#[test]
fn every_alert_fires_when_its_story_says_so() {
    let Some(tool) = promtool() else { return };
    run(&tool, &["test", "rules"], &files("config/prometheus/tests", ".yml"));
}

/// As rules they are the same language.
#[test]
fn prometheus_reads_the_queries_of_the_boards() {
    let Some(tool) = promtool() else { return };
    let mut rules = String::from("groups: [{name: boards, rules: [\n");
    for (at, (_, query)) in boards::queries().into_iter().enumerate() {
        let query = query.replace("$__rate_interval", "1m").replace('\'', "''");
        rules += &format!("{{record: 'query_{at}', expr: '{query}'}},\n");
    }
    rules += "]}]\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("boards.yml");
    std::fs::write(&file, rules).unwrap();
    run(&tool, &["check", "rules"], &[file]);
}
