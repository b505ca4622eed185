//! Tables as Markdown, and pairs of rounds.

use crate::SECTIONS;
use crate::load::{self, Round};
use crate::process::{spent_everywhere, spent_here};
use crate::stacks::{Stack, Stacks};
use crate::work::Work;
use anyhow::Result;
use std::io::Write;
use std::time::Duration;
use tokio::time::Instant;

/// Of one side at a time; then it is the other's turn.
const SPAN: Duration = Duration::from_millis(1_500);
const WARM_UP: Duration = Duration::from_millis(300);
const ROUNDS: usize = 3;

pub fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").expect("standard output");
}

pub fn head(title: &str, about: &str, columns: &[&str]) {
    say(&format!("\n### {title}\n\n{about}\n"));
    say(&format!("| {} |", columns.join(" | ")));
    let rest = "---:|".repeat(columns.len() - 1);
    say(&format!("|---|{rest}"));
}

pub fn compared(title: &str, about: &str) {
    head(
        title,
        about,
        &[
            "work",
            "clients",
            "bare /s",
            "ours /s",
            "ratio",
            "bare p50, p99 ms",
            "ours p50, p99 ms",
            "bare µs",
            "ours µs",
            "ratio",
        ],
    );
}

/// Whether the command line asks for the row; words of sections do not count.
pub fn wanted(what: &str) -> bool {
    let words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let words: Vec<String> = words.filter(|word| !SECTIONS.contains(&&**word)).collect();
    words.is_empty() || words.iter().any(|word| what.contains(&**word))
}

/// One row: what is asked of the bare stack and of ours, in turns.
pub async fn compare(
    what: &str,
    stacks: &Stacks,
    (bare, ours): (&Work, &Work),
    clients: usize,
) -> Result<()> {
    if !wanted(what) {
        return Ok(());
    }
    round(&stacks.bare, bare, clients, WARM_UP).await?;
    round(&stacks.ours, ours, clients, WARM_UP).await?;
    let (mut of_bare, mut of_ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        of_bare.push(round(&stacks.bare, bare, clients, SPAN).await?);
        of_ours.push(round(&stacks.ours, ours, clients, SPAN).await?);
    }
    row(what, clients, &of_bare, &of_ours);
    Ok(())
}

pub fn row(what: &str, clients: usize, bare: &[Round], ours: &[Round]) {
    let rate = [bare, ours].map(|rounds| median(rounds, Round::per_second));
    let cost = [bare, ours].map(|rounds| median(rounds, Round::cost));
    let waits = [bare, ours].map(|rounds| {
        let [half, most] = [50, 99].map(|percent| median(rounds, |round| round.wait(percent)));
        format!("{half:.1}, {most:.1}")
    });
    say(&format!(
        "| {what} | {clients} | {:.0} | {:.0} | {:.2} | {} | {} | {:.1} | {:.1} | {:.2} |",
        rate[0],
        rate[1],
        rate[1] / rate[0],
        waits[0],
        waits[1],
        cost[0],
        cost[1],
        cost[1] / cost[0],
    ));
}

pub async fn round(stack: &Stack, work: &Work, clients: usize, span: Duration) -> Result<Round> {
    load::closed(&stack.process, stack.address, work, clients, span).await
}

pub fn median(rounds: &[Round], figure: impl Fn(&Round) -> f64) -> f64 {
    let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// What else the machine was busy with.
#[derive(Debug)]
pub struct Foreign {
    begun: Instant,
    everywhere: Duration,
}

impl Foreign {
    pub fn start() -> Result<Self> {
        Ok(Self { begun: Instant::now(), everywhere: spent_everywhere()? })
    }

    /// Servers that are measured have ended by now, so that their time is counted as ours.
    pub fn told(&self) -> Result<String> {
        let (lasted, ours) = (self.begun.elapsed(), spent_here()?);
        let all = spent_everywhere()? - self.everywhere;
        let cores = std::thread::available_parallelism()?.get();
        let foreign = all.saturating_sub(ours).as_secs_f64() / lasted.as_secs_f64();
        Ok(format!(
            "\nThe whole took {:.0} s. Other processes, a database server among them, took {foreign:.2} of \
             the machine's {cores} cores meanwhile.",
            lasted.as_secs_f64()
        ))
    }
}
