//! What is wrong with the environment, told so that it can be put right in one go.

use std::fmt;

/// A variable that must be changed before the service starts, or (as a warning) might better be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub variable: String,
    /// What it holds, masked if it is secret; `None` if it is not set.
    pub holds: Option<String>,
    pub expected: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.holds {
            Some(value) => write!(f, "{}={value}", self.variable)?,
            None => write!(f, "{} is not set", self.variable)?,
        }
        write!(f, ": expected {}", self.expected)
    }
}

/// Every problem of the environment, in one message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problems {
    pub all: Vec<Problem>,
    /// What would be in force without them, secrets masked: `order-service config` prints it all the same.
    pub effective: Vec<(String, String)>,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.all.len();
        let plural = if count == 1 { "" } else { "s" };
        write!(f, "the configuration has {count} problem{plural}:")?;
        self.all.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}
