//! The configuration as an operator meets it: what is in force, what is refused and how that is
//! told, and that no secret is ever shown.

use order_service::adapters::outbound::sber::Credentials;
use order_service::adapters::resilience::breaker::SlowAs;
use order_service::adapters::resilience::guards::GuardConfig;
use order_service::adapters::resilience::settings::Concurrency;
use order_service::config::{Config, Problem, Problems};
use order_service::core::domain::provider::Provider;
use secrecy::ExposeSecret;
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

type Outcome = Result<(Config, Vec<Problem>), Problems>;

/// Reads the required variables with `changes` on top; an empty value unsets.
fn read(changes: &[(&str, &str)]) -> Outcome {
    let kept = REQUIRED.iter().filter(|(name, _)| !changes.iter().any(|(n, _)| n == name));
    Config::read(kept.chain(changes).map(|(name, value)| (name.into(), value.into())))
}

fn config(changes: &[(&str, &str)]) -> Config {
    read(changes).unwrap_or_else(|problems| panic!("{problems}")).0
}

fn problems(changes: &[(&str, &str)]) -> Vec<Problem> {
    read(changes).expect_err("a problem").0
}

fn effective<'a>(config: &'a Config, name: &str) -> &'a str {
    let found = config.effective().iter().find(|(n, _)| n == name);
    found.map_or_else(|| panic!("{name} is not listed"), |(_, value)| value)
}

#[test]
fn the_required_variables_are_enough() {
    let (config, _) = read(&[]).unwrap();
    assert_eq!(config.sber.base_url.as_str(), "https://bank.example/payment/rest/");
    assert_eq!(config.payment.providers, [Provider::Sber, Provider::OdnaKassa]);
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
    let Config { sber, odnakassa, catalog, recommendations, .. } = &config;
    let systems = [&sber.guards, &odnakassa.guards, &catalog.guards, &recommendations.guards];
    for ((row, guards), health) in expected.iter().zip(systems).zip(&config.health) {
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
    assert!((config.sber.guards.breaker.failure_rate - 0.5).abs() < f64::EPSILON);
    assert!((config.odnakassa.guards.breaker.failure_rate - 0.3).abs() < f64::EPSILON);
    assert_eq!(config.catalog.guards.timeouts.call, Duration::from_secs(90));
    assert_eq!(effective(&config, "SBER_CB_FAILURE_RATE"), "0.50");
}

type Refused<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a str);

