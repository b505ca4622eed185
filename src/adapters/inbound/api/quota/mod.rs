//! How often one client may ask: `RATE_LIMIT_PER_SECOND` and `RATE_LIMIT_BURST`. A client is who its
//! token says, else where it connects from. Only what asks for a caller is counted: health must
//! answer probes, the documents cost nothing, and what the payment systems tell is signed, bounded by
//! itself, and about money.
//!
//! Each instance counts for itself, in memory: a client of three instances may ask three times as
//! often, and no request waits for a shared count.

mod table;

use governor::clock::Clock;
use governor::middleware::{NoOpMiddleware, StateInformationMiddleware};
use governor::nanos::Nanos;
use governor::{Quota, RateLimiter};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;
use table::Table;
use tokio::time::Instant;

/// Clients that are remembered; some 3 MB at most.
const CLIENTS: usize = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaConfig {
    pub per_second: NonZeroU32,
    /// How many may come at once after a pause.
    pub burst: NonZeroU32,
}

/// Whose request it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientKey<'a> {
    /// A token's `sub`.
    Subject(&'a str),
    /// The address that an anonymous one connects from. What a proxy claims in a header counts for
    /// nothing: anybody can claim it.
    V4(u32),
    /// In IPv6, the 64 bits that one subscriber is given: within them an address costs nothing.
    V6(u64),
    /// Not over a socket.
    Unknown,
}

impl ClientKey<'_> {
    #[must_use]
    pub fn at(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.to_bits()),
            IpAddr::V6(address) => {
                Self::V6(u64::try_from(address.to_bits() >> 64).expect("64 bits"))
            }
        }
    }
}

type Limiter = RateLimiter<u64, Table, RuntimeClock, StateInformationMiddleware>;

/// What a client has left after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Requests that it may make at once.
    pub left: u32,
    /// When it has its whole burst again or, where nothing is left, one request.
    pub whole_in: Duration,
}

/// What each client may still spend.
#[derive(Debug)]
pub struct Quotas {
    limiter: Limiter,
    clock: RuntimeClock,
    pub(super) config: QuotaConfig,
    /// Keyed at random, so that nobody can aim at another's place.
    digest: RandomState,
}

impl Quotas {
    #[must_use]
    pub fn new(config: QuotaConfig) -> Self {
        let quota = Quota::per_second(config.per_second).allow_burst(config.burst);
        let clock = RuntimeClock { since: Instant::now() };
        let limiter: RateLimiter<_, _, _, NoOpMiddleware<Nanos>> =
            RateLimiter::new(quota, Table::new(CLIENTS), clock);
        let limiter = limiter.with_middleware();
        Self { limiter, clock, config, digest: RandomState::new() }
    }

    /// Takes one request from what the client may spend.
    ///
    /// # Errors
    /// It has nothing left until so much later.
    pub fn spend(&self, client: ClientKey<'_>) -> Result<Spent, Duration> {
        let client = self.digest.hash_one(client);
        let spent = self.limiter.check_key(&client);
        let left = spent.map_err(|until| until.wait_time_from(self.clock.now()))?;
        let left = left.remaining_burst_capacity();
        let owed = self.config.burst.get().saturating_sub(left);
        Ok(Spent {
            left,
            whole_in: Duration::from_secs(owed.into()) / self.config.per_second.get(),
        })
    }

    /// Forgets those who have their whole quota again: they are like those who never came.
    pub fn forget(&self) {
        self.limiter.retain_recent();
    }
}

/// The runtime's clock, so that tests can turn it.
#[derive(Debug, Clone, Copy)]
struct RuntimeClock {
    since: Instant,
}

impl Clock for RuntimeClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.since.elapsed().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    fn quotas(per_second: u32, burst: u32) -> Quotas {
        let [per_second, burst] = [per_second, burst].map(|n| NonZeroU32::new(n).unwrap());
        Quotas::new(QuotaConfig { per_second, burst })
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_spent_at_once_and_comes_back_at_the_rate() {
        let quotas = quotas(10, 3);
        let spend = || quotas.spend(ClientKey::Subject("c-1")).map(|spent| spent.left);
        assert_eq!([spend(), spend(), spend()], [Ok(2), Ok(1), Ok(0)]);
        assert_eq!(spend(), Err(Duration::from_millis(100)));
        advance(Duration::from_millis(60)).await;
        assert_eq!(spend(), Err(Duration::from_millis(40)), "a refusal costs nothing");
        advance(Duration::from_millis(40)).await;
        assert_eq!(spend(), Ok(0));
        assert!(spend().is_err());
        let other = Spent { left: 2, whole_in: Duration::from_millis(100) };
        assert_eq!(quotas.spend(ClientKey::Subject("c-2")), Ok(other));
        advance(Duration::from_secs(3600)).await;
        assert_eq!([spend(), spend(), spend()], [Ok(2), Ok(1), Ok(0)]);
        assert!(spend().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn only_who_still_owes_is_remembered() {
        let quotas = quotas(1, 5);
        for _ in 0..5 {
            quotas.spend(ClientKey::Subject("busy")).unwrap();
        }
        quotas.spend(ClientKey::Subject("calm")).unwrap();
        quotas.forget();
        assert_eq!(quotas.limiter.len(), 2);
        advance(Duration::from_millis(2_500)).await;
        quotas.forget();
        assert_eq!(quotas.limiter.len(), 1);
        assert_eq!(
            [(); 3].map(|()| quotas.spend(ClientKey::Subject("busy")).is_ok()),
            [true, true, false]
        );
        advance(Duration::from_secs(10)).await;
        quotas.forget();
        assert!(quotas.limiter.is_empty());
    }

    #[test]
    fn a_client_is_an_address_or_a_subscribers_network() {
        let at = |address: &str| ClientKey::at(address.parse().unwrap());
        assert_eq!(at("2001:db8:1:2::1"), at("2001:db8:1:2:ffff::9"));
        assert_ne!(at("2001:db8:1:2::1"), at("2001:db8:1:3::1"));
        assert_eq!(at("::ffff:192.0.2.1"), at("192.0.2.1"));
        assert_ne!(at("192.0.2.1"), at("192.0.2.2"));
        assert_ne!(at("0.0.0.1"), at("0:0:0:1::"));
    }
}
