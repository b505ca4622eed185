//! Placing an order, and making it payable.

use crate::report::{compare, compared};
use crate::stacks::{Database, Stacks};
use crate::work::Work;
use anyhow::Result;

pub async fn run() -> Result<()> {
    compared(
        "Orders",
        "Placing beside one durable commit; placing and confirming beside three commits and a call. Both sides \
         gather commits on SQLite (WAL, `synchronous=FULL`); on PostgreSQL the bare side makes one for each.",
    );
    for database in Database::all() {
        let stacks = Stacks::start(&database, &[]).await?;
        let name = database.name();
        for clients in [1, 8, 64] {
            let place = Work::place();
            compare(&format!("place, {name}"), &stacks, (&place, &place), clients).await?;
        }
        for clients in [8, 64] {
            let both = Work::PlaceAndConfirm;
            let what = format!("place + confirm, {name}");
            compare(&what, &stacks, (&both, &both), clients).await?;
        }
    }
    Ok(())
}
