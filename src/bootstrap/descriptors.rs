//! File descriptors: each connection takes one, and the usual soft limit of 1,024 is soon reached.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For the database, the partners, the collector and the process itself.
const OUR_OWN: u64 = 512;

/// Raises the soft limit to the hard one, and says what was got. How many connections of clients there
/// is room for; `None` where nothing limits them.
pub(super) fn raise() -> Option<usize> {
    let before = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: before.maximum, maximum: before.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, wanted) {
        tracing::warn!(%error, "the limit of file descriptors cannot be raised");
    }
    let got = getrlimit(Resource::Nofile).current;
    tracing::info!(before = ?before.current, got = ?got, "file descriptors");
    got.map(room)
}

/// Never none at all.
fn room(descriptors: u64) -> usize {
    usize::try_from(descriptors.saturating_sub(OUR_OWN).max(descriptors / 4)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_to_what_answers_them() {
        assert_eq!(room(1_024), 512);
        assert_eq!(room(100), 25);
        assert!(room(20_000) > 10_000);
    }

    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        raise();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
