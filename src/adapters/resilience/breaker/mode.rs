//! Which mode is in force: switched at run time, and a mode with an expiry gives way to the configured
//! one by itself. And which instances are in a canary's share.

use super::state::BreakerMode;
use super::word::Millis;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The mode in force: three bits of mode, the rest its end in milliseconds (zero: no end).
#[derive(Debug)]
pub(super) struct Switch {
    configured: BreakerMode,
    current: AtomicU64,
}

impl Switch {
    pub(super) fn new(configured: BreakerMode) -> Self {
        Self { configured, current: AtomicU64::new(tag(configured)) }
    }

    /// Whether it enforces, with no end to it: the ordinary day in one comparison.
    #[inline]
    pub(super) fn plainly_enforces(&self) -> bool {
        self.current.load(Ordering::Acquire) == tag(BreakerMode::Enforce)
    }

    /// The mode, and how long it will last if it has an end.
    #[inline]
    pub(super) fn read(&self, now: impl FnOnce() -> Millis) -> (BreakerMode, Option<Millis>) {
        let word = self.current.load(Ordering::Acquire);
        let (mode, end) = (of_tag(word & 7), word >> 3);
        if end == 0 {
            return (mode, None);
        }
        match end.saturating_sub(now()) {
            0 => (self.configured, None),
            left => (mode, Some(left)),
        }
    }

    pub(super) fn set(&self, mode: BreakerMode, ttl: Option<Duration>, now: Millis) {
        let end = ttl.or(mode.default_ttl()).map_or(0, |ttl| {
            now.saturating_add(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX))
                .clamp(1, u64::MAX >> 3)
        });
        self.current.store(tag(mode) | (end << 3), Ordering::Release);
    }
}

const fn tag(mode: BreakerMode) -> u64 {
    match mode {
        BreakerMode::Off => 0,
        BreakerMode::DryRun => 1,
        BreakerMode::Enforce => 2,
        BreakerMode::ForcedOpen => 3,
        BreakerMode::ForcedClosed => 4,
    }
}

const fn of_tag(tag: u64) -> BreakerMode {
    match tag {
        0 => BreakerMode::Off,
        1 => BreakerMode::DryRun,
        2 => BreakerMode::Enforce,
        3 => BreakerMode::ForcedOpen,
        _ => BreakerMode::ForcedClosed,
    }
}

/// Whether this instance is in the canary share, in percent. The same instance always answers the
/// same, and a larger share keeps everyone of a smaller one.
#[must_use]
pub fn in_canary(instance_id: &str, percent: u8) -> bool {
    // FNV-1a and a final mix: stable across builds, which the standard hasher is not.
    let hash = instance_id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    mixed % 100 < u64::from(percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forced_mode_gives_way_to_the_configured_one_after_its_time() {
        let switch = Switch::new(BreakerMode::DryRun);
        switch.set(BreakerMode::ForcedOpen, Some(Duration::from_secs(1)), 500);
        assert_eq!(switch.read(|| 1_499), (BreakerMode::ForcedOpen, Some(1)));
        assert_eq!(switch.read(|| 1_500), (BreakerMode::DryRun, None));
    }

    #[test]
    fn a_forced_mode_without_a_time_lasts_a_quarter_of_an_hour_and_others_for_ever() {
        let switch = Switch::new(BreakerMode::Enforce);
        switch.set(BreakerMode::ForcedClosed, None, 0);
        assert_eq!(switch.read(|| 899_999).0, BreakerMode::ForcedClosed);
        assert_eq!(switch.read(|| 900_000).0, BreakerMode::Enforce);
        switch.set(BreakerMode::DryRun, None, 0);
        assert_eq!(switch.read(|| u64::MAX).0, BreakerMode::DryRun);
    }

    #[test]
    fn a_canary_share_is_near_its_percentage_and_grows_by_adding() {
        let names: Vec<String> = (0..10_000).map(|n| format!("order-service-{n}")).collect();
        let quarter = names.iter().filter(|name| in_canary(name, 25)).count();
        assert!((2_300..2_700).contains(&quarter), "{quarter}");
        assert!(names.iter().all(|name| !in_canary(name, 25) || in_canary(name, 30)));
        assert!(names.iter().all(|name| in_canary(name, 100) && !in_canary(name, 0)));
    }
}
