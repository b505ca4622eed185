//! Whose settings are asked for: those of the payment systems in use, and no others.

use crate::{Effective, system};
use order_service::config::{Config, prefix};
use order_service::core::domain::provider::Provider;
use order_service::sandbox::PartnerName;

/// What a payment system wants to have set, as its stand-in in the sandbox knows it.
fn settings(provider: Provider) -> Vec<(String, String)> {
    let mut partners = PartnerName::ALL.into_iter();
    let partner = partners
        .find(|partner| partner.as_str() == provider.as_str())
        .expect("somebody simulates it");
    let known = partner.credentials().iter().filter_map(|credential| {
        Some((credential.variable?.to_owned(), credential.default.to_owned()))
    });
    let base_url =
        (format!("{}BASE_URL", prefix(provider.into())), "https://x.example/".to_owned());
    known.chain([base_url]).collect()
}

/// `PAYMENT_PROVIDERS` names all but one, of which nothing is set; `more` comes on top.
fn without(left_out: Provider, more: &[(&str, &str)]) -> Effective {
    let others = Provider::ALL.into_iter().filter(|provider| *provider != left_out);
    named(others.clone(), others.flat_map(settings), more)
}

/// These are in `PAYMENT_PROVIDERS`, and this is set of payment systems.
fn named(
    in_use: impl Iterator<Item = Provider>,
    set: impl Iterator<Item = (String, String)>,
    more: &[(&str, &str)],
) -> Effective {
    let in_use = in_use.map(Provider::as_str).collect::<Vec<_>>().join(",");
    let of_a_payment_system = |name: &str| {
        Provider::ALL.into_iter().any(|provider| name.starts_with(&prefix(provider.into())))
    };
    let general = crate::REQUIRED.iter().filter(|(name, _)| !of_a_payment_system(name));
    let general = general.copied().chain([("PAYMENT_PROVIDERS", &*in_use)]).chain(more.to_vec());
    let general = general.map(|(name, value)| (name.into(), value.into()));
    Config::read(general.chain(set.map(|(name, value)| (name.into(), value.into()))))
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
        let found = named([provider].into_iter(), std::iter::empty(), &[]).unwrap_err().all;
        let problem = found.iter().find(|problem| problem.variable == base_url).unwrap();
        let why = format!("(PAYMENT_PROVIDERS names {provider})");
        assert!(problem.expected.ends_with(&why), "{problem}");
    }
}

#[test]
fn one_that_is_no_longer_in_use_still_answers_while_its_settings_are_given() {
    for retired in Provider::ALL {
        let others = Provider::ALL.into_iter().filter(|provider| *provider != retired);
        let (config, _) = named(others, Provider::ALL.into_iter().flat_map(settings), &[]).unwrap();
        assert_eq!(connected(&config), Provider::ALL);
        assert!(!config.payment.providers.contains(retired));
    }
}

#[test]
fn half_the_settings_of_one_that_is_not_in_use_are_a_mistake() {
    for left_out in Provider::ALL {
        let prefix = prefix(left_out.into());
        let (max_queue, base_url) = (format!("{prefix}MAX_QUEUE"), format!("{prefix}BASE_URL"));
        let found = without(left_out, &[(&max_queue, "3")]).unwrap_err().all;
        let problem = found.iter().find(|problem| problem.variable == base_url).unwrap();
        assert!(problem.expected.ends_with(&format!("({max_queue} is set)")), "{problem}");
    }
}

#[test]
fn what_is_misspelt_is_found_also_where_nothing_is_wanted() {
    let found = without(Provider::Sber, &[("SBER_PASWORD", "s3cret")]).unwrap_err().all;
    assert_eq!(found[0].variable, "SBER_PASWORD");
    assert!(found[0].expected.contains("SBER_PASSWORD?"), "{}", found[0]);
}

#[test]
fn a_grace_or_a_lease_must_outlast_the_calls_of_those_that_are_connected() {
    let short = [("PAYMENT_UNKNOWN_GRACE", "30s"), ("TASK_LEASE", "30s")];
    let all = Provider::ALL.into_iter();
    let found = named(all.clone(), all.flat_map(settings), &short).unwrap_err().all;
    let names: Vec<_> = found.into_iter().map(|problem| problem.variable).collect();
    assert_eq!(names, ["PAYMENT_UNKNOWN_GRACE", "TASK_LEASE"]);
    let (config, _) = without(Provider::OdnaKassa, &short).unwrap();
    assert!(system(&config, Provider::OdnaKassa).is_none());
}
