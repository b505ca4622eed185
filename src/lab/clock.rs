//! Virtual time: tokio's clock stands still while anybody works and jumps when everybody sleeps. With one
//! thread and seeded dice the same run gives the same figures on every machine.

use std::time::Duration;
use tokio::runtime::Builder;

const SEED: u64 = 20_261_201;

/// Runs an experiment in virtual time.
pub(super) fn virtual_time<T>(experiment: impl Future<Output = T>) -> T {
    fastrand::seed(SEED);
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime without I/O needs nothing of the machine").block_on(experiment)
}

/// Runs an experiment in real time, with sockets.
pub(super) fn real_time<T>(experiment: impl Future<Output = T>) -> T {
    let runtime = Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime can be started").block_on(experiment)
}

pub(super) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(super) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
