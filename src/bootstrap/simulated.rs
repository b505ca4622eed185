//! `--sandbox`: the partners inside this process, and what to try first.

use super::partners::Partners;
use crate::core::domain::order::OrderStatus;
use crate::core::domain::provider::Provider;
use crate::core::payment::OrderAggregate;
use crate::core::ports::order_repository::{OrderQuery, OrderRepository, Scope};
use crate::sandbox::{PartnerName, Ports, Sandbox, SandboxConfig};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;

/// `--fast`: silences, pauses and memories short enough for a shop's own tests. The environment still wins.
const FAST: [(&str, &str); 17] = [
    ("SBER_CONNECT_TIMEOUT", "500ms"),
    ("SBER_READ_TIMEOUT", "1s"),
    ("SBER_CALL_TIMEOUT", "3s"),
    ("SBER_SLOW_CALL_THRESHOLD", "1s"),
    ("SBER_CB_OPEN_TIMEOUT", "1s"),
    ("ODNAKASSA_CONNECT_TIMEOUT", "500ms"),
    ("ODNAKASSA_READ_TIMEOUT", "1s"),
    ("ODNAKASSA_CALL_TIMEOUT", "3s"),
    ("ODNAKASSA_SLOW_CALL_THRESHOLD", "1s"),
    ("ODNAKASSA_CB_OPEN_TIMEOUT", "1s"),
    ("CATALOG_CB_OPEN_TIMEOUT", "1s"),
    ("CATALOG_CACHE_TTL", "1s"),
    ("RECOMMENDATIONS_CB_OPEN_TIMEOUT", "1s"),
    ("PAYMENT_UNKNOWN_GRACE", "4s"),
    ("PAYMENT_POLL_INTERVAL", "2s"),
    ("TASK_POLL_INTERVAL", "200ms"),
    ("TASK_BACKOFF_MAX", "2s"),
];

/// A reset of the partners is one of the service's memory of them: breakers closed, answers forgotten.
pub fn join(sandbox: &Sandbox, partners: &Partners) {
    let (controls, forget) = (partners.controls.clone(), Arc::clone(&partners.forget));
    sandbox.on_reset(Arc::new(move || {
        controls.iter().for_each(|control| control.reset());
        forget();
    }));
}

/// Partners forget everything when they start anew, the database does not: says which orders wait for a payer
/// whose form nobody knows any more.
///
/// # Errors
/// The database does not answer, or standard output is closed.
pub async fn tell_of_orphans(
    sandbox: &Sandbox,
    orders: &(impl OrderRepository + ?Sized),
) -> anyhow::Result<()> {
    let statuses = vec![OrderStatus::AwaitingPayment, OrderStatus::Registering];
    let query = OrderQuery { statuses, limit: 1_000, ..OrderQuery::default() };
    let waiting = orders.list(&query, &Scope::Anyone).await?;
    let orphans: Vec<_> = waiting.iter().filter(|it| is_orphan(sandbox, it)).collect();
    if let Some(newest) = orphans.first() {
        writeln!(
            io::stdout(),
            "\n{} orders wait for a payment that only an earlier run of the simulated partners knew, the newest \
             is {}.\nNobody can pay them by their forms any more: cancel them, or begin with another \
             DATABASE_URL.",
            orphans.len(),
            newest.order.id
        )?;
    }
    Ok(())
}

fn is_orphan(sandbox: &Sandbox, aggregate: &OrderAggregate) -> bool {
    let Some(open) = aggregate.open_registration() else { return false };
    let partner = match open.provider {
        Provider::Sber => PartnerName::Sber,
        Provider::OdnaKassa => PartnerName::OdnaKassa,
    };
    open.external_id.is_some() && sandbox.order(partner, open.number.as_str()).is_none()
}

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

/// The variables that lead to the simulated partners, in the protocol of Sber that was asked for, and those
/// of `--fast`.
pub fn variables(sandbox: &Sandbox, json: bool, fast: bool) -> Vec<(String, String)> {
    let mut variables = sandbox.service_env();
    let fast = FAST.iter().filter(|_| fast);
    variables.extend(fast.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
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
