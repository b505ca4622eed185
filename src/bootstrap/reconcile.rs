//! `order-service reconcile`: the use case from the command line, beside running instances or without any.
//! What was found goes to standard output, one JSON object a line; how far it is, to standard error.

use super::database;
use super::partners::Partners;
use crate::adapters::observe::metrics::{BuildInfo, Metrics};
use crate::adapters::outbound::process::SystemEntropy;
use crate::adapters::outbound::storage;
use crate::config::Config;
use crate::core::domain::money::Money;
use crate::core::engine::gateway::PaymentGateway;
use crate::core::use_cases::reconcile::{Discovery, Reconcile, Totals, Window};
use anyhow::Context;
use secrecy::ExposeSecret;
use std::io::Write;
use std::sync::Arc;

/// Returns whether nothing is left for a person.
///
/// # Errors
/// The database cannot be reached or does not last, or nobody reads what is told.
pub async fn run(config: &Config, window: Window, dry_run: bool) -> anyhow::Result<bool> {
    let url = config.service.database.url.expose_secret();
    storage::check_schema(url).await.context("the database")?;
    let metrics = Arc::new(Metrics::new(BuildInfo::CURRENT));
    let settings = database::settings(config, Arc::clone(&metrics) as _);
    let store = storage::connect(url, settings).await.context("the database")?;
    let partners = Partners::connect(config, &metrics)?;
    let reconcile = Reconcile {
        orders: store,
        gateway: PaymentGateway::new(partners.payments),
        policy: Arc::new(config.payment.clone()),
        entropy: Arc::new(SystemEntropy),
        dry_run,
    };
    let mut told = Ok(());
    let tell = |discovery: &Discovery| {
        let line = line(discovery);
        if told.is_ok() {
            told = writeln!(std::io::stdout(), "{line}");
        }
    };
    let totals = reconcile.run(window, tell, |totals| say(totals, "so far")).await?;
    told.context("standard output")?;
    say(&totals, if dry_run { "in all, and nothing was changed" } else { "in all" });
    Ok(totals.agrees())
}

/// No value holds anything that JSON would escape.
fn line(discovery: &Discovery) -> String {
    let Discovery { order, placed_at, provider, number, verdict, report } = discovery;
    let minor = |money: Option<Money>| money.map_or("null".into(), |it| it.minor().to_string());
    let told = report.as_ref().map_or_else(String::new, |report| {
        format!(
            r#","status":"{}","amount":{},"refunded":{}"#,
            report.status.as_str(),
            minor(report.amount),
            minor(report.refunded)
        )
    });
    format!(
        r#"{{"order_id":"{order}","placed_at":"{}","provider":"{provider}","number":"{number}","finding":"{}"{told}}}"#,
        placed_at.to_rfc3339(),
        verdict.as_str(),
    )
}

fn say(totals: &Totals, when: &str) {
    let Totals { orders, questions, forgotten, behind, contradictions, unanswered, reached } =
        totals;
    let reached = reached.map_or_else(String::new, |at| format!(", down to {}", at.to_rfc3339()));
    // Nobody has to read it.
    let _ = writeln!(
        std::io::stderr(),
        "{when}: {orders} orders, {questions} questions{reached}: {forgotten} forgotten, {behind} behind, \
         {contradictions} contradicting, {unanswered} unanswered"
    );
}
