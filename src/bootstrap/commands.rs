//! What the binary can be asked to do.

use super::descriptors;
use super::service::{self, Listeners};
use super::{lab, reconcile, simulated};
use crate::adapters::inbound::api;
use crate::adapters::inbound::http_kit::connections::ConnectionLimits;
use crate::adapters::outbound::storage;
use crate::config::{self, Config, Problem, Problems};
use crate::core::domain::timestamp::Timestamp;
use crate::core::use_cases::reconcile::Window;
use crate::sandbox::Sandbox;
use crate::telemetry::Telemetry;
use anyhow::Context;
use clap::{Parser, Subcommand};
use secrecy::ExposeSecret;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tokio::runtime::Runtime;

/// The exit code of a configuration that is not valid.
const BAD_CONFIGURATION: u8 = 2;

/// The exit code of a reconciliation that did not agree.
const LEFT_FOR_A_PERSON: u8 = 3;

const HEALTHCHECK_LIMIT: Duration = Duration::from_secs(3);

/// An order service that stays correct while its payment partners fail.
#[derive(Debug, Parser)]
#[command(name = "order-service", version)]
pub struct Cli {
    /// Serve with an embedded database and simulated partners: nothing else to install or to set
    #[arg(long)]
    sandbox: bool,
    /// With --sandbox: short silences, pauses and memories, for a shop's own tests
    #[arg(long, requires = "sandbox")]
    fast: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Clone, Subcommand)]
enum Command {
    /// Serve; everything comes from the environment (the default)
    Serve,
    /// Apply the database's migrations and exit
    Migrate,
    /// Copy the SQLite file, also while the service runs, to a file that does not exist yet
    Backup { file: PathBuf },
    /// After the database lost its last commits: ask the payment systems about the orders of that time
    /// and take up what was forgotten; exit code 3 when something is left for a person
    Reconcile {
        /// Orders placed since then (RFC 3339); take it early
        #[arg(long, value_parser = time)]
        since: Timestamp,
        /// And until then
        #[arg(long, value_parser = time)]
        until: Option<Timestamp>,
        /// Only tell
        #[arg(long)]
        dry_run: bool,
    },
    /// Print the effective configuration, secrets masked
    Config,
    /// Ask the running instance whether it is ready; exit code 0 or 1
    Healthcheck,
    /// Print the OpenAPI document
    Openapi,
    /// Run an experiment of the guide, print a table and draw a picture; exit code 1 when it does not show
    /// what the guide says
    Lab(lab::Lab),
}

/// Does what was asked.
///
/// # Errors
/// Whatever keeps the service from starting, except a bad configuration, which is told on standard
/// error and becomes exit code 2.
pub fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    match &cli.command {
        Some(Command::Openapi) => print(&api::openapi_json()),
        Some(Command::Config) => match Config::from_env() {
            Ok((config, _)) => print(&lines(config.effective())),
            Err(problems) => {
                print(&lines(&problems.effective))?;
                refuse(&problems)
            }
        },
        Some(Command::Healthcheck) => Ok(healthcheck()),
        Some(Command::Migrate) => with_config(|config, _| migrate(&config)),
        Some(Command::Backup { file }) => with_config(|config, _| backup(&config, file)),
        Some(Command::Reconcile { since, until, dry_run }) => {
            let window = Window { since: *since, until: *until };
            with_config(|config, _| reconcile(&config, window, *dry_run))
        }
        Some(Command::Lab(asked)) => Ok(ExitCode::from(u8::from(!lab::run(asked)?))),
        Some(Command::Serve) | None if cli.sandbox => serve_sandbox(cli.fast),
        Some(Command::Serve) | None => {
            with_config(|config, warnings| serve(&runtime()?, config, &warnings, None))
        }
    }
}

fn lines(effective: &[(String, String)]) -> String {
    effective.iter().map(|(name, value)| format!("{name}={value}\n")).collect()
}

fn with_config(
    then: impl FnOnce(Config, Vec<Problem>) -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    match Config::from_env() {
        Ok((config, warnings)) => then(config, warnings),
        Err(problems) => refuse(&problems),
    }
}

fn refuse(problems: &Problems) -> anyhow::Result<ExitCode> {
    writeln!(std::io::stderr(), "{problems}")?;
    Ok(ExitCode::from(BAD_CONFIGURATION))
}

