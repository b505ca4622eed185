//! What an experiment brings home: a table, a picture, and claims.

use super::text::{Lang, Text};
use std::fmt::{self, Display, Write};

pub use super::chart::Chart;

/// The finding of one experiment.
#[derive(Debug)]
pub struct Report {
    /// The first names the rows.
    pub columns: Vec<Text>,
    /// The variants side by side.
    pub rows: Vec<Row>,
    /// The picture.
    pub chart: Chart,
    /// What it shows.
    pub claims: Vec<Claim>,
}

/// One variant and its figures.
#[derive(Debug)]
pub struct Row {
    /// Which variant.
    pub label: Text,
    /// One cell for each further column.
    pub cells: Vec<String>,
}

/// What the lesson says, and whether it came out: always a direction, never a number of milliseconds.
#[derive(Debug)]
pub struct Claim {
    /// In words.
    pub says: Text,
    /// Whether it did.
    pub holds: bool,
}

pub(super) fn row<const N: usize>(label: Text, cells: [String; N]) -> Row {
    Row { label, cells: cells.into() }
}

pub(super) fn claim(holds: bool, says: Text) -> Claim {
    Claim { says, holds }
}

/// A number with its thousands apart.
pub(super) fn count(number: impl Display) -> String {
    let digits = number.to_string();
    let mut apart = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            apart.push(' ');
        }
        apart.push(digit);
    }
    apart
}

/// A share as percent.
pub(super) fn percent(share: f64) -> String {
    let hundred = share * 100.0;
    if hundred == 0.0 || hundred >= 10.0 {
        format!("{hundred:.0} %")
    } else {
        format!("{hundred:.1} %")
    }
}

impl Report {
    /// Whether everything came out that the lesson says.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.claims.iter().all(|claim| claim.holds)
    }

    /// As a table of Markdown with the claims below.
    #[must_use]
    pub fn markdown(&self, lang: Lang) -> String {
        let mut page = String::new();
        self.write_markdown(&mut page, lang).expect("a string takes everything");
        page
    }

    fn write_markdown(&self, page: &mut String, lang: Lang) -> fmt::Result {
        let heads: Vec<_> = self.columns.iter().map(|column| column.of(lang)).collect();
        writeln!(page, "| {} |", heads.join(" | "))?;
        writeln!(page, "|---|{}", "--:|".repeat(heads.len() - 1))?;
        for row in &self.rows {
            writeln!(page, "| {} | {} |", row.label.of(lang), row.cells.join(" | "))?;
        }
        writeln!(page)?;
        for claim in &self.claims {
            writeln!(page, "* {}", claim.says.of(lang))?;
        }
        Ok(())
    }

    /// For a terminal: columns in line, and whether each claim came out.
    #[must_use]
    pub fn terminal(&self, lang: Lang) -> String {
        let heads = self.columns.iter().map(|column| column.of(lang)).collect();
        let lines = self.rows.iter().map(|row| {
            std::iter::once(row.label.of(lang))
                .chain(row.cells.iter().map(String::as_str))
                .collect()
        });
        let lines: Vec<Vec<&str>> = std::iter::once(heads).chain(lines).collect();
        let width = |column: usize| {
            lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max()
        };
        let mut page = String::new();
        for line in &lines {
            let cells = line.iter().enumerate().map(|(column, cell)| {
                let width = width(column).unwrap_or(0);
                if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            page += cells.collect::<Vec<_>>().join("  ").trim_end();
            page.push('\n');
        }
        for claim in &self.claims {
            let mark = if claim.holds { "✓" } else { "✗" };
            page += &format!("{mark} {}\n", claim.says.of(lang));
        }
        page
    }
}
