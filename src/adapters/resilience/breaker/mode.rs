//! Whether the machine's verdict is obeyed. Switched at run time; a mode with an expiry gives way
//! to the configured one by itself.

use super::word::Millis;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How a breaker treats calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Nothing is recorded and nothing refused.
    Off,
    /// The machine plays, but every call passes; what it would have refused is counted.
    DryRun,
    Enforce,
    /// Every call is refused.
    ForcedOpen,
    /// Every call passes; the machine goes on watching.
    ForcedClosed,
}

impl Mode {
    pub const ALL: [Self; 5] =
        [Self::Off, Self::DryRun, Self::Enforce, Self::ForcedOpen, Self::ForcedClosed];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::DryRun => "dry_run",
            Self::Enforce => "enforce",
            Self::ForcedOpen => "forced_open",
            Self::ForcedClosed => "forced_closed",
        }
    }

    const fn tag(self) -> u64 {
        match self {
            Self::Off => 0,
            Self::DryRun => 1,
            Self::Enforce => 2,
            Self::ForcedOpen => 3,
            Self::ForcedClosed => 4,
        }
    }

    const fn of_tag(tag: u64) -> Self {
        match tag {
            0 => Self::Off,
            1 => Self::DryRun,
            2 => Self::Enforce,
            3 => Self::ForcedOpen,
            _ => Self::ForcedClosed,
        }
    }

    /// A forced mode that nobody takes back would outlast the reason for it.
    pub const FORCED_TTL: Duration = Duration::from_secs(15 * 60);

    const fn default_ttl(self) -> Option<Duration> {
        match self {
            Self::ForcedOpen | Self::ForcedClosed => Some(Self::FORCED_TTL),
            Self::Off | Self::DryRun | Self::Enforce => None,
        }
    }
}

impl std::str::FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word).ok_or(UnknownMode)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not one of off, dry_run, enforce, forced_open, forced_closed")]
pub struct UnknownMode;

/// The mode in force: three bits of mode, the rest its end in milliseconds (zero: no end).
#[derive(Debug)]
pub(super) struct Switch {
    configured: Mode,
    current: AtomicU64,
}

impl Switch {
    pub(super) fn new(configured: Mode) -> Self {
        Self { configured, current: AtomicU64::new(configured.tag()) }
    }

    #[inline]
    pub(super) fn mode(&self, now: impl FnOnce() -> Millis) -> Mode {
        self.read(now).0
    }

    /// Whether it enforces, with no end to it: the ordinary day in one comparison.
    #[inline]
    pub(super) fn plainly_enforces(&self) -> bool {
        self.current.load(Ordering::Acquire) == Mode::Enforce.tag()
    }

    /// The mode, and how long it will last if it has an end.
    #[inline]
    pub(super) fn read(&self, now: impl FnOnce() -> Millis) -> (Mode, Option<Millis>) {
        let word = self.current.load(Ordering::Acquire);
        let (mode, end) = (Mode::of_tag(word & 7), word >> 3);
        if end == 0 {
            return (mode, None);
        }
        match end.saturating_sub(now()) {
            0 => (self.configured, None),
            left => (mode, Some(left)),
        }
    }

    pub(super) fn set(&self, mode: Mode, ttl: Option<Duration>, now: Millis) {
        let end = ttl.or(mode.default_ttl()).map_or(0, |ttl| {
            now.saturating_add(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX))
                .clamp(1, u64::MAX >> 3)
        });
        self.current.store(mode.tag() | (end << 3), Ordering::Release);
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
        let switch = Switch::new(Mode::DryRun);
        switch.set(Mode::ForcedOpen, Some(Duration::from_secs(1)), 500);
        assert_eq!(switch.read(|| 1_499), (Mode::ForcedOpen, Some(1)));
        assert_eq!(switch.read(|| 1_500), (Mode::DryRun, None));
    }

    #[test]
    fn a_forced_mode_without_a_time_lasts_a_quarter_of_an_hour_and_others_for_ever() {
        let switch = Switch::new(Mode::Enforce);
        switch.set(Mode::ForcedClosed, None, 0);
        assert_eq!(switch.mode(|| 899_999), Mode::ForcedClosed);
        assert_eq!(switch.mode(|| 900_000), Mode::Enforce);
        switch.set(Mode::DryRun, None, 0);
        assert_eq!(switch.mode(|| u64::MAX), Mode::DryRun);
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
