//! The numbers by which payments and tasks are handled; the names are those of the environment.

use crate::core::domain::ids::InstanceId;
use crate::core::domain::provider::Preference;
use std::time::Duration;

/// In a return address it stands for the order's id, the same for every payment system.
pub const ORDER_PLACEHOLDER: &str = "{order_id}";
/// The same for the shop's own number; nothing where the order has none.
pub const EXTERNAL_ID_PLACEHOLDER: &str = "{external_id}";

/// How long a form may be wished to live: what both payment systems allow.
pub const FORM_LIFETIMES: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(300)..=Duration::from_secs(7 * 86_400);

/// `CANCEL_PAID`: what becomes of a payment that was faster than an accepted cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelPaid {
    /// The money is given back: that is what accepting the cancel has promised.
    Refund,
    /// The refund waits for a person to release it.
    Review,
}

/// The rules of money that are configured: read at start, the same for every decision of a
/// process.
#[derive(Debug, Clone)]
pub struct PaymentPolicy {
    /// `PAYMENT_PROVIDERS`: order of preference.
    pub providers: Preference,
    /// `PAYMENT_RETURN_URL`.
    pub return_url: String,
    /// `PAYMENT_UNAVAILABLE_MODE=queue`; otherwise an unavailable payment system is an error.
    pub queueing: bool,
    /// `PAYMENT_UNKNOWN_GRACE`: how long after a send a provider's "no such order" proves nothing.
    pub unknown_grace: Duration,
    /// `PAYMENT_POLL_INTERVAL`: the first pause between polls of a live registration.
    pub poll_interval: Duration,
    /// `PAYMENT_LOOKS`: when a paid registration is looked at again, counted from its payment.
    pub looks_after_payment: Vec<Duration>,
    /// `PAYMENT_FAILOVER_ON_REJECTED`.
    pub failover_on_rejected: bool,
    /// `CANCEL_PAID`: what becomes of a payment that was faster than an accepted cancel.
    pub cancel_paid: CancelPaid,
    /// `PAYMENT_NUMBER_PREFIX`.
    pub number_prefix: String,
    /// `PAYMENT_SYNC_WAIT`: how long confirm waits before it answers 202.
    pub sync_wait: Duration,
    /// `TASK_QUEUE_MAX`.
    pub queue_max: u64,
    /// `TASK_LEASE`.
    pub lease: Duration,
    /// `TASK_BACKOFF`, `TASK_BACKOFF_MAX`.
    pub backoff: Duration,
    /// The longest pause, whoever asked for it.
    pub backoff_max: Duration,
    /// `TASK_MAX_AGE`.
    pub max_age: Duration,
    /// `INSTANCE_ID`.
    pub instance: InstanceId,
}
