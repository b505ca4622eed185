//! What is built, for `/info` and `app_build_info`: the commit, the compiler, the time. `BUILD_COMMIT` and
//! `SOURCE_DATE_EPOCH` in the environment win; where there is no repository, it is `unknown`.

use std::env::var;
use std::process::Command;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

fn main() {
    println!("cargo::rerun-if-env-changed=BUILD_COMMIT");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    println!("cargo::rustc-env=BUILD_COMMIT={}", commit());
    let rustc = var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let rustc = said(&rustc, &["--version"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=BUILD_RUSTC={rustc}");
    println!("cargo::rustc-env=BUILD_TIME={}", build_time());
}

/// A release is built anew for each commit. Other builds are not: theirs has a `+`, for whatever came since.
fn commit() -> String {
    if let Ok(told) = var("BUILD_COMMIT") {
        return told;
    }
    let Some(commit) = said("git", &["rev-parse", "--short", "HEAD"]) else {
        println!("cargo::rerun-if-changed=build.rs");
        return "unknown".to_owned();
    };
    if var("PROFILE").is_ok_and(|profile| profile == "release") {
        if let Some(log) = said("git", &["rev-parse", "--git-path", "logs/HEAD"]) {
            println!("cargo::rerun-if-changed={log}");
        }
        commit
    } else {
        println!("cargo::rerun-if-changed=build.rs");
        format!("{commit}+")
    }
}

fn build_time() -> String {
    let told = var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let told = told.and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    let time = told.unwrap_or_else(OffsetDateTime::now_utc).replace_nanosecond(0);
    time.ok().and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_else(|| "unknown".to_owned())
}

fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
}