/// Each is refused for itself: the variable that is named, and a word of what is expected.
#[rustfmt::skip]
const REFUSED: &[Refused<'_>] = &[
    // required
    (&[("SBER_BASE_URL", "")], "SBER_BASE_URL", "http or https URL"),
    (&[("CATALOG_BASE_URL", "")], "CATALOG_BASE_URL", "http or https URL"),
    (&[("ODNAKASSA_API_KEY", "")], "ODNAKASSA_API_KEY", "secret"),
    (&[("PAYMENT_RETURN_URL", "")], "PAYMENT_RETURN_URL", "https URL"),
    // form
    (&[("SBER_BASE_URL", "bank")], "SBER_BASE_URL", "URL"),
    (&[("SBER_BASE_URL", "ftp://bank")], "SBER_BASE_URL", "http"),
    (&[("SBER_READ_TIMEOUT", "10")], "SBER_READ_TIMEOUT", "duration with its unit"),
    (&[("SBER_READ_TIMEOUT", "soon")], "SBER_READ_TIMEOUT", "duration"),
    (&[("SBER_READ_TIMEOUT", "-1s")], "SBER_READ_TIMEOUT", "duration"),
    (&[("SBER_MAX_CONCURRENT", "ten")], "SBER_MAX_CONCURRENT", "whole number"),
    (&[("SBER_MAX_CONCURRENT", "0")], "SBER_MAX_CONCURRENT", "from 1"),
    (&[("SBER_MAX_CONCURRENT", "99999999999999999999")], "SBER_MAX_CONCURRENT", "whole number"),
    (&[("SBER_CB_WINDOW", "Count")], "SBER_CB_WINDOW", "count, time, consecutive"),
    (&[("SBER_CB_MODE", "on")], "SBER_CB_MODE", "dry_run"),
    (&[("SBER_CONCURRENCY", "on")], "SBER_CONCURRENCY", "fixed, observe, adaptive"),
    (&[("SBER_CB_OPEN_TIMEOUT_MAX", "29s")], "SBER_CB_OPEN_TIMEOUT_MAX", "at least CB_OPEN_TIMEOUT"),
    (&[("SBER_CB_OPEN_TIMEOUT_MAX", "2h")], "SBER_CB_OPEN_TIMEOUT_MAX", "1h"),
    (&[("SBER_CB_SLOW_AS", "error")], "SBER_CB_SLOW_AS", "failure, rate, ignore"),
    (&[("SBER_HEALTH_PATH", "health")], "SBER_HEALTH_PATH", "slash"),
    (&[("SBER_PROTOCOL", "xml")], "SBER_PROTOCOL", "classic, json"),
    (&[("HTTP_ADDR", "8080")], "HTTP_ADDR", "port"),
    (&[("DATABASE_URL", "mysql://host/db")], "DATABASE_URL", "postgres://"),
    (&[("DATABASE_URL", "postgres://u:p@h:x/d")], "DATABASE_URL", "postgres://"),
    (&[("LOG_FORMAT", "xml")], "LOG_FORMAT", "pretty, json"),
    (&[("RUST_LOG", "order_service=loud")], "RUST_LOG", "filter"),
    (&[("PAYMENT_FAILOVER_ON_REJECTED", "yes")], "PAYMENT_FAILOVER_ON_REJECTED", "true"),
    (&[("PAYMENT_UNAVAILABLE_MODE", "drop")], "PAYMENT_UNAVAILABLE_MODE", "queue, reject"),
    (&[("READINESS_EXTERNAL", "no")], "READINESS_EXTERNAL", "report, strict"),
    (&[("RECOMMENDATIONS_EMPTY_ON", "always")], "RECOMMENDATIONS_EMPTY_ON", "any_transient"),
    // bounds
    (&[("SBER_READ_TIMEOUT", "61s"), ("SBER_CALL_TIMEOUT", "2m"), ("PAYMENT_UNKNOWN_GRACE", "3m"), ("TASK_LEASE", "3m")], "SBER_READ_TIMEOUT", "1m"),
    (&[("SBER_CONNECT_TIMEOUT", "11s")], "SBER_CONNECT_TIMEOUT", "10s"),
    (&[("SBER_MAX_QUEUE", "51")], "SBER_MAX_QUEUE", "50"),
    (&[("SBER_CB_HALF_OPEN_REQUESTS", "0")], "SBER_CB_HALF_OPEN_REQUESTS", "from 1"),
    (&[("SBER_CB_FAILURE_RATE", "1.5")], "SBER_CB_FAILURE_RATE", "1"),
    (&[("SBER_CB_FAILURE_RATE", "0")], "SBER_CB_FAILURE_RATE", "more than 0"),
    (&[("SBER_CB_FAILURE_RATE", "NaN")], "SBER_CB_FAILURE_RATE", "number"),
    (&[("SBER_CB_SLOW_CALL_RATE", "-0.1")], "SBER_CB_SLOW_CALL_RATE", "number"),
    (&[("SBER_CB_CANARY_PERCENT", "101")], "SBER_CB_CANARY_PERCENT", "100"),
    (&[("SBER_RETRY_MAX_ATTEMPTS", "6")], "SBER_RETRY_MAX_ATTEMPTS", "5"),
    (&[("SBER_RETRY_BUDGET_RATIO", "2")], "SBER_RETRY_BUDGET_RATIO", "1"),
    (&[("MAX_BODY_BYTES", "10")], "MAX_BODY_BYTES", "1024"),
    (&[("RATE_LIMIT_PER_SECOND", "-1")], "RATE_LIMIT_PER_SECOND", "from 0"),
    (&[("RATE_LIMIT_PER_SECOND", "0.5")], "RATE_LIMIT_PER_SECOND", "whole number"),
    (&[("RATE_LIMIT_BURST", "1000001")], "RATE_LIMIT_BURST", "to 1000000"),
    (&[("TASK_WORKERS", "0")], "TASK_WORKERS", "from 1"),
    (&[("PAYMENT_NUMBER_PREFIX", "ABCD")], "PAYMENT_NUMBER_PREFIX", "three"),
    (&[("PAYMENT_NUMBER_PREFIX", "a1")], "PAYMENT_NUMBER_PREFIX", "A-Z"),
    (&[("ADMIN_TOKEN", "two words")], "ADMIN_TOKEN", "visible ASCII"),
    // relations
    (&[("SBER_CONNECT_TIMEOUT", "10s")], "SBER_READ_TIMEOUT", "CONNECT_TIMEOUT"),
    (&[("SBER_CALL_TIMEOUT", "9s")], "SBER_CALL_TIMEOUT", "READ_TIMEOUT"),
    (&[("SBER_CALL_TIMEOUT", "12500ms")], "SBER_CALL_TIMEOUT", "+ 1s"),
    (&[("SBER_CB_WINDOW", "consecutive")], "SBER_CB_CONSECUTIVE_FAILURES", "at least 1"),
    (&[("SBER_RETRY_MAX", "100ms")], "SBER_RETRY_MAX", "RETRY_BASE"),
    (&[("PAYMENT_UNKNOWN_GRACE", "36s")], "PAYMENT_UNKNOWN_GRACE", "ODNAKASSA_CALL_TIMEOUT (36s)"),
    (&[("TASK_LEASE", "30s")], "TASK_LEASE", "ODNAKASSA_CALL_TIMEOUT"),
    (&[("TASK_BACKOFF_MAX", "500ms")], "TASK_BACKOFF_MAX", "TASK_BACKOFF"),
    (&[("TASK_MAX_AGE", "60s")], "TASK_MAX_AGE", "PAYMENT_UNKNOWN_GRACE"),
    (&[("CATALOG_MAX_STALE", "20s")], "CATALOG_MAX_STALE", "CATALOG_CACHE_TTL"),
    (&[("ADMIN_ADDR", "127.0.0.1:8080")], "ADMIN_ADDR", "another"),
    // payments
    (&[("PAYMENT_PROVIDERS", "sber,paypal")], "PAYMENT_PROVIDERS", "sber,odnakassa"),
    (&[("PAYMENT_PROVIDERS", "sber,sber")], "PAYMENT_PROVIDERS", "each once"),
    (&[("PAYMENT_PROVIDERS", ",")], "PAYMENT_PROVIDERS", "payment systems"),
    (&[("PAYMENT_RETURN_URL", "http://shop.example/")], "PAYMENT_RETURN_URL", "https"),
    (&[("PAYMENT_RETURN_HOSTS", "other.example")], "PAYMENT_RETURN_HOSTS", "PAYMENT_RETURN_URL"),
    (&[("PAYMENT_RETURN_HOSTS", "https://shop.example")], "PAYMENT_RETURN_HOSTS", "without scheme"),
    // credentials
    (&[("SBER_USERNAME", ""), ("SBER_PASSWORD", "")], "SBER_USERNAME", "SBER_TOKEN"),
    (&[("SBER_USERNAME", "")], "SBER_USERNAME", "SBER_PASSWORD"),
    (&[("SBER_PASSWORD", "")], "SBER_PASSWORD", "SBER_USERNAME"),
    (&[("SBER_TOKEN", "t")], "SBER_TOKEN", "beside"),
    (&[("SBER_TOKEN", "t"), ("SBER_USERNAME", ""), ("SBER_PASSWORD", ""), ("SBER_PROTOCOL", "json")], "SBER_TOKEN", "json"),
    (&[("SBER_CA_FILE", "no/such/file.pem")], "SBER_CA_FILE", "PEM"),
    (&[("SBER_CALLBACK_PUBLIC_KEY_FILE", "no/such/file.pem")], "SBER_CALLBACK_PUBLIC_KEY_FILE", "PEM"),
    (&[("SBER_CALLBACK_PUBLIC_KEY_FILE", "Cargo.toml"), ("SBER_CALLBACK_SECRET", "s")], "SBER_CALLBACK_PUBLIC_KEY_FILE", "beside"),
    (&[("SBER_PASSWORD_FILE", "no/such/file")], "SBER_PASSWORD_FILE", "while SBER_PASSWORD is set"),
    (&[("SBER_PASSWORD", ""), ("SBER_PASSWORD_FILE", "no/such/file")], "SBER_PASSWORD_FILE", "not found"),
    // tokens
    (&[("AUTH_MODE", "basic")], "AUTH_MODE", "none, jwt"),
    (&[("AUTH_MODE", "jwt")], "AUTH_JWT_SECRET", "AUTH_JWKS_FILE"),
    (&[("AUTH_MODE", "jwt"), ("AUTH_JWT_SECRET", "s"), ("AUTH_JWKS_FILE", "tests/tokens/jwks.json")], "AUTH_JWKS_FILE", "beside AUTH_JWT_SECRET"),
    (&[("AUTH_MODE", "jwt"), ("AUTH_JWT_SECRET", "s"), ("AUTH_JWT_PUBLIC_KEY_FILE", "tests/tokens/rs256.pem")], "AUTH_JWT_PUBLIC_KEY_FILE", "beside AUTH_JWT_SECRET"),
    (&[("AUTH_MODE", "jwt"), ("AUTH_JWT_PUBLIC_KEY_FILE", "tests/tokens/rs256.pem"), ("AUTH_JWKS_FILE", "tests/tokens/jwks.json")], "AUTH_JWKS_FILE", "beside AUTH_JWT_PUBLIC_KEY_FILE"),
    (&[("AUTH_MODE", "jwt"), ("AUTH_JWT_PUBLIC_KEY_FILE", "no/such/file.pem")], "AUTH_JWT_PUBLIC_KEY_FILE", "cannot be read"),
    (&[("AUTH_MODE", "jwt"), ("AUTH_JWT_PUBLIC_KEY_FILE", "Cargo.toml")], "AUTH_JWT_PUBLIC_KEY_FILE", "PEM"),
    (&[("AUTH_MODE", "jwt"), ("AUTH_JWT_PUBLIC_KEY_FILE", "tests/tokens/rsa1024.pem")], "AUTH_JWT_PUBLIC_KEY_FILE", "2048 bits"),
    (&[("AUTH_MODE", "jwt"), ("AUTH_JWT_PUBLIC_KEY_FILE", "/dev/zero")], "AUTH_JWT_PUBLIC_KEY_FILE", "256 KiB"),
    (&[("AUTH_MODE", "jwt"), ("AUTH_JWKS_FILE", "no/such/file.json")], "AUTH_JWKS_FILE", "cannot be read"),
    (&[("AUTH_MODE", "jwt"), ("AUTH_JWKS_FILE", "Cargo.toml")], "AUTH_JWKS_FILE", "no JWK set"),
    (&[("AUTH_MODE", "jwt"), ("AUTH_JWT_SECRET_FILE", "no/such/file")], "AUTH_JWT_SECRET_FILE", "not found"),
    // doors
    (&[("HTTP_ADDR", "0.0.0.0:8080")], "AUTH_MODE", "HTTP_ADDR"),
    (&[("ADMIN_ADDR", "0.0.0.0:8081")], "ADMIN_TOKEN", "ADMIN_ADDR"),
    // the shared cache
    (&[("CACHE_URL", "cache:6379")], "CACHE_URL", "redis://"),
    (&[("CACHE_URL", "redis://cache/one")], "CACHE_URL", "redis://"),
    (&[("CACHE_URL", "rediss://cache/#insecure")], "CACHE_URL", "rediss://"),
    // names
    (&[("SBER_READ_TIMEOUTS", "10s")], "SBER_READ_TIMEOUTS", "SBER_READ_TIMEOUT?"),
    (&[("SBER_FLAVOUR", "sweet")], "SBER_FLAVOUR", "no SBER_… variable"),
    (&[("PAYMENT_PROVIDER", "sber")], "PAYMENT_PROVIDER", "PAYMENT_PROVIDERS?"),
    (&[("TASK_LEASES", "90s")], "TASK_LEASES", "TASK_LEASE?"),
];

