//! The configuration as an operator meets it: what is in force, what is refused and how that is
//! told, and that no secret is ever shown.

mod payment_systems;
mod refused;
mod secrets;
mod table;

use order_service::adapters::outbound::odnakassa::OdnaKassaConfig;
use order_service::adapters::outbound::sber::{Credentials, SberConfig};
use order_service::adapters::resilience::breaker::SlowAs;
use order_service::adapters::resilience::guards::GuardConfig;
use order_service::adapters::resilience::settings::Concurrency;
use order_service::config::{Config, PaymentSystem, PaymentVendor, Problem, Problems};
use order_service::core::domain::provider::Provider;
use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;

/// What must be set, and nothing more.
const REQUIRED: &[(&str, &str)] = &[
    ("SBER_BASE_URL", "https://bank.example/payment/rest"),
    ("SBER_USERNAME", "shop"),
    ("SBER_PASSWORD", "s3cret-password"),
    ("ODNAKASSA_BASE_URL", "https://kassa.example/v1/"),
    ("ODNAKASSA_API_KEY", "s3cret-key"),
    ("CATALOG_BASE_URL", "http://catalog:8080"),
    ("RECOMMENDATIONS_BASE_URL", "http://recommendations:8080"),
    ("PAYMENT_RETURN_URL", "https://shop.example/paid"),
];

type Effective = Result<(Config, Vec<Problem>), Problems>;

/// Reads the required variables with `changes` on top; an empty value unsets.
fn read(changes: &[(&str, &str)]) -> Effective {
    let kept = REQUIRED.iter().filter(|(name, _)| !changes.iter().any(|(n, _)| n == name));
    Config::read(kept.chain(changes).map(|(name, value)| (name.into(), value.into())))
}

fn config(changes: &[(&str, &str)]) -> Config {
    read(changes).unwrap_or_else(|problems| panic!("{problems}")).0
}

fn problems(changes: &[(&str, &str)]) -> Vec<Problem> {
    read(changes).expect_err("a problem").all
}

fn effective<'a>(config: &'a Config, name: &str) -> &'a str {
    let found = config.effective().iter().find(|(n, _)| n == name);
    found.map_or_else(|| panic!("{name} is not listed"), |(_, value)| value)
}

fn system(config: &Config, provider: Provider) -> Option<&PaymentSystem> {
    config.payment_systems.iter().find(|system| system.provider == provider)
}

fn sber(config: &Config) -> &SberConfig {
    match system(config, Provider::Sber).map(|system| &system.vendor) {
        Some(PaymentVendor::Sber(sber)) => sber,
        other => panic!("{other:?}"),
    }
}

