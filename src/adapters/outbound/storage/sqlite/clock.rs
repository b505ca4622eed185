//! The time of a database that has none of its own: the process's, made to run forwards only. A wall
//! clock that is set back must not make leases endless, nor an order older than the one before it.

use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::clock::Clock;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use tokio::time::Instant;

/// The wall clock while it runs ahead of what was last told; else what was last told, going on by the
/// monotonic clock.
#[derive(Debug)]
pub struct ForwardClock {
    wall: Arc<dyn Clock>,
    told: Mutex<(Timestamp, Instant)>,
}

impl ForwardClock {
    /// `floor` is the latest time that the database knows.
    pub fn since(floor: Timestamp, wall: Arc<dyn Clock>) -> Self {
        let behind = floor.since(wall.now());
        if !behind.is_zero() {
            tracing::warn!(?behind, "the wall clock is behind the database's last time");
        }
        Self { wall, told: Mutex::new((floor, Instant::now())) }
    }
}

impl Clock for ForwardClock {
    fn now(&self) -> Timestamp {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, at) = *told;
        let (wall, running) = (self.wall.now(), last + at.elapsed());
        if wall <= running {
            return running;
        }
        *told = (wall, Instant::now());
        wall
    }
}

/// The wall clock of this machine.
#[derive(Debug)]
pub struct ProcessClock;

impl Clock for ProcessClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Timestamp::default() + since
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::time::Duration;

    #[derive(Debug)]
    struct Wall(AtomicI64);

    impl Clock for Wall {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(self.0.load(Ordering::SeqCst))
        }
    }

    fn wall(at: i64) -> Arc<Wall> {
        Arc::new(Wall(AtomicI64::new(at)))
    }

    #[tokio::test(start_paused = true)]
    async fn time_goes_on_while_the_wall_clock_is_set_back() {
        let wall = wall(5_000_000);
        let clock = ForwardClock::since(Timestamp::default(), Arc::clone(&wall) as _);
        assert_eq!(clock.now().micros(), 5_000_000);
        wall.0.store(1_000_000, Ordering::SeqCst);
        assert_eq!(clock.now().micros(), 5_000_000);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(clock.now().micros(), 7_000_000);
        wall.0.store(60_000_000, Ordering::SeqCst);
        assert_eq!(clock.now().micros(), 60_000_000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_restart_begins_where_the_database_ended() {
        let floor = Timestamp::from_micros(9_000_000);
        let clock = ForwardClock::since(floor, wall(1));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(clock.now().micros(), 10_000_000);
    }
}