#[test]
fn whatever_could_hurt_is_refused_by_name() {
    for (changes, variable, expected) in REFUSED {
        let found = problems(changes);
        let names: Vec<_> = found.iter().map(|p| p.variable.as_str()).collect();
        let problem = found.iter().find(|p| p.variable == *variable);
        let problem = problem.unwrap_or_else(|| panic!("{changes:?} names {names:?}"));
        assert!(problem.expected.contains(expected), "{changes:?}: {problem}");
    }
}

#[test]
fn what_an_operator_may_choose_is_taken() {
    for changes in [
        &[("HTTP_ADDR", "0.0.0.0:8080"), ("AUTH_MODE", "none")][..],
        &[("HTTP_ADDR", "0.0.0.0:8080"), ("AUTH_MODE", "jwt"), ("AUTH_JWT_SECRET", "s3cret")],
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
    assert_eq!(longer.sber.guards.breaker.open_timeout_max, None);
    let growing = config(&[("SBER_CB_OPEN_TIMEOUT_MAX", "5m")]);
    assert_eq!(effective(&growing, "SBER_CB_OPEN_TIMEOUT_MAX"), "5m");
    let max = growing.sber.guards.breaker.open_timeout_max;
    assert_eq!(max, Some(Duration::from_secs(300)));
}

#[test]
fn a_limit_is_looked_for_only_where_that_is_asked_for() {
    let config = config(&[("ODNAKASSA_CONCURRENCY", "adaptive")]);
    assert_eq!(effective(&config, "SBER_CONCURRENCY"), "fixed");
    assert_eq!(config.sber.guards.bulkhead.concurrency, Concurrency::Fixed);
    assert_eq!(config.odnakassa.guards.bulkhead.concurrency, Concurrency::Adaptive);
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
        "  SBER_BASE_URL is not set: expected an http or https URL without credentials, query and fragment",
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
    let (_, warnings) = read(&[("AUTH_MODE", "jwt"), ("AUTH_JWT_SECRET", "short")]).unwrap();
    for name in ["AUTH_JWT_SECRET", "AUTH_JWT_AUDIENCE"] {
        assert!(warnings.iter().any(|w| w.variable == name), "{name}: {warnings:?}");
    }
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

#[test]
fn a_secret_may_come_from_a_file_without_its_last_newline() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"from-a-file\n").unwrap();
    let path = file.path().to_str().unwrap();
    let config = config(&[
        ("SBER_PASSWORD", ""),
        ("SBER_PASSWORD_FILE", path),
        ("ODNAKASSA_API_KEY", ""),
        ("ODNAKASSA_API_KEY_FILE", path),
    ]);
    let Credentials::Login { password, .. } = &config.sber.credentials else {
        panic!("a password was given");
    };
    assert_eq!(password.expose_secret(), "from-a-file");
    assert_eq!(config.odnakassa.api_key.expose_secret(), "from-a-file");
    assert_eq!(effective(&config, "SBER_PASSWORD"), "***");
}

