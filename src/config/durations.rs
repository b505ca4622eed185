//! Durations that a variable can hold, each within its bounds.

use super::words::read;
use crate::core::domain::webhook::schedule::WebhookSchedule;
use serde::{Deserialize, Deserializer};
use std::time::Duration;

pub(super) const SECOND: u64 = 1000;
pub(super) const MINUTE: u64 = 60 * SECOND;
pub(super) const HOUR: u64 = 60 * MINUTE;
pub(super) const DAY: u64 = 24 * HOUR;

/// A duration within bounds, which are in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span<const MIN: u64, const MAX: u64>(pub(super) Duration);

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Span<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (min, max) = (Duration::from_millis(MIN), Duration::from_millis(MAX));
        let parse = |text: &str| humantime::parse_duration(text).ok();
        read(
            deserializer,
            |t| parse(t).filter(|d| (min..=max).contains(d)).map(Self),
            || {
                let [min, max] = [min, max].map(in_words);
                format!("a duration with its unit (250ms, 2s, 5m) from {min} to {max}")
            },
        )
    }
}

/// A duration within bounds, which are in milliseconds; or none.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpanOrOff<const MIN: u64, const MAX: u64>(pub(super) Option<Duration>);

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for SpanOrOff<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (min, max) = (Duration::from_millis(MIN), Duration::from_millis(MAX));
        let within = |duration: &Duration| (min..=max).contains(duration);
        let parse = |text: &str| match text {
            "off" => Some(None),
            text => humantime::parse_duration(text).ok().filter(within).map(Some),
        };
        let expected = || format!("off, or a duration from {} to {}", in_words(min), in_words(max));
        read(deserializer, |text| parse(text).map(Self), expected)
    }
}

/// A duration as one would write it: whole days stay days, however many.
fn in_words(duration: Duration) -> String {
    let (days, rest) = (duration.as_secs() / (DAY / SECOND), duration.as_secs() % (DAY / SECOND));
    if days > 0 && rest == 0 {
        format!("{days}d")
    } else {
        humantime::format_duration(duration).to_string()
    }
}

/// The pauses between attempts to deliver a webhook, with commas between them.
#[derive(Debug, Clone)]
pub(super) struct Pauses(pub(super) WebhookSchedule);

impl<'de> Deserialize<'de> for Pauses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| {
            let parts = text.split(',').map(|part| humantime::parse_duration(part.trim()).ok());
            WebhookSchedule::new(parts.collect::<Option<_>>()?).ok().map(Self)
        };
        let expected =
            || "1 to 50 durations from 1s to 7d, none shorter than the one before".into();
        read(deserializer, parse, expected)
    }
}

/// When something is looked at again: growing durations with commas between them, or `off`.
#[derive(Debug, Clone)]
pub(super) struct Looks(pub(super) Vec<Duration>);

impl<'de> Deserialize<'de> for Looks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bounds = Duration::from_millis(MINUTE)..=Duration::from_millis(90 * DAY);
        let parse = |text: &str| {
            if text == "off" {
                return Some(Vec::new());
            }
            let parts = text.split(',').map(|part| humantime::parse_duration(part.trim()).ok());
            let looks: Vec<Duration> = parts.collect::<Option<_>>()?;
            let fits = looks.len() <= 10
                && looks.iter().all(|look| bounds.contains(look))
                && looks.windows(2).all(|pair| pair[0] < pair[1]);
            fits.then_some(looks)
        };
        let expected =
            || "off, or 1 to 10 growing durations from 1m to 90d, as in 1h,1d,7d".to_owned();
        read(deserializer, |text| parse(text).map(Self), expected)
    }
}
