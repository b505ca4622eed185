//! `--sandbox`: the partners inside this process, and what to try first.

use crate::sandbox::{Ports, Sandbox, SandboxConfig};
use std::io::{self, Write};
use std::net::SocketAddr;

/// Starts the partners on their usual ports, or on any free ones.
///
/// # Errors
/// No port can be bound.
pub async fn start() -> io::Result<Sandbox> {
    let usual = SandboxConfig { ports: Ports::usual(), ..SandboxConfig::default() };
    match Sandbox::start(usual).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            Sandbox::start(SandboxConfig::default()).await
        }
        outcome => outcome,
    }
}

/// The variables that lead to the simulated partners, in the protocol of Sber that was asked for.
pub fn variables(sandbox: &Sandbox, json: bool) -> Vec<(String, String)> {
    let mut variables = sandbox.service_env();
    if json {
        let base_url = variables.iter_mut().find(|(name, _)| name == "SBER_BASE_URL");
        base_url.into_iter().for_each(|(_, value)| *value = sandbox.sber_json_base_url());
    }
    variables
}

/// Prints the addresses and a session to paste.
///
/// # Errors
/// Standard output is closed.
pub fn greet(sandbox: &Sandbox, http: SocketAddr, admin: SocketAddr) -> io::Result<()> {
    let control = sandbox.control_url();
    let control = control.trim_end_matches("/control");
    let mut out = io::stdout().lock();
    write!(
        out,
        r#"
OrderService with simulated partners is up.

  API      http://{http}          docs  http://{http}/docs
  console  http://{admin}/console  (how everything stands, and the switches)
  control  {control}/control  (faults, ledger; docs/sandbox.md)

Paste this, line by line:

  API=http://{http} CONTROL={control}/control
  ORDER=$(curl -s $API/v1/orders -H 'Content-Type: application/json' -d '{{"customer_id":"c-1","items":[{{"product_id":"p-1","quantity":2}}]}}' | sed 's/.*"id":"\([0-9a-f-]\{{36\}}\)".*/\1/'); echo $ORDER
  curl -s -X POST $API/v1/orders/$ORDER/confirm        # 200 and a form_url: open it, press Pay
  curl -s $API/v1/orders/$ORDER                        # "status":"paid" once the bank has called back

  curl -s -X PUT $CONTROL/sber/mode -d '{{"mode":"down"}}' -H 'Content-Type: application/json'
  # Sber is gone: the next confirm goes to OdnaKassa. Take odnakassa down too, and it is a 202 with a
  # task_id to poll: curl -s "$API/v1/tasks/TASK?wait=10s". Heal both with "ok" and it succeeds.

Ctrl-C stops it.
"#
    )?;
    out.flush()
}
