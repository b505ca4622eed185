//! The guide: both languages say the same, what they name is there, and their figures are the lab's own.

use order_service::lab::catalog::{EXPERIMENTS, Scale, TimeKind};
use order_service::lab::{Lang, guide};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const LANGS: [Lang; 2] = [Lang::En, Lang::Ru];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn folder(lang: Lang) -> PathBuf {
    guide::folder(&root().join("docs/guide"), lang)
}

fn names(folder: &Path, extension: &str) -> BTreeSet<String> {
    let entries =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
    let of_kind = entries.filter(|path| path.extension().is_some_and(|found| found == extension));
    of_kind.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect()
}

fn page(lang: Lang, name: &str) -> String {
    fs::read_to_string(folder(lang).join(name).with_extension("md")).expect("a page")
}

/// What a page is made of, whatever its language: its headings' ranks, its tables' rows, its commands, its
/// names of files and functions.
fn shape(text: &str) -> Vec<String> {
    let of = |line: &str| {
        let rank = line.chars().take_while(|c| *c == '#').count();
        let code = line.split('`').skip(1).step_by(2).filter(|word| word.starts_with("src/"));
        match line.as_bytes().first() {
            Some(b'#') => Some(format!("{rank}")),
            Some(b'|') => Some(format!("| {}", line.matches('|').count())),
            _ if line.starts_with("```") => Some(line.to_owned()),
            _ => code.last().map(str::to_owned),
        }
    };
    text.lines().filter_map(of).collect()
}

#[test]
fn both_languages_have_the_same_pages_with_the_same_parts() {
    let [english, russian] = LANGS.map(|lang| names(&folder(lang), "md"));
    assert_eq!(english, russian);
    for name in english.iter().filter(|name| *name != "README") {
        assert_eq!(shape(&page(Lang::En, name)), shape(&page(Lang::Ru, name)), "{name}");
    }
}

#[test]
fn every_experiment_has_its_page_and_picture_and_the_index_names_it() {
    for lang in LANGS {
        let (pages, index) = (names(&folder(lang), "md"), page(lang, "README"));
        let pictures = names(&folder(lang).join("img"), "svg");
        for experiment in EXPERIMENTS {
            let name = experiment.name;
            assert!(pages.contains(name) && pictures.contains(name), "{name}");
            assert!(index.contains(&format!("({name}.md)")), "{name}");
        }
    }
}

#[test]
fn every_file_and_function_that_a_page_names_is_there() {
    let mut lost = vec![];
    for name in names(&folder(Lang::En), "md") {
        let text = page(Lang::En, &name);
        for line in text.lines().filter(|line| line.starts_with("* `src/")) {
            let mut words = line.split('`').skip(1).step_by(2);
            let (file, item) = (words.next().unwrap(), words.next().unwrap());
            let source = fs::read_to_string(root().join(file)).unwrap_or_default();
            let kinds = ["fn", "struct", "enum", "trait", "type", "const"];
            let is_named = |kind: &str| {
                source.match_indices(&format!("{kind} {item}")).any(|(at, found)| {
                    !source[at + found.len()..]
                        .starts_with(|c: char| c.is_alphanumeric() || c == '_')
                })
            };
            if !kinds.into_iter().any(is_named) {
                lost.push(format!("{name}: {file} {item}"));
            }
        }
    }
    assert!(lost.is_empty(), "{lost:#?}");
}

/// Those in real time differ from run to run, and are renewed by hand: `order-service lab all`.
#[test]
fn the_figures_of_the_pages_are_the_labs_own() {
    for experiment in EXPERIMENTS {
        if experiment.clock == TimeKind::Real {
            continue;
        }
        let report = (experiment.run)(Scale::Full);
        for lang in LANGS {
            let text = page(lang, experiment.name);
            let inside = guide::block(&text, experiment.name);
            assert_eq!(inside, Some(&*report.markdown(lang)), "run `order-service lab all`");
            let picture = folder(lang).join("img").join(experiment.name).with_extension("svg");
            let drawn = fs::read_to_string(picture).unwrap();
            assert_eq!(
                drawn,
                report.chart.svg(lang),
                "{}: run `order-service lab all`",
                experiment.name
            );
        }
    }
}
