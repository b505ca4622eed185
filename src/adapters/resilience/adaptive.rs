//! A concurrency limit that finds itself: while calls get slower than they used to be, fewer are let
//! in; while they do not, more, up to the configured maximum. It is the gradient of Netflix'
//! concurrency-limits, cut down to what one partner needs.
//!
//! Each answer's time is compared with the long average. As long as it is within a tolerance of that,
//! the limit grows by about its square root (room for a queue as long); beyond, it shrinks with
//! the ratio, at most by half. Two kinds of call teach nothing. Those made while less than half of the
//! limit was used would let it grow without ever having been tried. And those without an answer that
//! ended soon would pass for fast ones: a partner that refuses in a millisecond is not fast. One that
//! left its caller waiting has taken at least so long, and teaches that.

use std::time::Duration;

/// Calls may take this much longer than on average before the limit gives way.
const TOLERANCE: f64 = 1.5;
/// How much of a step is taken at once.
const SMOOTHING: f64 = 0.2;
/// Calls in the long average.
const MEMORY: f64 = 600.0;

/// The arithmetic, without a semaphore.
#[derive(Debug)]
pub struct Gradient {
    limit: f64,
    most: f64,
    /// Seconds that an answer takes, once there is one.
    average: Option<f64>,
}

impl Gradient {
    /// At its maximum, until calls teach otherwise.
    #[must_use]
    pub fn new(most: usize) -> Self {
        let most = float(most);
        Self { limit: most, most, average: None }
    }

    /// Learns from a call that was answered after so long, while so many were in flight.
    pub fn answered(&mut self, took: Duration, in_flight: usize) {
        let took = took.as_secs_f64().max(1e-6);
        let mut average = self.average.unwrap_or(took);
        average += (took - average) / MEMORY;
        // After a slow spell the average must not stay high, or the next one would look normal.
        if average > 2.0 * took {
            average *= 0.95;
        }
        self.average = Some(average);
        self.step(average / took, in_flight);
    }

    /// Learns from a call that had no answer after so long, while so many were in flight.
    pub fn unanswered(&mut self, lasted: Duration, in_flight: usize) {
        let lasted = lasted.as_secs_f64();
        if let Some(average) = self.average.filter(|average| lasted > *average) {
            self.step(average / lasted, in_flight);
        }
    }

    /// By a call that took so much less than the average.
    fn step(&mut self, speed: f64, in_flight: usize) {
        if float(in_flight) * 2.0 < self.limit {
            return;
        }
        let gradient = (TOLERANCE * speed).clamp(0.5, 1.0);
        let target = self.limit * gradient + self.limit.sqrt();
        self.limit += SMOOTHING * (target - self.limit);
        self.limit = self.limit.clamp(1.0, self.most);
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and the configured maximum"
    )]
    /// From 1 to the maximum.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit as usize
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number of calls")]
const fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Duration = Duration::from_millis(20);

    fn after(calls: usize, took: Duration, gradient: &mut Gradient) -> usize {
        for _ in 0..calls {
            gradient.answered(took, gradient.limit());
        }
        gradient.limit()
    }

    #[test]
    fn the_limit_stays_at_the_maximum_while_calls_take_their_usual_time() {
        let mut gradient = Gradient::new(100);
        assert_eq!(after(1_000, USUAL, &mut gradient), 100);
    }

    #[test]
    fn the_limit_gives_way_when_calls_get_slow_and_comes_back_when_they_do_not() {
        let mut gradient = Gradient::new(100);
        after(1_000, USUAL, &mut gradient);
        let slow = after(50, USUAL * 10, &mut gradient);
        assert!((1..20).contains(&slow), "{slow}");
        assert_eq!(after(2_000, USUAL, &mut gradient), 100);
    }

    #[test]
    fn calls_made_with_much_room_teach_nothing() {
        let mut gradient = Gradient::new(100);
        after(100, USUAL, &mut gradient);
        for _ in 0..100 {
            gradient.answered(USUAL * 10, 10);
        }
        assert_eq!(gradient.limit(), 100);
    }

    #[test]
    fn a_call_that_is_refused_at_once_does_not_pass_for_a_fast_one() {
        let mut gradient = Gradient::new(100);
        after(1_000, USUAL, &mut gradient);
        for _ in 0..1_000 {
            gradient.unanswered(USUAL / 20, gradient.limit());
        }
        assert_eq!(after(100, USUAL, &mut gradient), 100, "the usual time has not become slow");
    }

    #[test]
    fn a_call_that_waits_in_vain_makes_the_limit_give_way_and_is_not_what_is_usual() {
        let mut gradient = Gradient::new(100);
        after(1_000, USUAL, &mut gradient);
        for _ in 0..5_000 {
            gradient.unanswered(USUAL * 10, gradient.limit());
        }
        assert!(gradient.limit() < 20, "{}", gradient.limit());
        assert_eq!(after(2_000, USUAL, &mut gradient), 100);
    }

    #[test]
    fn one_call_is_always_let_in() {
        let mut gradient = Gradient::new(1);
        after(10, USUAL, &mut gradient);
        assert_eq!(after(100, USUAL * 1_000, &mut gradient), 1);
    }
}