/// Serves until it is told to stop, with the simulated partners if there are any.
fn serve(
    runtime: &Runtime,
    mut config: Config,
    warnings: &[Problem],
    sandbox: Option<&Sandbox>,
) -> anyhow::Result<ExitCode> {
    let telemetry = Telemetry::start(&config.service.telemetry)?;
    make_room(&mut config.service.limits.connections);
    for warning in warnings {
        tracing::warn!(%warning, "configuration");
    }
    let (http, admin) = (config.service.http_addr, config.service.admin_addr);
    let outcome = runtime.block_on(async {
        let listeners = Listeners::bind(http, admin).await?;
        let (http, admin) = (listeners.http.local_addr()?, listeners.admin.local_addr()?);
        tracing::info!(%http, %admin, "listening");
        if let Some(sandbox) = sandbox {
            sandbox.set_callback_url(Some(&format!("http://{http}")));
            simulated::greet(sandbox, http, admin)?;
        }
        service::serve(config, listeners, telemetry.log_control(), sandbox).await
    });
    telemetry.stop();
    outcome.map(|()| ExitCode::SUCCESS)
}

/// More connections than descriptors would end in an accept that fails.
fn make_room(connections: &mut ConnectionLimits) {
    let Some(room) = descriptors::raise().filter(|room| *room < connections.max) else { return };
    let wanted = connections.max;
    tracing::warn!(
        wanted,
        room,
        "MAX_CONNECTIONS is cut: the hard limit of file descriptors is low"
    );
    connections.max = room;
    connections.per_address = (connections.per_address * room / wanted).max(1);
}

fn serve_sandbox(fast: bool) -> anyhow::Result<ExitCode> {
    let runtime = runtime()?;
    let sandbox = runtime.block_on(simulated::start()).context("the simulated partners")?;
    let json = config::variable("SBER_PROTOCOL").is_some_and(|protocol| protocol == "json");
    match Config::sandbox_from_env(simulated::variables(&sandbox, json, fast)) {
        Ok((config, warnings)) => serve(&runtime, config, &warnings, Some(&sandbox)),
        Err(problems) => refuse(&problems),
    }
}

fn migrate(config: &Config) -> anyhow::Result<ExitCode> {
    let database = &config.service.database;
    let url = database.direct_url.as_ref().unwrap_or(&database.url).expose_secret();
    runtime()?.block_on(storage::migrate(url)).context("the database cannot be migrated")?;
    Ok(ExitCode::SUCCESS)
}

fn backup(config: &Config, file: &Path) -> anyhow::Result<ExitCode> {
    let url = config.service.database.url.expose_secret();
    let bytes = runtime()?.block_on(storage::backup(url, file)).context("there is no backup")?;
    print(&format!("{} ({bytes} bytes)", file.display()))
}

fn reconcile(config: &Config, window: Window, dry_run: bool) -> anyhow::Result<ExitCode> {
    let agrees = runtime()?.block_on(reconcile::run(config, window, dry_run))?;
    Ok(if agrees { ExitCode::SUCCESS } else { ExitCode::from(LEFT_FOR_A_PERSON) })
}

fn time(text: &str) -> Result<Timestamp, &'static str> {
    Timestamp::parse_rfc3339(text).ok_or("a time like 2026-12-01T05:30:00Z")
}

/// Asks this machine's instance, over plain HTTP, with nothing but a socket: it runs in a container
/// without a shell.
fn healthcheck() -> ExitCode {
    let address = config::variable("HTTP_ADDR").and_then(|text| text.parse().ok());
    let address: SocketAddr = address.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8080)));
    match ready(loopback(address)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) | Err(_) => ExitCode::FAILURE,
    }
}

/// An address that is bound everywhere is reached here.
fn loopback(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

fn ready(address: SocketAddr) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&address, HEALTHCHECK_LIMIT)?;
    stream.set_read_timeout(Some(HEALTHCHECK_LIMIT))?;
    stream.set_write_timeout(Some(HEALTHCHECK_LIMIT))?;
    stream
        .write_all(b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut status = [0; 12];
    stream.read_exact(&mut status)?;
    Ok(&status == b"HTTP/1.1 200")
}

fn print(text: &str) -> anyhow::Result<ExitCode> {
    writeln!(std::io::stdout(), "{}", text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}
