//! The service beside a bare stack: `scripts/bench`, or `cargo bench --bench service`.
//!
//! Words after `--` pick sections (see [`SECTIONS`]), others the rows that contain one of them; without any, all
//! run. `BENCH_SERVICE` names another build of the service, to see what a change has done. The bare stack is what nobody can
//! do without: the same HTTP server, client and commits, with constant answers and nothing decided. Both have
//! one core to themselves; the load and the partner have the other. Rounds of the two alternate, so that what
//! else the machine does meets both.

mod bare;
mod client;
mod drain;
mod idle;
mod load;
mod orders;
mod outage;
mod overload;
mod partner;
mod process;
mod reads;
mod report;
mod stacks;
mod work;

use anyhow::Result;
use report::{Foreign, say};

/// In the order in which they run.
const SECTIONS: [&str; 6] = ["reads", "orders", "outage", "overload", "drain", "idle"];

fn main() -> Result<()> {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["role", "bare", address, partner, database] => {
            runtime.block_on(bare::serve(address, partner, database))
        }
        ["role", "partner", address] => runtime.block_on(partner::serve(address)),
        _ => runtime.block_on(measure(&words)),
    }
}

async fn measure(wanted: &[&str]) -> Result<()> {
    let foreign = Foreign::start()?;
    let named = |name: &&str| wanted.contains(name);
    let all = !SECTIONS.iter().any(named);
    for section in SECTIONS.into_iter().filter(|name| all || named(name)) {
        match section {
            "reads" => reads::run().await?,
            "orders" => orders::run().await?,
            "outage" => outage::run().await?,
            "overload" => overload::run().await?,
            "drain" => drain::run().await?,
            _idle => idle::run().await?,
        }
    }
    say(&foreign.told()?);
    Ok(())
}
