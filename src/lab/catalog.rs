//! All experiments, in the order of the guide.

use super::experiments as of;
use super::report::Report;
use super::text::{Text, text};

/// How much of it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// As the guide shows it.
    Full,
    /// Enough to see the direction.
    Small,
}

impl Scale {
    /// One of two sizes.
    pub(super) const fn of(self, full: usize, small: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Small => small,
        }
    }
}

/// Which clock an experiment runs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeKind {
    /// Tokio's, paused: no waiting, and the same figures in every run.
    Virtual,
    /// The wall's: sockets, a database, the whole service.
    Real,
}

/// One lesson that anybody can run.
#[derive(Debug)]
pub struct Experiment {
    /// As the command and the guide's page have it.
    pub name: &'static str,
    /// What it asks.
    pub title: Text,
    /// How it runs.
    pub clock: TimeKind,
    /// Runs it.
    pub run: fn(Scale) -> Report,
}

const fn virtual_one(name: &'static str, title: Text, run: fn(Scale) -> Report) -> Experiment {
    Experiment { name, title, clock: TimeKind::Virtual, run }
}

const fn real_one(name: &'static str, title: Text, run: fn(Scale) -> Report) -> Experiment {
    Experiment { name, title, clock: TimeKind::Real, run }
}

/// Every experiment once.
pub const EXPERIMENTS: &[Experiment] = &[
    virtual_one(
        "breaker",
        text("A breaker in every method of an adapter", "Предохранитель в каждом методе адаптера"),
        of::breaker::run,
    ),
    virtual_one(
        "classify",
        text("What counts as a failure", "Что считать отказом"),
        of::classify::run,
    ),
    virtual_one(
        "windows",
        text("The last calls, or the last seconds", "Последние вызовы или последние секунды"),
        of::windows::run,
    ),
    virtual_one(
        "minimum",
        text("How many calls before a decision", "Сколько вызовов нужно до решения"),
        of::minimum::run,
    ),
    virtual_one(
        "thresholds",
        text("A threshold from data", "Порог по данным"),
        of::thresholds::run,
    ),
    virtual_one(
        "slow",
        text("Slow is the worst failure", "Медленный хуже мёртвого"),
        of::slow::run,
    ),
    virtual_one(
        "half-open",
        text("How many probes", "Сколько пробных вызовов"),
        of::half_open::run,
    ),
    virtual_one(
        "late",
        text("Results of another time", "Результаты из другого времени"),
        of::late::run,
    ),
    virtual_one(
        "flapping",
        text("A partner that comes and goes", "Партнёр, который то есть, то нет"),
        of::flapping::run,
    ),
    virtual_one(
        "jitter",
        text("A thousand instances in step", "Тысяча экземпляров в ногу"),
        of::jitter::run,
    ),
    virtual_one(
        "thousands",
        text("Breakers by the thousand", "Предохранители тысячами"),
        of::thousands::run,
    ),
    virtual_one(
        "bulkhead",
        text("One hung partner, and the others", "Один зависший партнёр и остальные"),
        of::bulkhead::run,
    ),
    virtual_one(
        "sizing",
        text("How many permits: Little's law", "Сколько мест: закон Литтла"),
        of::sizing::run,
    ),
    virtual_one(
        "queue",
        text("A queue does not serve anybody", "Очередь никого не обслуживает"),
        of::queue::run,
    ),
    virtual_one("timeouts", text("How long to wait", "Сколько ждать"), of::timeouts::run),
    virtual_one("deadline", text("Work for nobody", "Работа ни для кого"), of::deadline::run),
    virtual_one("retry-storm", text("A storm of retries", "Шторм повторов"), of::retry_storm::run),
    virtual_one(
        "failover",
        text("Where else, and when never", "Куда ещё и когда никуда"),
        of::failover::run,
    ),
    real_one(
        "fallback",
        text("What is said instead of an answer", "Что сказать вместо ответа"),
        of::fallback::run,
    ),
    virtual_one("shedding", text("To say no in time", "Вовремя сказать «нет»"), of::shedding::run),
    virtual_one("drain", text("To leave without a trace", "Уйти незаметно"), of::drain::run),
    real_one(
        "health",
        text("Health that does not lie", "Здоровье, которое не лжёт"),
        of::health::run,
    ),
    virtual_one("proxy", text("The outer wall", "Внешняя стена"), of::proxy::run),
    virtual_one(
        "rollout",
        text("A breaker comes into production", "Предохранитель выходит в эксплуатацию"),
        of::rollout::run,
    ),
    virtual_one(
        "objective",
        text("What each guard did to P95 and P99", "Что каждая защита сделала с P95 и P99"),
        of::objective::run,
    ),
];

/// The one of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}
