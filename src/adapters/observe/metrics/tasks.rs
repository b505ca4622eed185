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

/// The states whose tasks the storage counts: of finished ones there are a month.
const COUNTED: [TaskState; 3] = [TaskState::Queued, TaskState::Running, TaskState::Review];

/// In which states a task waits for an operator, and for which deed.
const FOR_OPERATOR: [(TaskState, &str); 2] =
    [(TaskState::Queued, "release"), (TaskState::Review, "review")];

/// The storage did not tell how many tasks there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoStats;

#[derive(Debug)]
pub(super) struct Tasks {
    count: IntGaugeVec,
    oldest_due: GaugeVec,
    for_operator: IntGaugeVec,
    oldest_for_operator: GaugeVec,
    reviews: IntCounterVec,
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
            count: families.gauge(
                "tasks",
                "Tasks that are unfinished, or in a review that no operator has closed",
                &["kind", "status"],
            ),
            oldest_due: families.ratio(
                "task_oldest_due_age_seconds",
                "How long the longest due task has been due",
                &["kind"],
            ),
            for_operator: families.gauge(
                "tasks_for_operator",
                "Tasks that nothing but an operator moves on: to be released, or in review",
                &["kind", "waits_for"],
            ),
            oldest_for_operator: families.ratio(
                "task_oldest_for_operator_age_seconds",
                "How long the task that waits longest for an operator has waited",
                &["kind"],
            ),
            reviews: families.counter(
                "task_reviews_total",
                "Tasks that were laid before a person",
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
            self.reviews.with_label_values(&[kind.as_str()]);
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
            let of_kind: Vec<_> = stats.iter().filter(|stat| stat.kind == kind).collect();
            let sum = |state, number: fn(&TaskStat) -> u64| {
                let of_state = of_kind.iter().filter(|stat| stat.state == state);
                let count: u64 = of_state.map(|stat| number(stat)).sum();
                i64::try_from(count).unwrap_or(i64::MAX)
            };
            for state in COUNTED {
                let count = sum(state, |stat| stat.count);
                self.count.with_label_values(&[kind.as_str(), state.as_str()]).set(count);
            }
            for (state, waits_for) in FOR_OPERATOR {
                let count = sum(state, |stat| stat.for_operator);
                self.for_operator.with_label_values(&[kind.as_str(), waits_for]).set(count);
            }
            let longest = |age: fn(&TaskStat) -> Option<Duration>| {
                of_kind.iter().filter_map(|stat| age(stat)).max().unwrap_or_default().as_secs_f64()
            };
            let kind = [kind.as_str()];
            self.oldest_due.with_label_values(&kind).set(longest(|stat| stat.oldest_due));
            let waited = longest(|stat| stat.oldest_for_operator);
            self.oldest_for_operator.with_label_values(&kind).set(waited);
        }
    }

    pub(super) fn reviewed(&self, kind: TaskKind) {
        self.reviews.with_label_values(&[kind.as_str()]).inc();
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
        let waiting = TaskStat {
            kind: TaskKind::RefundPayment,
            state: TaskState::Queued,
            count: 7,
            oldest_due: Some(Duration::from_millis(1500)),
            for_operator: 2,
            oldest_for_operator: Some(Duration::from_secs(60)),
        };
        let review = TaskStat {
            state: TaskState::Review,
            count: 3,
            oldest_due: None,
            for_operator: 3,
            oldest_for_operator: Some(Duration::from_secs(90)),
            ..waiting
        };
        let gauges = [
            (r#"tasks{kind="refund_payment",status="queued"}"#, "7"),
            (r#"tasks{kind="refund_payment",status="review"}"#, "3"),
            (r#"task_oldest_due_age_seconds{kind="refund_payment"}"#, "1.5"),
            (r#"tasks_for_operator{kind="refund_payment",waits_for="release"}"#, "2"),
            (r#"tasks_for_operator{kind="refund_payment",waits_for="review"}"#, "3"),
            (r#"task_oldest_for_operator_age_seconds{kind="refund_payment"}"#, "90"),
        ];
        tasks.show(&[waiting, review]);
        for (series, value) in gauges {
            assert!(shown(&format!("{series} {value}")), "{series}");
        }
        tasks.show(&[]);
        for (series, _) in gauges {
            assert!(shown(&format!("{series} 0")), "{series}");
        }
    }

    #[test]
    fn no_state_is_shown_whose_tasks_nobody_counts() {
        let registry = Registry::new();
        let _tasks = Tasks::new(&Families(&registry));
        let page = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        assert!(!page.contains(r#"status="succeeded""#), "there may be a month of them");
    }
}
