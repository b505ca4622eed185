//! What a breaker costs beside time: its two cache lines, and nothing on the heap.

use order_service::adapters::resilience::breaker::{
    Breaker, BreakerConfig, BreakerState, WindowKind,
};
use order_service::adapters::resilience::clock::{ManualClock, MonotonicClock};
use order_service::adapters::resilience::observer::Silent;
use order_service::adapters::resilience::verdict::Verdict;
use order_service::core::domain::unavailable::System;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_breaker_is_two_cache_lines() {
    assert_eq!((size_of::<Breaker>(), align_of::<Breaker>()), (128, 64));
}

/// Calls, refusals, opening, probing, closing and looking, for every kind of window.
#[test]
fn no_call_and_no_change_of_state_allocates() {
    for (window, window_size) in [
        (WindowKind::Count, 128),
        (WindowKind::Count, 1_000),
        (WindowKind::Time, 50),
        (WindowKind::Consecutive, 50),
    ] {
        let config = BreakerConfig {
            window,
            window_size,
            consecutive_failures: 5,
            ..BreakerConfig::default()
        };
        let clock = ManualClock::new();
        let breaker =
            Breaker::new(System::Catalog, &config, MonotonicClock::from(&clock), Arc::new(Silent))
                .expect("a valid configuration");
        let life = || {
            for call in 0..10_000 {
                let verdict = if call % 50 < 5 { Verdict::Failing } else { Verdict::Healthy };
                match breaker.try_acquire() {
                    Ok(permit) => {
                        permit.record(verdict, Duration::from_millis(1));
                    }
                    Err(_) => clock.advance(Duration::from_secs(31)),
                }
                assert!(breaker.snapshot().window.calls <= 10_000);
            }
        };
        life(); // the first change of state registers its place in the log
        let counted = allocation_counter::measure(life);
        assert_eq!(counted.count_total, 0, "{window:?} of {window_size}");
        assert!(breaker.snapshot().generation > 100 && breaker.state() != BreakerState::Open);
    }
}
