//! The environment on its way to becoming a configuration: read with `envy`, one group at a time,
//! while every problem is collected and nobody's secret is told.

use super::problem::{Problem, Problems};
use super::rows::{Default, Row, Shown};
use super::secret::{mask, printable, read_secret, unfit};
use super::typos::{Names, Unknown};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

#[derive(Debug)]
pub(super) struct Environment {
    /// Set and not empty: an empty value (`${X:-}` of a compose file) means unset.
    set: BTreeMap<String, Held>,
    /// Read where nothing is set, before the rows' own defaults.
    fallback: BTreeMap<String, String>,
    rows: BTreeMap<String, Shown>,
    prefixes: BTreeSet<String>,
    /// Nobody is kept out, so placeholders do.
    sandbox: bool,
    /// Why the group that is being read must be set.
    because: Option<String>,
    effective: Vec<(String, String)>,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

enum Held {
    Text(String),
    NotUtf8,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

/// A configuration's plain text, and what might better be changed.
pub(super) type Effective = (Vec<(String, String)>, Vec<Problem>);

impl Environment {
    /// A foreign variable that is not UTF-8 is nobody's concern; one of ours is a problem.
    pub(super) fn new(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        fallback: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let named = variables.into_iter().filter_map(|(name, value)| {
            let held = value.into_string().map_or(Held::NotUtf8, Held::Text);
            let empty = matches!(&held, Held::Text(text) if text.is_empty());
            if empty { None } else { name.into_string().ok().map(|name| (name, held)) }
        });
        Self {
            set: named.collect(),
            fallback: fallback.into_iter().collect(),
            rows: BTreeMap::new(),
            prefixes: BTreeSet::new(),
            sandbox: false,
            because: None,
            effective: vec![],
            problems: vec![],
            warnings: vec![],
        }
    }

    /// For the sandbox, where nothing is at stake.
    pub(super) fn in_sandbox(self) -> Self {
        Self { sandbox: true, ..self }
    }

    pub(super) const fn is_sandbox(&self) -> bool {
        self.sandbox
    }

    /// Reads one group of variables. `envy` stops at the first fault, so each value is tried alone
    /// among the defaults; one that is refused becomes a problem, and its default takes its place,
    /// so that the checks that follow still find what else is wrong.
    pub(super) fn group<T: DeserializeOwned>(&mut self, prefix: &str, rows: &[Row]) -> T {
        self.prefixes.insert(prefix.to_owned());
        let mut accepted = BTreeMap::new();
        for row in rows {
            if let Default::Text(text) | Default::Required(text) = row.default {
                accepted.insert(format!("{prefix}{}", row.name), text.to_owned());
            }
        }
        for row in rows {
            let name = format!("{prefix}{}", row.name);
            self.rows.insert(name.clone(), row.shown);
            let given = self.given(&name, row.shown);
            let shown = match (&given, row.default) {
                (Some(value), _) => mask(value, row.shown),
                (None, Default::Text(text)) => text.to_owned(),
                (None, Default::Unset | Default::Required(_)) => String::new(),
            };
            self.effective.push((name.clone(), shown));
            let missing = given.is_none() && matches!(row.default, Default::Required(_));
            let Some(value) = given.or_else(|| missing.then(String::new)) else { continue };
            let unfit = unfit(&value, self.sandbox).filter(|_| !missing);
            if let Some(expected) = unfit.filter(|_| row.shown != Shown::Plainly) {
                self.refuse(&name, expected);
                continue;
            }
            let mut tried = accepted.clone();
            tried.insert(name.clone(), value);
            match envy::prefixed(prefix).from_iter::<_, T>(tried.clone()) {
                Ok(_) if missing => self.refuse(&name, "a value: there is no default"),
                Ok(_) => accepted = tried,
                Err(error) if missing => self.refuse(&name, &self.missed(&error)),
                Err(error) => self.refuse(&name, &expectation(&error)),
            }
        }
        envy::prefixed(prefix).from_iter(accepted).expect("every default is valid (tested)")
    }

    /// What was expected of a variable that is not set, and why it is asked for.
    fn missed(&self, error: &envy::Error) -> String {
        let why = self.because.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        expectation(error) + &why
    }

    /// Reads what must be set only for a reason, which a message about it tells.
    pub(super) fn reading_because<T>(&mut self, why: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.because = Some(why.to_owned());
        let read = read(self);
        self.because = None;
        read
    }

    /// The first variable of a group that anybody has set.
    pub(super) fn first_given(&self, prefix: &str, rows: &[Row]) -> Option<String> {
        let names = rows.iter().map(|row| format!("{prefix}{}", row.name));
        let mut names = names.flat_map(|name| [format!("{name}_FILE"), name]);
        names.find(|name| self.set.contains_key(name) || self.fallback.contains_key(name))
    }

