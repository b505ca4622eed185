//! What is refused, each for itself.

use crate::problems;

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
    (&[("AUTH_MODE", "jwt"), ("AUTH_JWT_SECRET", "of thirty-two bytes and some more"), ("AUTH_JWKS_FILE", "tests/tokens/jwks.json")], "AUTH_JWKS_FILE", "beside AUTH_JWT_SECRET"),
    (&[("AUTH_MODE", "jwt"), ("AUTH_JWT_SECRET", "of thirty-two bytes and some more"), ("AUTH_JWT_PUBLIC_KEY_FILE", "tests/tokens/rs256.pem")], "AUTH_JWT_PUBLIC_KEY_FILE", "beside AUTH_JWT_SECRET"),
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
