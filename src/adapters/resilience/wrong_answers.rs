//! Answers that came in time and are wrong for one entity: a product without a price. They say little of
//! the system, and whoever asks for that product again and again would shut it for everybody. So each
//! entity is held against it once in a while; many entities at once still are an illness.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

const REMEMBERED: Duration = Duration::from_secs(600);
/// More bad entities than this in that time, and every wrong answer counts.
const ENTITIES: usize = 1_000;

/// The entities that were held against a system lately; of bounded number.
#[derive(Debug, Default)]
pub struct WrongAnswers(Mutex<HashMap<String, Instant>>);

impl WrongAnswers {
    /// Whether this one counts: the first of its entity in a while.
    pub fn first_of(&self, entity: &str) -> bool {
        let now = Instant::now();
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.get(entity).is_some_and(|since| now.duration_since(*since) < REMEMBERED) {
            return false;
        }
        if held.len() >= ENTITIES {
            held.retain(|_, since| now.duration_since(*since) < REMEMBERED);
        }
        if held.len() < ENTITIES {
            held.insert(entity.to_owned(), now);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_entity_counts_once_in_a_while_and_others_count_for_themselves() {
        let wrong = WrongAnswers::default();
        assert!(wrong.first_of("p-1"));
        assert!(!wrong.first_of("p-1"));
        assert!(wrong.first_of("p-2"));
        tokio::time::advance(REMEMBERED).await;
        assert!(wrong.first_of("p-1"));
    }

    #[tokio::test(start_paused = true)]
    async fn where_everything_is_wrong_everything_counts() {
        let wrong = WrongAnswers::default();
        assert!((0..ENTITIES).all(|entity| wrong.first_of(&entity.to_string())));
        assert!(wrong.first_of("one more") && wrong.first_of("one more"));
        assert_eq!(wrong.0.lock().unwrap().len(), ENTITIES);
    }
}
