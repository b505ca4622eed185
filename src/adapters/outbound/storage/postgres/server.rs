//! Which server answers: whether it takes writes, of which cluster and timeline it is, and whether a
//! failover can make it forget what it has answered. Asked of every new connection and by readiness.

use crate::adapters::observe::storage_upkeep::Durability;
use serde::Deserialize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio::time::Instant;

/// What the server says of itself. The walfile's name begins with the timeline; a standby writes none.
pub const SERVER: &str = "SELECT json_build_object(\
    'writable', current_setting('transaction_read_only') = 'off', \
    'system', CASE WHEN has_function_privilege('pg_control_system()', 'execute') \
        THEN (SELECT system_identifier::text FROM pg_control_system()) END, \
    'timeline', CASE WHEN NOT pg_is_in_recovery() \
        AND has_function_privilege('pg_walfile_name(pg_lsn)', 'execute') \
        THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END, \
    'started', pg_postmaster_start_time()::text, \
    'synchronous', current_setting('synchronous_standby_names') <> '', \
    'fsync', current_setting('fsync') = 'on')::text";

/// What a server says of itself. A member is `None` where it may not be asked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ServerState {
    /// Neither a standby nor made read-only.
    pub writable: bool,
    /// Of the cluster: the same for a primary, its standbys and what is restored from its backups.
    pub system: Option<String>,
    /// Raised by every promotion and every restore to a point in time.
    pub timeline: Option<u32>,
    /// When this server was started.
    pub started: String,
    /// Whether a commit waits for a standby.
    pub synchronous: bool,
    pub fsync: bool,
}

/// What was learned by looking at a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    AsBefore,
    /// What commits were answered shortly before may be gone where it was not `synchronous`.
    Promoted {
        synchronous: bool,
    },
    /// A former primary that does not know that it was replaced: whatever is written there is lost.
    Zombie,
    /// Another cluster under the same name: a restart decides whether that is meant.
    Foreign,
}

impl Finding {
    pub const fn is_ours(self) -> bool {
        match self {
            Self::AsBefore | Self::Promoted { .. } => true,
            Self::Zombie | Self::Foreign => false,
        }
    }
}

/// Remembers the newest server that this process has seen.
#[derive(Debug)]
pub struct Witness {
    seen: Mutex<Seen>,
    /// Changes when another server answers: what was asked of the one before will get no answer.
    server: watch::Sender<String>,
}

#[derive(Debug, Default)]
struct Seen {
    newest: Option<ServerState>,
    suspicions: u64,
    /// Connections that were opened before are not trusted.
    distrusted: Option<Instant>,
    /// Told once, until a right one answers.
    told: bool,
}

impl Default for Witness {
    fn default() -> Self {
        Self { seen: Mutex::default(), server: watch::Sender::new(String::new()) }
    }
}

impl Witness {
    pub fn look(&self, state: &ServerState) -> Finding {
        let mut seen = self.seen();
        let finding =
            seen.newest.as_ref().map_or(Finding::AsBefore, |newest| compare(newest, state));
        match finding {
            Finding::AsBefore => {}
            Finding::Promoted { synchronous: true } => {
                tracing::warn!(timeline = state.timeline, "another server was promoted");
            }
            Finding::Promoted { synchronous: false } => {
                seen.suspicions += 1;
                tracing::error!(
                    timeline = state.timeline,
                    "another server was promoted, and may have \
                    forgotten the last commits: see docs/high-availability.md, after a lossy failover"
                );
            }
            Finding::Zombie | Finding::Foreign => {
                if !seen.told {
                    tracing::error!(
                        ?finding,
                        timeline = state.timeline,
                        "the wrong database answers"
                    );
                }
                seen.distrusted = Some(Instant::now());
            }
        }
        seen.told = !finding.is_ours();
        if finding.is_ours() {
            self.server.send_if_modified(|server| {
                let changed = *server != state.started;
                server.clone_from(&state.started);
                changed
            });
            seen.newest = Some(state.clone());
        }
        finding
    }