#[test]
fn an_empty_file_holds_no_secret() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let found = problems(&[("ODNAKASSA_API_KEY", ""), ("ODNAKASSA_API_KEY_FILE", path)]);
    assert_eq!(found[0].variable, "ODNAKASSA_API_KEY_FILE");
}

#[test]
fn no_secret_is_ever_shown() {
    let secrets = [
        ("SBER_PASSWORD", "s3cret-1"),
        ("SBER_CALLBACK_SECRET", "s3cret-2"),
        ("ODNAKASSA_API_KEY", "s3cret-3"),
        ("ODNAKASSA_WEBHOOK_SECRET", "s3cret-4"),
        ("ADMIN_TOKEN", "s3cret-5"),
        ("AUTH_JWT_SECRET", "s3cret-6"),
        ("DATABASE_URL", "postgres://orders:s3cret-7@db/orders"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=s3cret-8"),
        ("CACHE_URL", "redis://:s3cret-9@cache:6379/1"),
    ];
    let (config, warnings) = read(&secrets).unwrap();
    let shown = format!("{config:?} {config:#?} {warnings:?} {:?}", config.effective());
    assert!(!shown.contains("s3cret"), "{shown}");
    assert_eq!(effective(&config, "DATABASE_URL"), "postgres://orders:***@db/orders");
    assert_eq!(effective(&config, "CACHE_URL"), "redis://:***@cache:6379/1");

    let wrong = [
        ("ODNAKASSA_API_KEY", "s3cret key"),
        ("ADMIN_TOKEN", "s3cret token"),
        ("SBER_TOKEN", "s3cret"),
        ("DATABASE_URL", "mysql://orders:s3cret@db/orders"),
        ("CACHE_URL", "redis://:s3cret@cache/first"),
        ("SBER_PASWORD", "s3cret"),
    ];
    let problems = read(&wrong).unwrap_err();
    assert_eq!(problems.0.len(), wrong.len(), "{problems}");
    let shown = format!("{problems} {problems:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
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
    assert_eq!(problems.0[0].variable, "SBER_MAX_QUEUE");
    assert_eq!(problems.0[0].expected, "UTF-8");
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
    for variables in [env_file("sandbox"), on_postgres, env_file("production.example")] {
        let (_, warnings) = Config::read(variables).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(warnings, []);
    }
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
    assert_eq!(own.sber.base_url.as_str(), "http://127.0.0.1:1/");
    assert!(matches!(own.sber.credentials, Credentials::Token(_)));
}
