//! The simulated partners as a process of their own, for compose, load tests and chaos tests.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::IpAddr;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use order_service::sandbox::{PartnerName, Ports, Sandbox, SandboxConfig};
use tokio::signal::unix::{SignalKind, signal};

/// What does not depend on who the partners are.
#[derive(Debug, Args)]
struct Options {
    /// Where all listeners are bound; 0.0.0.0 in a container
    #[arg(long, default_value = "127.0.0.1", env = "SANDBOX_ADDR_HOST")]
    addr_host: IpAddr,
    /// Control API and payment pages
    #[arg(long, default_value_t = Ports::USUAL_CONTROL, env = "SANDBOX_CONTROL_PORT")]
    control_port: u16,
    /// How a browser reaches the control port, for the payment pages; else the bound address
    #[arg(long, env = "SANDBOX_PUBLIC_URL")]
    public_url: Option<String>,
    /// Base URL of the service that gets the callbacks
    #[arg(long, default_value = "http://127.0.0.1:8080", env = "SANDBOX_CALLBACK_URL")]
    callback_url: String,
    /// Multiplies the waits between callback retries: 0.01 makes ten minutes six seconds
    #[arg(long, default_value_t = 0.01, env = "SANDBOX_TIME_SCALE")]
    time_scale: f64,
    /// The same ids and the same dice in every run
    #[arg(long, env = "SANDBOX_DETERMINISTIC_SEED")]
    deterministic_seed: Option<u64>,
}

fn port_flag(partner: PartnerName) -> String {
    format!("{}-port", partner.as_str())
}

fn credential_flag(partner: PartnerName, credential: &str) -> String {
    format!("{}-{credential}", partner.as_str())
}

/// `--sber-port` is also `SANDBOX_SBER_PORT`.
fn flag(name: String) -> Arg {
    let variable = format!("SANDBOX_{}", name.to_uppercase().replace('-', "_"));
    Arg::new(name.clone()).long(name).env(variable)
}

fn command() -> Command {
    let about = "Simulates the payment systems, the catalog and the recommendations; port 0 is any free port";
    let mut command = Options::augment_args(Command::new("partner-sandbox")).about(about);
    for partner in PartnerName::ALL {
        let port = flag(port_flag(partner)).value_parser(clap::value_parser!(u16));
        command = command.arg(port.default_value(partner.usual_port().to_string()));
        for credential in partner.credentials() {
            let secret = flag(credential_flag(partner, credential.name)).hide_env_values(true);
            command = command.arg(secret.default_value(credential.default));
        }
    }
    command
}

fn config(matches: &ArgMatches) -> Result<SandboxConfig, clap::Error> {
    let options = Options::from_arg_matches(matches)?;
    let port = |partner| (partner, matches.get_one(&port_flag(partner)).copied().unwrap_or(0));
    let mut credentials = BTreeMap::new();
    for partner in PartnerName::ALL {
        for credential in partner.credentials() {
            let given = matches.get_one::<String>(&credential_flag(partner, credential.name));
            credentials.extend(given.map(|given| ((partner, credential.name), given.clone())));
        }
    }
    Ok(SandboxConfig {
        host: options.addr_host,
        ports: Ports {
            control: options.control_port,
            partners: PartnerName::ALL.into_iter().map(port).collect(),
        },
        public_url: options.public_url,
        callback_url: Some(options.callback_url).filter(|url| !url.is_empty()),
        credentials,
        time_scale: options.time_scale,
        seed: options.deterministic_seed,
    })
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let config = config(&command().get_matches()).unwrap_or_else(|error| error.exit());
    let sandbox = Sandbox::start(config).await?;
    announce(&sandbox)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    sandbox.stop().await;
    Ok(())
}

/// In the form of the service's own environment.
fn announce(sandbox: &Sandbox) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for (name, value) in sandbox.service_env() {
        if name.ends_with("_BASE_URL") {
            writeln!(out, "{name}={value}")?;
        }
    }
    writeln!(out, "SBER_BASE_URL={}  # SBER_PROTOCOL=json", sandbox.sber_json_base_url())?;
    writeln!(out, "control: {}/control", sandbox.control_url())?;
    writeln!(out, "payment pages: {}/pay/…", sandbox.public_url())?;
    out.flush()
}
