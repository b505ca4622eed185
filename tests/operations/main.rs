//! What people on call look at, held to what the service really tells: rules, their stories, boards and
//! runbooks (config/prometheus, config/grafana, docs/runbooks); and what it is deployed with.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod alerts;
mod boards;
mod deployment;
mod promql;
mod promtool;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.to_str().is_some_and(|name| name.ends_with(ending)));
    files.sort();
    assert!(!files.is_empty(), "nothing in {folder}");
    files
}

/// Every name that a query may use: the samples of the page's families (tests/system/metrics.rs holds the
/// binary to that page), and what the recording rules make of them.
fn known() -> BTreeSet<String> {
    let mut known: BTreeSet<String> = BTreeSet::from(["ALERTS".to_owned()]);
    let page = read("docs/metrics.md");
    let families = page.split("\n## ").find(|section| section.starts_with("Families")).unwrap();
    for row in families.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let (name, kind) = (cells[1], cells[2]);
        if kind == "histogram" {
            known.extend(["_bucket", "_count", "_sum"].map(|suffix| format!("{name}{suffix}")));
        } else {
            known.insert(name.to_owned());
        }
    }
    assert!(known.len() > 60, "{known:?}");
    let rules = read("config/prometheus/recording.yml");
    let recorded = rules.lines().filter_map(|line| line.trim().strip_prefix("- record: "));
    known.extend(recorded.map(str::to_owned));
    known
}

fn assert_known(query: &str, known: &BTreeSet<String>, place: &Path) {
    let used = promql::names(query);
    assert!(!used.is_empty(), "{}: {query}", place.display());
    for name in used {
        assert!(known.contains(&name), "{} asks for {name}: {query}", place.display());
    }
}
