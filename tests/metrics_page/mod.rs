//! A scrape, and the page that tells what it shows: docs/metrics.md.

use std::collections::{BTreeMap, BTreeSet};

/// A page of samples: each series by its name and labels, as text has it.
#[derive(Debug)]
pub struct Scrape {
    pub samples: BTreeMap<String, f64>,
    pub types: BTreeMap<String, String>,
}

impl Scrape {
    pub fn read(text: &str) -> Self {
        let types = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
            .map(|(name, kind)| (name.to_owned(), kind.to_owned()))
            .collect();
        let samples = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(series, value)| (series.to_owned(), value.parse().unwrap()))
            .collect();
        Self { samples, types }
    }

    pub fn value(&self, series: &str) -> f64 {
        *self.samples.get(series).unwrap_or_else(|| panic!("no series {series}"))
    }

    /// (family, label, value) of every sample but a histogram's buckets' edges.
    pub fn labels(&self) -> BTreeSet<(&str, &str, &str)> {
        let mut seen = BTreeSet::new();
        for series in self.samples.keys() {
            let (name, rest) = series.split_once('{').unwrap_or((series, "}"));
            let family = self.family(name);
            for pair in rest.trim_end_matches('}').split(',').filter(|pair| !pair.is_empty()) {
                let (label, value) = pair.split_once('=').unwrap();
                if label != "le" {
                    seen.insert((family, label, value.trim_matches('"')));
                }
            }
        }
        seen
    }

    fn family<'a>(&self, name: &'a str) -> &'a str {
        ["_bucket", "_sum", "_count"]
            .iter()
            .filter_map(|suffix| name.strip_suffix(suffix))
            .find(|family| self.types.get(*family).is_some_and(|kind| kind == "histogram"))
            .unwrap_or(name)
    }

    /// Every family of the page with its type and labels, and no other.
    pub fn assert_as_told(&self) {
        let labels = self.labels();
        let labels_of = |family: &str| -> BTreeSet<&str> {
            labels.iter().filter(|(name, ..)| *name == family).map(|(_, label, _)| *label).collect()
        };
        let page = page();
        let rows = table(&page, "Families");
        for row in &rows {
            let [name, kind, told, ..] = row.as_slice() else { panic!("{row:?}") };
            assert_eq!(self.types.get(name), Some(kind), "{name}");
            assert_eq!(labels_of(name), words(told), "{name}");
        }
        let told: BTreeSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
        let shown: BTreeSet<&str> = self.types.keys().map(String::as_str).collect();
        assert_eq!(shown, told);
    }
}

pub fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/metrics.md");
    std::fs::read_to_string(path).unwrap()
}

/// The rows of the page's table under `heading`, each cell without its backquotes.
pub fn table(page: &str, heading: &str) -> Vec<Vec<String>> {
    let section = page.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
    let cells = |line: &str| {
        let line = line.trim().trim_matches('|').replace('`', "");
        line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(cells).collect()
}

pub fn words(cell: &str) -> BTreeSet<&str> {
    cell.split(',').map(str::trim).filter(|word| !word.is_empty() && *word != "–").collect()
}