fn odnakassa(config: &Config) -> &OdnaKassaConfig {
    match system(config, Provider::OdnaKassa).map(|system| &system.vendor) {
        Some(PaymentVendor::OdnaKassa(odnakassa)) => odnakassa,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_required_variables_are_enough() {
    let (config, _) = read(&[]).unwrap();
    assert_eq!(sber(&config).base_url.as_str(), "https://bank.example/payment/rest/");
    assert!(config.payment.providers.iter().eq([Provider::Sber, Provider::OdnaKassa]));
    assert_eq!(config.return_urls.hosts, ["shop.example"]);
    assert!(!config.return_urls.loopback_http);
    assert_eq!(config.payment.sync_wait, Duration::from_secs(15));
    assert_eq!(effective(&config, "AUTH_MODE"), "none");
    assert!(!effective(&config, "INSTANCE_ID").is_empty());
}

#[test]
fn every_system_has_the_defaults_of_its_column() {
    let config = config(&[]);
    #[rustfmt::skip]
    let expected = [
        //          connect read   call   permits queue min  rate   slow       probes attempts
        ("sber",            2_000, 10_000, 15_000,  20,     5,    10,  0.30,  SlowAs::Failure, 1,     3),
        ("odnakassa",       5_000, 30_000, 36_000,  30,     5,    10,  0.30,  SlowAs::Failure, 1,     3),
        ("catalog",         1_000,  2_000,  4_000, 100,     0,    20,  0.50,  SlowAs::Rate,    3,     3),
        ("recommendations",   500,  1_000,  2_500,  10,     0,    20,  0.50,  SlowAs::Ignore,  3,     1),
    ];
    let Config { catalog, recommendations, .. } = &config;
    let payments = [&sber(&config).guards, &odnakassa(&config).guards];
    let systems = payments.into_iter().chain([&catalog.guards, &recommendations.guards]);
    for ((row, guards), health) in expected.iter().zip(systems).zip(config.health()) {
        let (name, connect, read, call, permits, queue, min, rate, slow, probes, attempts) = *row;
        let GuardConfig { timeouts, bulkhead, breaker, retry } = guards;
        assert_eq!(timeouts.connect, Duration::from_millis(connect), "{name}");
        assert_eq!(timeouts.read, Duration::from_millis(read), "{name}");
        assert_eq!(timeouts.call, Duration::from_millis(call), "{name}");
        assert_eq!(bulkhead.max_concurrent, permits, "{name}");
        assert_eq!(bulkhead.max_queue, queue, "{name}");
        assert_eq!(breaker.min_requests, min, "{name}");
        assert!((breaker.failure_rate - rate).abs() < f64::EPSILON, "{name}");
        assert_eq!(breaker.slow_as, slow, "{name}");
        assert_eq!(breaker.half_open_max_in_flight, probes, "{name}");
        assert_eq!(retry.max_attempts, attempts, "{name}");
        assert_eq!(health.system.as_str(), name);
        assert_eq!(health.url.path(), "/health", "{name}");
        assert_eq!(health.ttl, Duration::from_secs(30), "{name}");
    }
}

#[test]
fn one_variable_changes_one_thing() {
    let config = config(&[("SBER_CB_FAILURE_RATE", "0.50"), ("CATALOG_CALL_TIMEOUT", "1m 30s")]);
    assert!((sber(&config).guards.breaker.failure_rate - 0.5).abs() < f64::EPSILON);
    assert!((odnakassa(&config).guards.breaker.failure_rate - 0.3).abs() < f64::EPSILON);
    assert_eq!(config.catalog.guards.timeouts.call, Duration::from_secs(90));
    assert_eq!(effective(&config, "SBER_CB_FAILURE_RATE"), "0.50");
}

#[test]
fn what_an_operator_may_choose_is_taken() {
    for changes in [
        &[("HTTP_ADDR", "0.0.0.0:8080"), ("AUTH_MODE", "none")][..],
        &[
            ("HTTP_ADDR", "0.0.0.0:8080"),
            ("AUTH_MODE", "jwt"),
            ("AUTH_JWT_SECRET", "s3cret of thirty-two bytes or more"),
        ],
        &[("AUTH_MODE", "jwt"), ("AUTH_JWT_PUBLIC_KEY_FILE", "tests/tokens/es384.pem")],
        &[("AUTH_MODE", "jwt"), ("AUTH_JWKS_FILE", "tests/tokens/jwks.json")],
        &[("ADMIN_ADDR", "0.0.0.0:8081"), ("ADMIN_TOKEN", "letmein")],
        &[("HTTP_ADDR", "127.0.0.1:0"), ("ADMIN_ADDR", "127.0.0.1:0")],
        &[("SBER_TOKEN", "t"), ("SBER_USERNAME", ""), ("SBER_PASSWORD", "")],
        &[("SBER_PROTOCOL", "json")],
        &[("PAYMENT_PROVIDERS", "odnakassa")],
        &[("PAYMENT_RETURN_URL", "http://localhost:3000/paid")],
        &[("PAYMENT_RETURN_HOSTS", "shop.example, other.example")],
        &[("PAYMENT_NUMBER_PREFIX", "T1")],
        &[("DATABASE_URL", "postgres://user:secret@db:5432/orders?sslmode=require")],
        &[("SBER_CB_WINDOW", "consecutive"), ("SBER_CB_CONSECUTIVE_FAILURES", "5")],
        &[("SBER_CB_MODE", "dry_run")],
        &[("SBER_CONCURRENCY", "observe"), ("SBER_CB_OPEN_TIMEOUT_MAX", "30s")],
        &[("CACHE_URL", "redis://cache")],
        &[("CACHE_URL", "rediss://user:secret@cache:6380/2")],
        &[("CATALOG_MAX_QUEUE", "5"), ("CATALOG_MAX_WAIT", "50ms")],
        &[("RUST_LOG", "warn,order_service=debug")],
        &[("SBER_READ_TIMEOUT", ""), ("RATE_LIMIT_PER_SECOND", ""), ("CACHE_URL", "")],
    ] {
        read(changes).unwrap_or_else(|problems| panic!("{changes:?}: {problems}"));
    }
}

#[test]
fn the_open_time_does_not_grow_unless_that_is_asked_for_and_is_shown_either_way() {
    let longer = config(&[("SBER_CB_OPEN_TIMEOUT", "45s")]);
    assert_eq!(effective(&longer, "SBER_CB_OPEN_TIMEOUT_MAX"), "45s");
    assert_eq!(effective(&longer, "CATALOG_CB_OPEN_TIMEOUT_MAX"), "30s");
    assert_eq!(sber(&longer).guards.breaker.open_timeout_max, None);
    let growing = config(&[("SBER_CB_OPEN_TIMEOUT_MAX", "5m")]);
    assert_eq!(effective(&growing, "SBER_CB_OPEN_TIMEOUT_MAX"), "5m");
    let max = sber(&growing).guards.breaker.open_timeout_max;
    assert_eq!(max, Some(Duration::from_secs(300)));
}

#[test]
fn a_limit_is_looked_for_only_where_that_is_asked_for() {
    let config = config(&[("ODNAKASSA_CONCURRENCY", "adaptive")]);
    assert_eq!(effective(&config, "SBER_CONCURRENCY"), "fixed");
    assert_eq!(sber(&config).guards.bulkhead.concurrency, Concurrency::Fixed);
    assert_eq!(odnakassa(&config).guards.bulkhead.concurrency, Concurrency::Adaptive);
}

#[test]
fn one_message_lists_every_problem() {
    let error = read(&[
        ("SBER_BASE_URL", ""),
        ("SBER_READ_TIMEOUT", "10"),
        ("ODNAKASSA_MAX_QUEUE", "500"),
        ("CATALOG_CALL_TIMEOUT", "1s"),
        ("PAYMENT_PROVIDERS", "paypal"),
        ("SBER_FLAVOUR", "sweet"),
    ]);
    let message = error.unwrap_err().to_string();
    assert_eq!(message.lines().count(), 7, "{message}");
    for line in [
        "the configuration has 6 problems:",
        "  SBER_BASE_URL is not set: expected an http or https URL without credentials, query and fragment (PAYMENT_PROVIDERS names sber)",
        "  ODNAKASSA_MAX_QUEUE=500: expected a whole number from 0 to 50",
        "  CATALOG_CALL_TIMEOUT=1s: expected more than READ_TIMEOUT",
    ] {
        assert!(message.lines().any(|l| l == line), "{line} is not in:\n{message}");
    }
}

#[test]
fn doubtful_choices_are_warned_of_and_taken() {
    for (name, value) in [
        ("SBER_MAX_QUEUE", "6"),
        ("SBER_CB_HALF_OPEN_REQUESTS", "1"),
        ("SBER_CB_HALF_OPEN_REQUESTS", "6"),
        ("SBER_CB_WINDOW_SIZE", "5"),
        ("SBER_SLOW_CALL_THRESHOLD", "15s"),
        ("PAYMENT_SYNC_WAIT", "30s"),
        ("AUTH_JWT_ISSUER", "https://id.example"),
        ("RATE_LIMIT_BURST", "5"),
    ] {
        let (_, warnings) = read(&[(name, value)]).unwrap();
        assert!(warnings.iter().any(|w| w.variable == name), "{name}={value}: {warnings:?}");
    }
    let secret = "a secret that is 32 bytes or more";
    let (_, warnings) = read(&[("AUTH_MODE", "jwt"), ("AUTH_JWT_SECRET", secret)]).unwrap();
    assert!(warnings.iter().any(|w| w.variable == "AUTH_JWT_AUDIENCE"), "{warnings:?}");
}

#[test]
fn a_burst_is_a_seconds_worth_unless_it_is_said() {
    let quota = |changes: &[(&str, &str)]| {
        let config = config(changes);
        let quota = config.service.limits.quota;
        let told = effective(&config, "RATE_LIMIT_BURST").to_owned();
        (quota.map(|quota| (quota.per_second.get(), quota.burst.get())), told)
    };
    let rate = ("RATE_LIMIT_PER_SECOND", "5");
    assert_eq!(quota(&[]), (None, "0".to_owned()));
    assert_eq!(quota(&[rate]), (Some((5, 5)), "5".to_owned()));
    assert_eq!(quota(&[rate, ("RATE_LIMIT_BURST", "1")]), (Some((5, 1)), "1".to_owned()));
}

#[test]
fn tokens_are_checked_by_the_one_source_that_is_named() {
    let secret = "a secret that is 32 bytes or more";
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(format!("{secret}\n").as_bytes()).unwrap();
    let of = [
        ("AUTH_MODE", "jwt"),
        ("AUTH_JWT_SECRET_FILE", file.path().to_str().unwrap()),
        ("AUTH_JWT_ISSUER", "https://id.example"),
        ("AUTH_JWT_AUDIENCE", "orders-api"),
    ];
    let (config, warnings) = read(&of).unwrap();
    assert!(!warnings.iter().any(|w| w.variable.starts_with("AUTH_")), "{warnings:?}");
    assert!(!format!("{config:?}").contains(secret));
    let tokens = config.service.tokens.unwrap();
    assert_eq!(tokens.expected.issuer.as_deref(), Some("https://id.example"));
    assert_eq!(tokens.expected.audience.as_deref(), Some("orders-api"));
    assert!(read(&[]).unwrap().0.service.tokens.is_none());
}

#[test]
fn the_defaults_give_no_cause_for_warnings_but_missing_secrets() {
    let (_, warnings) = read(&[]).unwrap();
    let names: Vec<_> = warnings.iter().map(|w| w.variable.as_str()).collect();
    assert_eq!(names, ["SBER_CALLBACK_SECRET", "ODNAKASSA_WEBHOOK_SECRET"]);
}

#[cfg(unix)]
#[test]
fn bytes_that_are_not_utf8_concern_us_only_in_our_own_variables() {
    use std::os::unix::ffi::OsStringExt;
    let garbled = || OsString::from_vec(vec![0xff, 0xfe]);
    let with = |name: &str| {
        let plain = REQUIRED.iter().map(|(name, value)| (name.into(), value.into()));
        Config::read(plain.chain([(name.into(), garbled())]))
    };
    assert!(with("FOREIGN").is_ok());
    let problems = with("SBER_MAX_QUEUE").unwrap_err();
    assert_eq!(problems.all[0].variable, "SBER_MAX_QUEUE");
    assert_eq!(problems.all[0].expected, "UTF-8");
}

#[test]
fn what_others_put_into_the_environment_is_left_alone() {
    // Kubernetes announces a service called "catalog" so.
    config(&[
        ("CATALOG_SERVICE_HOST", "10.0.0.7"),
        ("CATALOG_SERVICE_PORT", "8080"),
        ("CATALOG_SERVICE_PORT_HTTP", "8080"),
        ("CATALOG_PORT", "tcp://10.0.0.7:8080"),
        ("CATALOG_PORT_8080_TCP_ADDR", "10.0.0.7"),
        ("TASK_ID", "7"),
        ("AUTH_TOKEN", "theirs"),
        ("HTTP_PROXY", "http://proxy"),
        ("sber_read_timeout", "1"),
    ]);
}

/// `NAME=value` lines, as a shell and a container engine both read them.
fn env_file(name: &str) -> Vec<(OsString, OsString)> {
    let path = format!("{}/config/{name}.env", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("a file of config/");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pairs = lines.map(|line| line.split_once('=').expect("NAME=value"));
    pairs.map(|(name, value)| (name.into(), value.into())).collect()
}

#[test]
fn every_file_of_the_config_folder_starts() {
    let on_postgres = [env_file("sandbox"), env_file("postgres")].concat();
    let filled_in = env_file("production.example").into_iter().map(|(name, value)| {
        let value = value.into_string().expect("UTF-8").replace("change-me", "our-own");
        (name, value.into())
    });
    for variables in [env_file("sandbox"), on_postgres, filled_in.collect()] {
        let (_, warnings) = Config::read(variables).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(warnings, []);
    }
}

#[test]
fn the_example_stops_the_start_until_it_is_filled_in() {
    let problems = Config::read(env_file("production.example")).expect_err("placeholders").all;
    assert!(problems.iter().any(|problem| problem.variable == "ADMIN_TOKEN"), "{problems:?}");
}

#[test]
fn spans_go_where_the_standard_variables_say() {
    let spans_to = |changes: &[(&str, &str)]| config(changes).service.telemetry.spans_to;
    let all = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/");
    let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces/in");
    assert_eq!(spans_to(&[]), None);
    assert_eq!(spans_to(&[all]).unwrap(), "http://collector:4318/v1/traces");
    assert_eq!(spans_to(&[all, own]).unwrap(), "http://traces/in");
}

#[test]
fn the_sandbox_lends_what_is_missing_and_the_environment_wins() {
    let lent = REQUIRED.iter().filter(|(name, _)| *name != "PAYMENT_RETURN_URL");
    let lent: Vec<_> = lent.map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let sandbox = |own: &[(&str, &str)]| {
        let own: Vec<_> = own.iter().map(|(n, v)| (n.into(), v.into())).collect();
        Config::sandbox(own, lent.clone()).unwrap_or_else(|problems| panic!("{problems}")).0
    };
    let plain = sandbox(&[]);
    assert_eq!(plain.payment.return_url, "http://localhost:8080/docs");
    assert!(plain.return_urls.loopback_http);
    let own = sandbox(&[
        ("HTTP_ADDR", "127.0.0.1:9000"),
        ("SBER_BASE_URL", "http://127.0.0.1:1/"),
        ("SBER_TOKEN", "own"),
    ]);
    assert_eq!(own.payment.return_url, "http://localhost:9000/docs");
    assert_eq!(sber(&own).base_url.as_str(), "http://127.0.0.1:1/");
    assert!(matches!(sber(&own).credentials, Credentials::Token(_)));
}
