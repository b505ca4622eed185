//! Secrets come from where they are safe, and are never shown.

use crate::{config, effective, odnakassa, problems, read, sber};
use order_service::adapters::outbound::sber::Credentials;
use secrecy::ExposeSecret;
use std::io::Write;

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
    let Credentials::Login { password, .. } = &sber(&config).credentials else {
        panic!("a password was given");
    };
    assert_eq!(password.expose_secret(), "from-a-file");
    assert_eq!(odnakassa(&config).api_key.expose_secret(), "from-a-file");
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
    assert_eq!(problems.all.len(), wrong.len(), "{problems}");
    let shown = format!("{problems} {problems:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[test]
fn what_is_empty_once_parsed_is_no_secret() {
    for name in ["SBER_CALLBACK_SECRET", "ODNAKASSA_WEBHOOK_SECRET", "SBER_PASSWORD"] {
        for empty in [" ", ",", " , ,"] {
            let found = problems(&[(name, empty)]);
            assert_eq!(found[0].variable, name, "{empty:?}");
        }
    }
}

#[test]
fn a_placeholder_keeps_nobody_out() {
    for name in ["ADMIN_TOKEN", "ODNAKASSA_API_KEY", "SBER_CALLBACK_SECRET"] {
        let found = problems(&[(name, "CHANGE-ME-please")]);
        assert_eq!(found[0].variable, name);
        assert!(found[0].expected.contains("placeholder"), "{}", found[0].expected);
    }
    let url = "postgres://orders:change-me@db/orders";
    assert_eq!(problems(&[("DATABASE_URL", url)])[0].variable, "DATABASE_URL");
}

#[test]
fn a_key_that_can_be_guessed_is_refused() {
    let short = [("AUTH_MODE", "jwt"), ("AUTH_JWT_SECRET", "short")];
    assert_eq!(problems(&short)[0].variable, "AUTH_JWT_SECRET");
}
