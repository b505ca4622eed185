//! Keeps the guide's figures those of the lab: each page has a block that an experiment writes.

use super::catalog::Experiment;
use super::report::Report;
use super::text::Lang;
use std::fs;
use std::io::{self, Error};
use std::path::{Path, PathBuf};

/// Where the pages of a language are.
#[must_use]
pub fn folder(guide: &Path, lang: Lang) -> PathBuf {
    match lang {
        Lang::En => guide.to_owned(),
        Lang::Ru => guide.join("ru"),
    }
}

/// Writes an experiment's picture and its block in the page of its name, in both languages.
///
/// # Errors
/// A page that is not there or has no block, or a folder that cannot be written.
pub fn renew(guide: &Path, experiment: &Experiment, report: &Report) -> io::Result<()> {
    for lang in [Lang::En, Lang::Ru] {
        let folder = folder(guide, lang);
        draw(&folder.join("img"), experiment, report, lang)?;
        let page = folder.join(experiment.name).with_extension("md");
        let text = fs::read_to_string(&page).map_err(|error| at(&page, &error))?;
        let renewed = with_block(&text, experiment.name, &report.markdown(lang))
            .ok_or_else(|| at(&page, &"there is no block for the lab"))?;
        fs::write(&page, renewed)?;
    }
    Ok(())
}

/// Writes the picture alone, and tells where.
///
/// # Errors
/// A folder that cannot be written.
pub fn draw(
    folder: &Path,
    experiment: &Experiment,
    report: &Report,
    lang: Lang,
) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let file = folder.join(experiment.name).with_extension("svg");
    fs::write(&file, report.chart.svg(lang))?;
    Ok(file)
}

/// What stands in a page's block.
#[must_use]
pub fn block<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(&begin(name))?;
    rest.split_once(END).map(|(inside, _)| inside)
}

fn with_block(page: &str, name: &str, inside: &str) -> Option<String> {
    let begin = begin(name);
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{begin}{inside}{END}{after}"))
}

fn begin(name: &str) -> String {
    format!("<!-- written by `order-service lab {name}` -->\n")
}

const END: &str = "<!-- end -->";

fn at(page: &Path, problem: &dyn std::fmt::Display) -> Error {
    Error::other(format!("{}: {problem}", page.display()))
}
