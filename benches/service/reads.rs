//! Products: known already, and asked of the partner.

use crate::report::{compare, compared};
use crate::stacks::{Database, Stacks};
use crate::work::Work;
use anyhow::Result;

pub async fn run() -> Result<()> {
    let stacks = Stacks::start(&Database::Sqlite, &[]).await?;
    compared(
        "Reads",
        "A cached product beside a constant; a product that nobody has asked for before beside the same call \
         passed through. µs: the server's processor time for one.",
    );
    let constant = Work::get("/constant");
    compare("product, cached", &stacks, (&constant, &Work::get("/v1/products/p-1")), 64).await?;
    let (bare, ours) = (Work::fresh_products(), Work::fresh_products());
    compare("product, from the partner", &stacks, (&bare, &ours), 64).await?;
    Ok(())
}
