//! What clients of all kinds are built with, and why one cannot be.

use crate::adapters::resilience::settings::InvalidSetting;
use std::path::PathBuf;

pub(super) const USER_AGENT: &str = concat!("order-service/", env!("CARGO_PKG_VERSION"));

/// Why an adapter cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("guards that cannot be: {}", named(.0))]
    Guards(Vec<InvalidSetting>),
    #[error("cannot read the CA file {path}")]
    CaFile { path: PathBuf, source: std::io::Error },
    #[error("the CA file {path} holds no certificate")]
    NoCertificate { path: PathBuf },
    #[error("the HTTP client cannot be built")]
    Client(#[source] reqwest::Error),
}

impl From<Vec<InvalidSetting>> for BuildError {
    fn from(invalid: Vec<InvalidSetting>) -> Self {
        Self::Guards(invalid)
    }
}

fn named(invalid: &[InvalidSetting]) -> String {
    invalid.iter().map(InvalidSetting::to_string).collect::<Vec<_>>().join("; ")
}
