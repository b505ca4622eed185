//! How soon news about one number is followed: enough for every honest sender, too little for anybody who
//! repeats himself to make us ask the provider all day.

use crate::core::domain::provider::{Provider, ProviderNumber};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Callbacks about one number that are followed at once in one [`PERIOD`]: a payment has few news.
const AT_ONCE: u32 = 5;
const PERIOD: Duration = Duration::from_secs(10);

/// Numbers that are watched at a time; with more, whatever is not watched yet waits.
const MOST_NUMBERS: usize = 10_000;

/// When the present period of a number began, and how many callbacks it has had.
type Spent = (Instant, u32);

/// How many callbacks about one number are followed at once, in this process. Bounded in numbers,
/// too: one that cannot be remembered waits.
#[derive(Debug, Default)]
pub struct CallbackBudget(Mutex<HashMap<(Provider, ProviderNumber), Spent>>);

impl CallbackBudget {
    /// How long one more callback about the number has to wait: not at all while there are few.
    pub(super) fn spend(&self, provider: Provider, number: &ProviderNumber) -> Duration {
        let mut numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (provider, number.clone());
        if numbers.len() >= MOST_NUMBERS && !numbers.contains_key(&key) {
            numbers.retain(|_, (since, _)| since.elapsed() < PERIOD);
            if numbers.len() >= MOST_NUMBERS {
                return PERIOD;
            }
        }
        let (since, count) = numbers.entry(key).or_insert_with(|| (Instant::now(), 0));
        if since.elapsed() >= PERIOD {
            (*since, *count) = (Instant::now(), 0);
        }
        *count = count.saturating_add(1);
        if *count <= AT_ONCE { Duration::ZERO } else { PERIOD.saturating_sub(since.elapsed()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn five_in_ten_seconds_are_followed_at_once_and_each_number_has_its_own() {
        let budget = CallbackBudget::default();
        let spend = |number: &str| budget.spend(Provider::Sber, &ProviderNumber::told(number));
        assert!((0..5).all(|_| spend("A-01").is_zero()));
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(spend("A-01"), Duration::from_secs(7));
        assert!(spend("B-01").is_zero());
        tokio::time::advance(Duration::from_secs(7)).await;
        assert!(spend("A-01").is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn no_number_of_numbers_fills_the_memory() {
        let budget = CallbackBudget::default();
        let spend =
            |at: usize| budget.spend(Provider::Sber, &ProviderNumber::told(&at.to_string()));
        assert!((0..MOST_NUMBERS).all(|at| spend(at).is_zero()));
        assert_eq!(spend(MOST_NUMBERS), PERIOD);
        assert!(spend(0).is_zero(), "who is watched already is not shut out");
        tokio::time::advance(PERIOD).await;
        assert!(spend(MOST_NUMBERS).is_zero());
        assert_eq!(budget.0.lock().unwrap().len(), 1);
    }
}
