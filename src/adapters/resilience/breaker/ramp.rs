//! The gradual return: after a recovery only a growing share of calls, so that a backlog does not
//! fell the partner again.

use super::machine::{Refusal, World};
use super::rules::Rules;
use super::word::Millis;
use std::time::Duration;

/// The share of traffic that is back, in millionths.
pub(super) fn returned(since: Millis, rules: &Rules, now: Millis) -> u64 {
    let passed = now.saturating_sub(since);
    if since == 0 || passed >= rules.ramp {
        return 1_000_000;
    }
    // A tenth at once: a recovered partner that gets no calls cannot show that it has recovered.
    100_000 + 900_000 * passed / rules.ramp
}

pub(super) fn return_gradually(
    since: Millis,
    rules: &Rules,
    world: &impl World,
) -> Result<(), Refusal> {
    let now = world.now_millis();
    let share = returned(since, rules, now);
    if share == 1_000_000 || world.chance() < share {
        return Ok(());
    }
    let left = rules.ramp.saturating_sub(now.saturating_sub(since));
    Err(Refusal::Returning(Duration::from_millis(left)))
}
