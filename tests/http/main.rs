//! HTTP, through the router and the real use cases, over the store in memory and partners
//! that answer as a test tells them to.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod fakes;
mod harness;

mod actions;
mod admin;
mod cancelling;
mod connections;
mod console;
mod cors;
mod documents;
mod events;
mod health;
mod keys;
mod listing;
mod placing;
mod problems;
mod quotas;
mod reads;
mod request_layer;
mod reviews;
mod sync_requests;
mod tasks;
mod tokens;
mod webhook_endpoints;
mod webhook_schedules;
mod webhooks;
