//! Named points on the way of a payment at which tests let the process die. In release builds they
//! are nothing.

/// Where a death is interesting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failpoint {
    /// The order, its task and its intent are committed; nothing was sent.
    AfterAccept,
    /// A worker holds the lease.
    AfterClaim,
    /// The intent of a further call is committed.
    AfterT1,
    /// The partner has answered; nothing of it is stored.
    BeforeT2,
    /// What the partner said is stored.
    AfterT2,
    /// The client is about to be answered.
    BeforeResponse,
}

impl Failpoint {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::AfterAccept,
        Self::AfterClaim,
        Self::AfterT1,
        Self::BeforeT2,
        Self::AfterT2,
        Self::BeforeResponse,
    ];

    /// The word for `DIE_AT`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AfterAccept => "after_accept",
            Self::AfterClaim => "after_claim",
            Self::AfterT1 => "after_T1",
            Self::BeforeT2 => "before_T2",
            Self::AfterT2 => "after_T2",
            Self::BeforeResponse => "before_response",
        }
    }
}

/// Dies here, as by `kill -9`, when the environment variable `DIE_AT` of a debug build names this
/// point.
#[cfg(debug_assertions)]
pub fn hit(point: Failpoint) {
    static FATAL: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let fatal = FATAL.get_or_init(|| std::env::var("DIE_AT").ok());
    if fatal.as_deref() == Some(point.as_str()) {
        std::process::abort();
    }
}

/// Nothing: an optimised build has no failpoints.
#[cfg(not(debug_assertions))]
pub const fn hit(_: Failpoint) {}