    /// A group of which nothing is wanted: only its names are known.
    pub(super) fn leave_out(&mut self, prefix: &str, rows: &[Row]) {
        self.prefixes.insert(prefix.to_owned());
        let named = rows.iter().map(|row| (format!("{prefix}{}", row.name), row.shown));
        self.rows.extend(named);
    }

    /// Whether the value in force is the fallback's.
    pub(super) fn is_lent(&self, name: &str) -> bool {
        let own = [name.to_owned(), format!("{name}_FILE")];
        !own.iter().any(|name| self.set.contains_key(name)) && self.fallback.contains_key(name)
    }

    /// What is given for a variable, by itself, by a file, or by the fallback.
    fn given(&mut self, name: &str, shown: Shown) -> Option<String> {
        let direct = match self.set.get(name) {
            Some(Held::NotUtf8) => {
                self.push(name, Some("…".into()), "UTF-8");
                return None;
            }
            Some(Held::Text(text)) => Some(text.clone()),
            None => None,
        };
        let file = format!("{name}_FILE");
        if shown != Shown::Plainly {
            self.rows.insert(file.clone(), Shown::Plainly);
            if let Some(Held::Text(path)) = self.set.get(&file) {
                let path = path.clone();
                if direct.is_some() {
                    self.refuse(&file, &format!("no file while {name} is set itself"));
                    return direct;
                }
                return match read_secret(&path) {
                    Ok(secret) => Some(secret),
                    Err(reason) => {
                        self.refuse(&file, &format!("a file with the secret ({reason})"));
                        None
                    }
                };
            }
        }
        direct.or_else(|| self.fallback.get(name).cloned())
    }

    /// What somebody set a variable to that belongs to no group.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.set.get(name)? {
            Held::Text(text) => Some(text),
            Held::NotUtf8 => None,
        }
    }

    /// Adds a problem, unless the variable already has one: then what it holds is not what was
    /// judged.
    pub(super) fn refuse(&mut self, name: &str, expected: &str) {
        let holds = self.holds(name);
        self.push(name, holds, expected);
    }

    fn push(&mut self, name: &str, holds: Option<String>, expected: &str) {
        let file = format!("{name}_FILE");
        if !self.problems.iter().any(|p| p.variable == name || p.variable == file) {
            let (variable, expected) = (name.to_owned(), expected.to_owned());
            self.problems.push(Problem { variable, holds, expected });
        }
    }

    pub(super) fn warn(&mut self, name: &str, expected: &str) {
        let (variable, holds) = (name.to_owned(), self.holds(name));
        self.warnings.push(Problem { variable, holds, expected: expected.to_owned() });
    }

    /// Replaces the text that `order-service config` prints for a value found out at start.
    pub(super) fn found_out(&mut self, name: &str, value: impl Into<String>) {
        if let Some((_, text)) = self.effective.iter_mut().find(|(n, _)| n == name) {
            *text = value.into();
        }
    }

    fn holds(&self, name: &str) -> Option<String> {
        let effective = self.effective.iter().find(|(n, _)| n == name).map(|(_, value)| value);
        let text = match (effective, self.set.get(name)) {
            (Some(value), _) => Some(value.clone()),
            (None, Some(Held::Text(text))) => Some(text.clone()),
            (None, Some(Held::NotUtf8)) => Some("…".into()),
            (None, None) => None,
        };
        text.filter(|text| !text.is_empty()).map(|text| printable(&text))
    }

    /// Variables that libraries read by themselves: shown as they are set, but for headers and passwords.
    pub(super) fn foreign(&mut self, prefix: &str) {
        for (name, held) in self.set.range(prefix.to_owned()..) {
            let Held::Text(text) = held else { continue };
            if !name.starts_with(prefix) {
                break;
            }
            let shown = match name.rsplit('_').next() {
                Some("HEADERS") => Shown::Never,
                Some("ENDPOINT") => Shown::WithoutPassword,
                Some(_) | None => Shown::Plainly,
            };
            self.rows.insert(name.clone(), shown);
            self.effective.push((name.clone(), mask(text, shown)));
        }
    }

    pub(super) fn finish(mut self) -> Result<Effective, Problems> {
        self.look_for_typos();
        if self.problems.is_empty() {
            Ok((self.effective, self.warnings))
        } else {
            Err(Problems { all: self.problems, effective: self.effective })
        }
    }

    /// A misspelt variable would leave its default in force in silence. Its value is not told: a
    /// misspelt secret is a secret.
    fn look_for_typos(&mut self) {
        let found = Names { known: &self.rows, set: &self.set, prefixes: &self.prefixes }.unknown();
        for Unknown { variable, expected, ours } in found {
            if ours {
                self.push(&variable, Some("***".into()), &expected);
            } else {
                self.warnings.push(Problem { variable, holds: Some("***".into()), expected });
            }
        }
    }
}

/// What a field's type expected, out of the sentence of `envy` or serde.
fn expectation(error: &envy::Error) -> String {
    let text = error.to_string();
    text.rsplit_once("expected ").map_or(text.as_str(), |(_, expected)| expected).to_owned()
}
