//! Tasks: what became of their runs, and how many wait. The latter is asked of the storage at most
//! once per scrape interval, however many scrapers come.

use super::families::{AGE, Families, unix_now};
use super::labels::{Label, task_endings};
use crate::adapters::observe::storage_upkeep::{StorageUpkeep, TaskStat};
use crate::core::payment::task::{TaskKind, TaskState};
use crate::core::ports::events::StepOutcome;
use prometheus::{Gauge, GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// Younger numbers are not asked for again.
const REFRESH: Duration = Duration::from_secs(5);

/// A scrape must not hang because the database does.
const LONGEST_QUERY: Duration = Duration::from_secs(2);

/// The storage did not tell how many tasks there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoStats;

#[derive(Debug)]
pub(super) struct Tasks {
    count: IntGaugeVec,
    oldest_due: GaugeVec,
    steps: IntCounterVec,
    ages: HistogramVec,
    last_poll: Gauge,
    /// When the numbers were last asked for. Held during the query: whoever comes meanwhile is
    /// served the numbers that are there.
    asked: Mutex<Option<Instant>>,
}

impl Tasks {
    pub(super) fn new(families: &Families<'_>) -> Self {
        let made = Self {
            count: families.gauge("tasks", "Tasks in the database", &["kind", "status"]),
            oldest_due: families.ratio(
                "task_oldest_due_age_seconds",
                "How long the longest due task has been due",
                &["kind"],
            ),
            steps: families.counter(
                "task_attempts_total",
                "Runs of tasks, by what became of them",
                &["kind", "outcome"],
            ),
            ages: families.histogram(
                "task_completion_seconds",
                "From a task's creation to its end",
                &["kind", "outcome"],
                AGE,
            ),
            last_poll: families
                .ratio(
                    "task_poll_last_success_timestamp_seconds",
                    "When the workers last looked for due tasks; 0 before the first time",
                    &[],
                )
                .with_label_values::<&str>(&[]),
            asked: Mutex::new(None),
        };
        made.start_at_zero();
        made
    }

    fn start_at_zero(&self) {
        self.show(&[]);
        for kind in TaskKind::ALL {
            for outcome in StepOutcome::ALL {
                self.steps.with_label_values(&[kind.as_str(), outcome.word()]);
            }
            for ending in task_endings() {
                self.ages.with_label_values(&[kind.as_str(), ending]);
            }
        }
    }

    fn show(&self, stats: &[TaskStat]) {
        for kind in TaskKind::ALL {
            for state in TaskState::ALL {
                let of_state = |stat: &&TaskStat| stat.kind == kind && stat.state == state;
                let count: u64 = stats.iter().filter(of_state).map(|stat| stat.count).sum();
                self.count
                    .with_label_values(&[kind.as_str(), state.as_str()])
                    .set(i64::try_from(count).unwrap_or(i64::MAX));
            }
            let oldest =
                stats.iter().filter(|stat| stat.kind == kind).filter_map(|stat| stat.oldest_due);
            self.oldest_due
                .with_label_values(&[kind.as_str()])
                .set(oldest.max().unwrap_or_default().as_secs_f64());
        }
    }

    pub(super) fn step(&self, kind: TaskKind, outcome: StepOutcome) {
        self.steps.with_label_values(&[kind.as_str(), outcome.word()]).inc();
    }

    pub(super) fn finished(&self, kind: TaskKind, outcome: &str, age: Duration) {
        self.ages.with_label_values(&[kind.as_str(), outcome]).observe(age.as_secs_f64());
    }

    pub(super) fn polled(&self) {
        self.last_poll.set(unix_now());
    }

    /// Asks the storage how many tasks wait, unless it was asked lately or is being asked.
    ///
    /// # Errors
    /// The storage did not answer; the last numbers stay.
    pub(super) async fn refresh(&self, storage: &dyn StorageUpkeep) -> Result<(), NoStats> {
        let Ok(mut asked) = self.asked.try_lock() else { return Ok(()) };
        if asked.is_some_and(|moment| moment.elapsed() < REFRESH) {
            return Ok(());
        }
        let stats = timeout(LONGEST_QUERY, storage.task_stats()).await;
        *asked = Some(Instant::now());
        match stats {
            Ok(Ok(stats)) => self.show(&stats),
            Ok(Err(_)) | Err(_) => return Err(NoStats),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::{Registry, TextEncoder};

    #[test]
    fn what_no_longer_waits_is_shown_as_nothing() {
        let registry = Registry::new();
        let tasks = Tasks::new(&Families(&registry));
        let shown = |line: &str| {
            let page = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
            page.lines().any(|shown| shown == line)
        };
        tasks.show(&[TaskStat {
            kind: TaskKind::RegisterPayment,
            state: TaskState::Queued,
            count: 7,
            oldest_due: Some(Duration::from_millis(1500)),
        }]);
        assert!(shown(r#"tasks{kind="register_payment",status="queued"} 7"#));
        assert!(shown(r#"task_oldest_due_age_seconds{kind="register_payment"} 1.5"#));
        tasks.show(&[]);
        assert!(shown(r#"tasks{kind="register_payment",status="queued"} 0"#));
        assert!(shown(r#"task_oldest_due_age_seconds{kind="register_payment"} 0"#));
    }
}
