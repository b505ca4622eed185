//! The service's binary: reads what is asked, and does it.

use clap::Parser;
use order_service::bootstrap::{Cli, run};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<ExitCode> {
    run(&Cli::parse())
}
