//! What the documents name is there: the tests of docs/outcomes.md, and every page that a page or a
//! comment sends its reader to.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// All Rust below `folder`, as one text.
fn sources(folder: &str) -> String {
    let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    files(&root().join(folder)).into_iter().map(read).collect()
}

/// Long enough to be a sentence, and in the letters of one.
fn is_test_name(word: &str) -> bool {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    word.matches('_').count() >= 3 && word.chars().all(letters)
}

#[test]
fn every_test_and_file_that_the_page_of_outcomes_names_is_there() {
    let page = fs::read_to_string(root().join("docs/outcomes.md")).unwrap();
    let sources = ["src", "tests"].map(sources).concat();
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

/// The pages that a text names, as it names them.
fn pages(text: &str) -> impl Iterator<Item = &str> {
    let of_a_path = |c: char| c.is_ascii_alphanumeric() || "._-/:".contains(c);
    let words = text.split(move |c| !of_a_path(c));
    let words = words.map(|word| word.trim_start_matches('/').trim_end_matches(['.', ':']));
    let made = |word: &str| word.starts_with("target/");
    words.filter(move |word| {
        word.len() > 3 && word.ends_with(".md") && !word.contains("://") && !made(word)
    })
}

#[test]
fn every_page_that_is_named_is_there() {
    let mut texts: Vec<PathBuf> =
        ["benches", "config", "docs", "examples", "migrations", "src", "tests"]
            .iter()
            .flat_map(|folder| files(&root().join(folder)))
            .collect();
    texts.extend(["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"].map(|page| root().join(page)));
    let mut lost = vec![];
    for file in texts {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let beside = file.parent().expect("a file is in a folder");
        let there = |page: &&str| root().join(page).exists() || beside.join(page).exists();
        let gone =
            pages(&text).filter(|page| !there(page)).map(|page| (file.clone(), page.to_owned()));
        lost.extend(gone);
    }
    assert!(lost.is_empty(), "{lost:#?}");
}

/// A type, and a function of it: `Type` or `Type::function`.
fn is_rust_name(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let upper = word.chars().next().is_some_and(|first| first.is_ascii_uppercase());
    upper && word.chars().all(plain) && word.contains(|c: char| c.is_ascii_lowercase())
}

/// `tests/architecture.rs` sees to the table of invariants.
#[test]
fn every_type_function_and_file_that_the_architecture_names_is_there() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let text = page.split("## Invariants").next().unwrap();
    let without_code = text.split("```").step_by(2).collect::<String>();
    let sources = sources("src");
    let paths: Vec<_> = ["src", "tests", "config", "docs", "migrations"]
        .iter()
        .flat_map(|folder| files(&root().join(folder)))
        .map(|path| path.display().to_string())
        .collect();
    let (mut names, mut places, mut lost) = (0, 0, vec![]);
    for word in without_code.split('`').skip(1).step_by(2) {
        let there = if is_rust_name(word) {
            names += 1;
            let (of, function) = word.split_once("::").unwrap_or((word, ""));
            let known = |kind: &str| sources.contains(&format!("{kind} {of}"));
            let imported = sources.contains(&format!("::{of};"));
            (imported || ["struct", "enum", "trait", "type"].into_iter().any(known))
                && (function.is_empty() || sources.contains(&format!("fn {function}")))
        } else if word.contains('/') && !word.contains(['<', '*', '{', ' ']) {
            places += 1;
            let (folder, file) = (format!("/{word}/"), format!("/{word}"));
            let folder = folder.replace("//", "/");
            paths.iter().any(|path| {
                path.contains(&folder)
                    || path.ends_with(&file)
                    || path.ends_with(&format!("{file}.rs"))
            })
        } else {
            true
        };
        if !there {
            lost.push(word);
        }
    }
    assert!(lost.is_empty(), "{lost:?}");
    assert!(names > 15 && places > 20, "only {names} names and {places} places");
}

/// The payment system of the recipe, whose files are its reader's to make.
const TO_BE_MADE: &str = "tretya";

#[test]
fn every_file_that_readers_are_sent_to_is_there() {
    let folders = ["src/", "tests/", "docs/", "config/", "migrations/", "scripts/", "benches/"];
    let mut lost = vec![];
    for page in ["README.md", "CONTRIBUTING.md", "docs/adding-a-provider.md", "docs/payments.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let prose = text.split("```").step_by(2).collect::<String>();
        for word in prose.split('`').skip(1).step_by(2) {
            let path = word.split(&[' ', ':'][..]).next().unwrap_or(word);
            let names_one = folders.iter().any(|folder| path.starts_with(folder))
                && !path.contains(['<', '*', '{', '…'])
                && !path.contains(TO_BE_MADE);
            if names_one && !root().join(path).exists() {
                lost.push(format!("{page}: {path}"));
            }
        }
    }
    assert!(lost.is_empty(), "{lost:#?}");
}

/// `tests/mutants/*.txt` is read as `scripts/mutants` reads it: blocks that are parted by empty lines, with
/// `in FILE` and the old text behind `- `.
#[test]
fn every_planted_bug_has_its_place_in_the_code() {
    let mut lost = Vec::new();
    for table in files(&root().join("tests/mutants")) {
        let text = fs::read_to_string(&table).unwrap();
        for bug in text.split("\n\n").filter(|bug| bug.contains("\nin ")) {
            let all = |mark: &str| bug.lines().filter_map(|line| line.strip_prefix(mark)).collect();
            let (file, old): (Vec<_>, Vec<_>) = (all("in "), all("- "));
            let source = fs::read_to_string(root().join("src/core").join(file[0])).unwrap();
            if old.is_empty() || !source.contains(&old.join("\n")) {
                lost.push(bug.lines().find(|line| !line.starts_with('#')).unwrap().to_owned());
            }
        }
    }
    assert!(lost.is_empty(), "tests/mutants has fallen behind src/core: {lost:#?}");
}
