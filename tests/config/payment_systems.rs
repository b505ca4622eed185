//! Whose settings are asked for: those of the payment systems in use, and no others.

use crate::{Outcome, config, problems, read, system};
use order_service::config::{Config, prefix};
use order_service::core::domain::provider::Provider;

/// All payment systems but one, as `PAYMENT_PROVIDERS`.
fn all_but(left_out: Provider) -> String {
    let others = Provider::ALL.into_iter().filter(|provider| *provider != left_out);
    others.map(Provider::as_str).collect::<Vec<_>>().join(",")
}

/// Nothing is set of one payment system, which is not in use; `more` comes on top.
fn without(left_out: Provider, more: &[(&str, &str)]) -> Outcome {
    let prefix = prefix(left_out.into());
    let others = all_but(left_out);
    let unset = crate::REQUIRED.iter().filter(|(name, _)| name.starts_with(&prefix));
    let unset =
        unset.map(|(name, _)| (*name, "")).filter(|(name, _)| !more.iter().any(|m| m.0 == *name));
    let changes: Vec<_> =
        unset.chain([("PAYMENT_PROVIDERS", &*others)]).chain(more.to_vec()).collect();
    read(&changes)
}

fn connected(config: &Config) -> Vec<Provider> {
    config.payment_systems.iter().map(|system| system.provider).collect()
}

#[test]
fn one_that_is_not_in_use_needs_no_settings() {
    for left_out in Provider::ALL {
        let (config, _) = without(left_out, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(!connected(&config).contains(&left_out));
        assert_eq!(connected(&config).len(), Provider::ALL.len() - 1);
        assert!(config.health().all(|health| health.system != left_out.into()));
        let prefix = prefix(left_out.into());
        assert!(config.effective().iter().all(|(name, _)| !name.starts_with(&prefix)), "{prefix}");
    }
}

#[test]
fn one_that_is_in_use_needs_them_and_the_message_says_why() {
    for provider in Provider::ALL {
        let base_url = format!("{}BASE_URL", prefix(provider.into()));
        let found = problems(&[(&base_url, ""), ("PAYMENT_PROVIDERS", provider.as_str())]);
        let problem = found.iter().find(|problem| problem.variable == base_url).unwrap();
        let why = format!("(PAYMENT_PROVIDERS names {provider})");
        assert!(problem.expected.ends_with(&why), "{problem}");
    }
}

#[test]
fn one_that_is_no_longer_in_use_still_answers_while_its_settings_are_given() {
    for retired in Provider::ALL {
        let config = config(&[("PAYMENT_PROVIDERS", &all_but(retired))]);
        assert_eq!(connected(&config), Provider::ALL);
        assert!(!config.payment.providers.contains(retired));
    }
}

#[test]
fn half_the_settings_of_one_that_is_not_in_use_are_a_mistake() {
    for left_out in Provider::ALL {
        let prefix = prefix(left_out.into());
        let (max_queue, base_url) = (format!("{prefix}MAX_QUEUE"), format!("{prefix}BASE_URL"));
        let found = without(left_out, &[(&max_queue, "3")]).unwrap_err().0;
        let problem = found.iter().find(|problem| problem.variable == base_url).unwrap();
        assert!(problem.expected.ends_with(&format!("({max_queue} is set)")), "{problem}");
    }
}

#[test]
fn what_is_misspelt_is_found_also_where_nothing_is_wanted() {
    let found = without(Provider::Sber, &[("SBER_PASWORD", "s3cret")]).unwrap_err().0;
    assert_eq!(found[0].variable, "SBER_PASWORD");
    assert!(found[0].expected.contains("SBER_PASSWORD?"), "{}", found[0]);
}

#[test]
fn a_grace_or_a_lease_must_outlast_the_calls_of_those_that_are_connected() {
    let short = [("PAYMENT_UNKNOWN_GRACE", "30s"), ("TASK_LEASE", "30s")];
    let names: Vec<_> = problems(&short).into_iter().map(|problem| problem.variable).collect();
    assert_eq!(names, ["PAYMENT_UNKNOWN_GRACE", "TASK_LEASE"]);
    let (config, _) = without(Provider::OdnaKassa, &short).unwrap();
    assert!(system(&config, Provider::OdnaKassa).is_none());
}
