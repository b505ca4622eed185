//! What the operator may set of connections.

use std::time::Duration;

/// How many connections, and how long each may keep us waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// `MAX_CONNECTIONS`.
    pub max: usize,
    /// `MAX_CONNECTIONS_PER_ADDRESS`; of IPv6 the /64 counts.
    pub per_address: usize,
    /// `IDLE_TIMEOUT`: from one request to the next, or to the first; the bytes of a request that does
    /// not become whole, and frames without requests, count as silence.
    pub idle: Duration,
    /// `WRITE_TIMEOUT`: for a reply to be taken up.
    pub write: Duration,
}
