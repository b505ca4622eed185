//! `order-service lab`: experiments of the guide, run here.

use crate::lab::catalog::{self, EXPERIMENTS, Experiment, Scale, TimeKind};
use crate::lab::{Lang, guide};
use anyhow::bail;
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the guide's pages are, seen from the repository's root.
const GUIDE: &str = "docs/guide";

/// What is run, and where its picture goes.
#[derive(Debug, Clone, Args)]
pub(super) struct Lab {
    /// Which experiment; `all` runs each, and renews the guide where docs/guide is; none lists them
    name: Option<String>,
    /// Less of it: enough to see the direction
    #[arg(long)]
    small: bool,
    /// In Russian
    #[arg(long)]
    ru: bool,
    /// The folder of the picture
    #[arg(long, default_value = "data/lab")]
    out: PathBuf,
}

/// Runs what was asked for; tells whether everything came out as the guide says.
///
/// # Errors
/// An unknown name, or a file that cannot be written.
pub(super) fn run(lab: &Lab) -> anyhow::Result<bool> {
    match lab.name.as_deref() {
        None => list(lab.lang()).map(|()| true),
        Some("all") => {
            let mut holds = true;
            for experiment in EXPERIMENTS {
                holds &= one(lab, experiment, Path::new(GUIDE).is_dir() && !lab.small)?;
            }
            Ok(holds)
        }
        Some(name) => match catalog::find(name) {
            Some(experiment) => one(lab, experiment, false),
            None => bail!("there is no experiment {name}; `order-service lab` lists them"),
        },
    }
}

impl Lab {
    const fn lang(&self) -> Lang {
        if self.ru { Lang::Ru } else { Lang::En }
    }
}

fn list(lang: Lang) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for Experiment { name, title, clock, .. } in EXPERIMENTS {
        writeln!(out, "{name:<14} {:<13} {}", clock_word(*clock), title.of(lang))?;
    }
    Ok(())
}

fn one(lab: &Lab, experiment: &Experiment, renews: bool) -> anyhow::Result<bool> {
    let scale = if lab.small { Scale::Small } else { Scale::Full };
    let report = (experiment.run)(scale);
    let (lang, mut out) = (lab.lang(), std::io::stdout().lock());
    let clock = clock_word(experiment.clock);
    writeln!(out, "{}: {} ({clock})\n", experiment.name, experiment.title.of(lang))?;
    writeln!(out, "{}", report.terminal(lang))?;
    if renews {
        guide::renew(Path::new(GUIDE), experiment, &report)?;
    } else {
        let file = guide::draw(&lab.out, experiment, &report, lang)?;
        writeln!(out, "{}", file.display())?;
    }
    Ok(report.holds())
}

const fn clock_word(clock: TimeKind) -> &'static str {
    match clock {
        TimeKind::Virtual => "virtual time",
        TimeKind::Real => "real time",
    }
}
