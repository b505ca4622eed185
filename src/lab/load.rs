//! The load generator and what it saw. It is an open loop: calls begin when they are due, whatever became
//! of those before. A closed loop waits for the answer before it asks again, so a hung partner makes it
//! polite, and the percentiles look fine while customers wait (coordinated omission).

use super::clock::ms;
use super::report::count;
use crate::adapters::resilience::verdict::Failed;
use crate::core::domain::unavailable::{Cause, NotExecuted};
use futures_util::future::join_all;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// The partner's answer is a refusal in business terms: no money on the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Declined;

pub(super) type Answer = Result<(), Failed<Declined>>;

/// How a call ended for whoever made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Answered,
    Declined,
    /// A guard of ours refused it before anything was sent.
    Shed,
    /// No answer.
    Failed,
}

impl From<Answer> for Ending {
    fn from(answer: Answer) -> Self {
        match answer {
            Ok(()) => Self::Answered,
            Err(Failed::Answered(Declined)) => Self::Declined,
            Err(Failed::NoAnswer(no)) => match no.cause {
                Cause::NotExecuted(NotExecuted::Shed(_)) => Self::Shed,
                Cause::NotExecuted(_) | Cause::Unknown(_) => Self::Failed,
            },
        }
    }
}

/// One call: when it was due, how long it took, how it ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) at: Duration,
    pub(super) took: Duration,
    pub(super) ending: Ending,
}

/// Calls at even distances.
pub(super) fn every(gap: Duration, calls: usize) -> Vec<Duration> {
    (0..calls).map(|n| gap * u32::try_from(n).unwrap_or(u32::MAX)).collect()
}

/// Calls of independent clients, so many a second on the average: each tenth of a millisecond throws the
/// dice anew, which is a Poisson process as near as matters.
pub(super) fn at_random(per_second: f64, during: Duration) -> Vec<Duration> {
    let slots = during.as_micros() / 100;
    let slots =
        (0..u64::try_from(slots).unwrap_or(u64::MAX)).map(|n| Duration::from_micros(100 * n));
    slots.filter(|_| fastrand::f64() < per_second / 10_000.0).collect()
}

/// Makes the calls when they are due, and waits until the last has ended.
pub(super) async fn open_loop<F>(due: Vec<Duration>, call: impl Fn(usize) -> F) -> Samples
where
    F: Future<Output = Answer>,
{
    let begin = Instant::now();
    let call = &call;
    let calls = due.into_iter().enumerate().map(|(number, at)| async move {
        sleep_until(begin + at).await;
        let begun = Instant::now();
        let ending = call(number).await.into();
        Sample { at, took: begun.elapsed(), ending }
    });
    Samples(join_all(calls).await)
}

/// All that the generator saw.
#[derive(Debug, Clone, Default)]
pub(super) struct Samples(pub(super) Vec<Sample>);

impl Samples {
    /// So many of a hundred calls took no longer, by nearest rank; whatever their end was.
    pub(super) fn percentile(&self, percent: usize) -> Duration {
        let mut took: Vec<_> = self.0.iter().map(|sample| sample.took).collect();
        took.sort_unstable();
        let rank = (took.len() * percent).div_ceil(100).max(1);
        took.get(rank - 1).copied().unwrap_or_default()
    }

    /// P50, P95 and P99 in milliseconds, as table cells.
    pub(super) fn percentiles(&self) -> [String; 3] {
        [50, 95, 99].map(|percent| count(millis(self.percentile(percent))))
    }

    pub(super) fn count(&self, ending: Ending) -> usize {
        self.0.iter().filter(|sample| sample.ending == ending).count()
    }

    pub(super) fn only(&self, pick: impl Fn(&Sample) -> bool) -> Self {
        Self(self.0.iter().filter(|sample| pick(sample)).copied().collect())
    }

    pub(super) fn share(&self, ending: Ending) -> f64 {
        ratio(self.count(ending), self.0.len())
    }

    /// The mean wait of the calls that were due in each stretch of time: seconds against milliseconds.
    pub(super) fn mean_per(&self, stretch: Duration) -> Vec<(f64, f64)> {
        let mut line: Vec<(f64, f64, f64)> = Vec::new();
        for sample in &self.0 {
            let (x, took) = (slot(sample.at, stretch), sample.took.max(ms(1)).as_secs_f64() * 1e3);
            match line.last_mut() {
                Some(last) if (last.0 - x).abs() < 1e-9 => {
                    *last = (x, last.1 + took, last.2 + 1.0);
                }
                _ => line.push((x, took, 1.0)),
            }
        }
        line.into_iter().map(|(x, sum, calls)| (x, sum / calls)).collect()
    }

    /// The worst wait of the calls that were due in each stretch of time: seconds against milliseconds.
    pub(super) fn worst_per(&self, stretch: Duration) -> Vec<(f64, f64)> {
        let mut line: Vec<(f64, f64)> = Vec::new();
        for sample in &self.0 {
            let x = slot(sample.at, stretch);
            let y = sample.took.max(ms(1)).as_secs_f64() * 1e3;
            match line.last_mut() {
                Some(last) if (last.0 - x).abs() < 1e-9 => last.1 = last.1.max(y),
                _ => line.push((x, y)),
            }
        }
        line
    }
}

/// Where the stretch of time begins that a moment is in, in seconds.
fn slot(at: Duration, stretch: Duration) -> f64 {
    let number = at.as_nanos() / stretch.as_nanos();
    stretch.as_secs_f64() * f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

pub(super) fn millis(duration: Duration) -> u128 {
    duration.as_millis()
}

/// A part of a whole; zero where there is no whole.
pub(super) fn ratio(part: usize, whole: usize) -> f64 {
    let exact = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    if whole == 0 { 0.0 } else { exact(part) / exact(whole) }
}
