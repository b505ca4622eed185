//! The simulated partners as a process of their own, for compose, load tests and chaos tests.

use std::io::{self, Write};
use std::net::IpAddr;

use clap::Parser;
use order_service::sandbox::{
    OdnakassaCredentials, Ports, Sandbox, SandboxConfig, SberCredentials,
};
use tokio::signal::unix::{SignalKind, signal};

/// Simulates Sber, OdnaKassa, the catalog and the recommendations. Port 0 is any free port.
#[derive(Debug, Parser)]
#[command(name = "partner-sandbox")]
struct Options {
    /// Where all listeners are bound; 0.0.0.0 in a container
    #[arg(long, default_value = "127.0.0.1", env = "SANDBOX_ADDR_HOST")]
    addr_host: IpAddr,
    #[arg(long, default_value_t = 9101, env = "SANDBOX_SBER_PORT")]
    sber_port: u16,
    #[arg(long, default_value_t = 9102, env = "SANDBOX_ODNAKASSA_PORT")]
    odnakassa_port: u16,
    #[arg(long, default_value_t = 9103, env = "SANDBOX_CATALOG_PORT")]
    catalog_port: u16,
    #[arg(long, default_value_t = 9104, env = "SANDBOX_RECOMMENDATIONS_PORT")]
    recommendations_port: u16,
    /// Control API and payment pages
    #[arg(long, default_value_t = 9100, env = "SANDBOX_CONTROL_PORT")]
    control_port: u16,
    /// How a browser reaches the control port, for the payment pages; else the bound address
    #[arg(long, env = "SANDBOX_PUBLIC_URL")]
    public_url: Option<String>,
    /// Base URL of the service that gets the callbacks
    #[arg(long, default_value = "http://127.0.0.1:8080", env = "SANDBOX_CALLBACK_URL")]
    callback_url: String,
    #[arg(long, default_value = "sandbox-api", env = "SANDBOX_SBER_USERNAME")]
    sber_username: String,
    #[arg(long, default_value = "sandbox", env = "SANDBOX_SBER_PASSWORD", hide_env_values = true)]
    sber_password: String,
    #[arg(
        long,
        default_value = "sandbox-token",
        env = "SANDBOX_SBER_TOKEN",
        hide_env_values = true
    )]
    sber_token: String,
    /// Signs Sber's classic callbacks; empty leaves them unsigned
    #[arg(
        long,
        default_value = "sandbox-callback-secret",
        env = "SANDBOX_SBER_CALLBACK_SECRET",
        hide_env_values = true
    )]
    sber_callback_secret: String,
    #[arg(
        long,
        default_value = "sandbox-key",
        env = "SANDBOX_ODNAKASSA_API_KEY",
        hide_env_values = true
    )]
    odnakassa_api_key: String,
    #[arg(
        long,
        default_value = "sandbox-webhook-secret",
        env = "SANDBOX_ODNAKASSA_WEBHOOK_SECRET",
        hide_env_values = true
    )]
    odnakassa_webhook_secret: String,
    /// Multiplies the waits between callback retries: 0.01 makes ten minutes six seconds
    #[arg(long, default_value_t = 0.01, env = "SANDBOX_TIME_SCALE")]
    time_scale: f64,
    /// The same ids and the same dice in every run
    #[arg(long, env = "SANDBOX_DETERMINISTIC_SEED")]
    deterministic_seed: Option<u64>,
}

impl From<Options> for SandboxConfig {
    fn from(options: Options) -> Self {
        Self {
            host: options.addr_host,
            ports: Ports {
                sber: options.sber_port,
                odnakassa: options.odnakassa_port,
                catalog: options.catalog_port,
                recommendations: options.recommendations_port,
                control: options.control_port,
            },
            public_url: options.public_url,
            callback_url: Some(options.callback_url).filter(|url| !url.is_empty()),
            sber: SberCredentials {
                user_name: options.sber_username,
                password: options.sber_password,
                token: options.sber_token,
                callback_secret: Some(options.sber_callback_secret)
                    .filter(|secret| !secret.is_empty()),
            },
            odnakassa: OdnakassaCredentials {
                api_key: options.odnakassa_api_key,
                webhook_secret: options.odnakassa_webhook_secret,
            },
            time_scale: options.time_scale,
            seed: options.deterministic_seed,
        }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let sandbox = Sandbox::start(Options::parse().into()).await?;
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
    writeln!(out, "SBER_BASE_URL={}  # SBER_PROTOCOL=classic", sandbox.sber_base_url())?;
    writeln!(out, "SBER_BASE_URL={}  # SBER_PROTOCOL=json", sandbox.sber_json_base_url())?;
    writeln!(out, "ODNAKASSA_BASE_URL={}", sandbox.odnakassa_base_url())?;
    writeln!(out, "CATALOG_BASE_URL={}", sandbox.catalog_base_url())?;
    writeln!(out, "RECOMMENDATIONS_BASE_URL={}", sandbox.recommendations_base_url())?;
    writeln!(out, "control: {}/control", sandbox.control_url())?;
    writeln!(out, "payment pages: {}/pay/…", sandbox.public_url())?;
    out.flush()
}
