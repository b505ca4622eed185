//! The driven side: one folder a partner, none of which knows another, and the storage.

pub mod alarm;
pub mod health;
pub mod http_client;
pub mod payment_failure;
pub mod payment_page;
pub mod process;
pub mod read_answer;
pub mod remote_cache;
pub mod signature;
pub mod told;

pub mod catalog;
pub mod odnakassa;
pub mod recommendations;
pub mod sber;
pub mod storage;
pub mod webhooks;
