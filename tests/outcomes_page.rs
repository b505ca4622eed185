//! docs/outcomes.md names a test for each row: hold it to its word.

use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All Rust below `folder`, as one text.
fn sources(folder: &Path) -> String {
    let entries = fs::read_dir(folder).expect("a folder of sources");
    let read = |path: &Path| {
        if path.is_dir() { sources(path) } else { fs::read_to_string(path).unwrap_or_default() }
    };
    entries.map(|entry| read(&entry.expect("a readable folder").path())).collect()
}

/// Long enough to be a sentence, and in the letters of one.
fn is_test_name(word: &str) -> bool {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    word.matches('_').count() >= 3 && word.chars().all(letters)
}

#[test]
fn every_test_and_file_that_the_page_names_is_there() {
    let page = fs::read_to_string(root().join("docs/outcomes.md")).unwrap();
    let sources = ["src", "tests"].map(|folder| sources(&root().join(folder))).concat();
    let named: Vec<_> = page.split('`').skip(1).step_by(2).collect();
    let (mut tests, mut lost) = (0, vec![]);
    for word in named {
        let there = if is_test_name(word) {
            tests += 1;
            sources.contains(&format!("fn {word}("))
        } else {
            !word.contains('/') || root().join(word).exists()
        };
        if !there {
            lost.push(word);
        }
    }
    assert!(lost.is_empty(), "{lost:?}");
    assert!(tests > 20, "only {tests} tests are named");
}
