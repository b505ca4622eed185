//! What a run came to.

use super::client_session::{ClientSession, RefundAnswer};
use super::harness::{Harness, Plan};
use super::ledger::Ledger;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Debug)]
pub struct Report {
    title: String,
    rows: Vec<(&'static str, String)>,
    /// An order or a task that was promised and is not there, or not finished.
    pub lost: Vec<String>,
    /// An effect that happened twice.
    pub double: Vec<String>,
    /// Any other contradiction.
    pub wrong: Vec<String>,
    pub quiet_after: Duration,
}

impl Report {
    pub fn of(plan: &Plan) -> Self {
        let Plan { seed, database, instances, clients, storm, binary: _ } = plan;
        Self {
            title: format!(
                "{database:?}, {instances} instance(s), {clients} clients, {storm:?}, seed {seed}"
            ),
            rows: vec![],
            lost: vec![],
            double: vec![],
            wrong: vec![],
            quiet_after: Duration::ZERO,
        }
    }

    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.double.is_empty() && self.wrong.is_empty()
    }

    pub fn take_seen(&mut self, seen: Vec<String>) {
        for what in seen {
            match what.split_once(' ') {
                Some(("LOST", _)) => self.lost.push(what),
                Some(("DOUBLE", _)) => self.double.push(what),
                Some(_) | None => self.wrong.push(what),
            }
        }
    }

    pub fn count(&mut self, harness: &Harness, sessions: &[ClientSession]) {
        let tally = &harness.tally;
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed).to_string();
        let sum = |part: fn(&ClientSession) -> usize| {
            sessions.iter().map(part).sum::<usize>().to_string()
        };
        let done = |session: &ClientSession| {
            session.refunds.iter().filter(|refund| refund.answer == RefundAnswer::Done).count()
        };
        let mut restarts = harness.restarts.lock().unwrap().clone();
        restarts.sort_unstable();
        let nth = |place: usize| restarts.get(place).copied().unwrap_or_default();
        let (median, worst) = (nth(restarts.len() / 2), nth(restarts.len().saturating_sub(1)));
        self.rows = vec![
            ("kill -9", of(&tally.kills)),
            ("SIGTERM", of(&tally.terms)),
            ("COMMITs cut before the server heard them", of(&tally.cut_before)),
            ("COMMITs cut after the server heard them", of(&tally.cut_after)),
            ("database restarts", of(&tally.database_restarts)),
            ("moods and faults of partners", of(&tally.faults)),
            ("requests", of(&tally.requests)),
            ("of these without an answer", of(&tally.unanswered)),
            ("orders (201)", sum(|session| usize::from(session.placed.is_some()))),
            ("confirms with a form (200)", sum(|session| session.forms.len())),
            ("tasks (202)", sum(|session| session.tasks.len())),
            ("payments", Ledger::read(harness).payments().to_string()),
            ("refunds", sum(done)),
            ("ready again after a death, median", format!("{median:.1?}")),
            ("ready again after a death, worst", format!("{worst:.1?}")),
            ("everything settled after the storm", format!("{:.1?}", self.quiet_after)),
            ("lost", self.lost.len().to_string()),
            ("double", self.double.len().to_string()),
            ("other contradictions", self.wrong.len().to_string()),
        ];
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n\n| | |\n|---|---|", self.title)?;
        for (what, figure) in &self.rows {
            writeln!(f, "| {what} | {figure} |")?;
        }
        for what in self.lost.iter().chain(&self.double).chain(&self.wrong).take(20) {
            writeln!(f, "\n{what}")?;
        }
        Ok(())
    }
}
