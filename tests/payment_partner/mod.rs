//! A payment adapter before a partner that gives the scripted answers.

#[expect(dead_code, reason = "other tests want more of their partner")]
#[path = "../stub_partner/mod.rs"]
mod stub_partner;

pub mod calls;
pub mod port;

pub use stub_partner::{Answer, StubPartner};

use serde_json::Value;

pub fn json(status: u16, body: &Value) -> Answer {
    Answer::Other(status, body.to_string())
}