    /// Whether a connection of this age may have been opened to a server that is not ours.
    pub fn distrusts(&self, opened: Instant) -> bool {
        self.seen().distrusted.is_some_and(|since| opened <= since)
    }

    /// Ends its wait when another server answers.
    pub fn subscribe(&self) -> watch::Receiver<String> {
        self.server.subscribe()
    }

    pub fn durability(&self, accept_async: bool) -> Durability {
        let seen = self.seen();
        let newest = seen.newest.as_ref();
        Durability {
            timeline: newest.and_then(|state| state.timeline).unwrap_or_default(),
            can_forget: !accept_async
                && newest.is_some_and(|state| !state.synchronous || !state.fsync),
            suspicions: seen.suspicions,
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn compare(newest: &ServerState, state: &ServerState) -> Finding {
    if let (Some(ours), Some(theirs)) = (&newest.system, &state.system)
        && ours != theirs
    {
        return Finding::Foreign;
    }
    // A standby tells no timeline; that it is not writable is told elsewhere.
    let (Some(before), Some(now)) = (newest.timeline, state.timeline) else {
        return Finding::AsBefore;
    };
    match now.cmp(&before) {
        std::cmp::Ordering::Less => Finding::Zombie,
        std::cmp::Ordering::Equal => Finding::AsBefore,
        std::cmp::Ordering::Greater => Finding::Promoted { synchronous: newest.synchronous },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(timeline: u32, synchronous: bool) -> ServerState {
        ServerState {
            writable: true,
            system: Some("7".into()),
            timeline: Some(timeline),
            started: format!("start {timeline}"),
            synchronous,
            fsync: true,
        }
    }

    #[test]
    fn a_promotion_is_suspicious_unless_commits_waited_for_the_standby() {
        for (synchronous, suspicions) in [(true, 0), (false, 1)] {
            let witness = Witness::default();
            assert_eq!(witness.look(&state(1, synchronous)), Finding::AsBefore);
            assert_eq!(witness.look(&state(2, false)), Finding::Promoted { synchronous });
            assert_eq!(witness.look(&state(2, false)), Finding::AsBefore);
            let durability = witness.durability(false);
            assert_eq!((durability.timeline, durability.suspicions), (2, suspicions));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lower_timeline_is_a_zombie_whose_connections_are_closed() {
        let witness = Witness::default();
        let opened = Instant::now();
        witness.look(&state(3, true));
        assert!(!witness.distrusts(opened));
        assert_eq!(witness.look(&state(2, true)), Finding::Zombie);
        assert!(witness.distrusts(opened));
        tokio::time::advance(std::time::Duration::from_millis(1)).await;
        assert!(!witness.distrusts(Instant::now()));
        assert_eq!(witness.durability(false).timeline, 3);
    }

    #[test]
    fn another_cluster_is_not_ours() {
        let witness = Witness::default();
        witness.look(&state(1, true));
        let other = ServerState { system: Some("8".into()), ..state(9, true) };
        assert_eq!(witness.look(&other), Finding::Foreign);
    }

    #[test]
    fn who_waits_for_the_one_server_hears_that_another_answers() {
        let witness = Witness::default();
        witness.look(&state(1, true));
        let waiting = witness.subscribe();
        witness.look(&state(1, true));
        assert!(!waiting.has_changed().unwrap());
        witness.look(&state(2, true));
        assert!(waiting.has_changed().unwrap());
    }

    #[test]
    fn a_server_can_forget_unless_commits_wait_or_that_is_accepted() {
        let witness = Witness::default();
        assert!(!witness.durability(false).can_forget, "nobody was seen");
        for (synchronous, fsync, can_forget) in
            [(true, true, false), (false, true, true), (true, false, true)]
        {
            witness.look(&ServerState { fsync, ..state(1, synchronous) });
            assert_eq!(witness.durability(false).can_forget, can_forget);
            assert!(!witness.durability(true).can_forget);
        }
    }
}
