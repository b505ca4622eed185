//! The partners as a process of their own.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use order_service::sandbox::PartnerName;

#[test]
fn the_binary_prints_its_addresses_and_ends_by_sigterm() {
    let partners = PartnerName::ALL.map(PartnerName::as_str).into_iter().chain(["control"]);
    let mut process = Command::new(env!("CARGO_BIN_EXE_partner-sandbox"))
        .args(partners.map(|partner| format!("--{partner}-port=0")))
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let printed = BufReader::new(process.stdout.take().expect("piped")).lines();
    let lines: Vec<_> = printed.map_while(Result::ok).take(PartnerName::ALL.len() + 3).collect();
    assert!(
        lines[0].starts_with("SBER_BASE_URL=http://127.0.0.1:")
            && lines[0].contains("/payment/rest/")
    );
    assert!(lines[PartnerName::ALL.len() + 1].starts_with("control: http://127.0.0.1:"));
    let killed = Command::new("kill").args(["-TERM", &process.id().to_string()]).status();
    assert!(killed.expect("kill runs").success());
    assert!(process.wait().expect("it ends").success());
}
