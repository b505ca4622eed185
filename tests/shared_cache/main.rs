//! The catalog's answers shared between instances, in a real Redis. The tests run where
//! `TEST_REDIS_URL` names a throw-away server.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

#[expect(dead_code, reason = "other tests want more of their partner")]
#[path = "../stub_partner/mod.rs"]
mod stub_partner;

mod instance;
mod nonsense;
mod outages;
mod proxy;
mod sharing;
