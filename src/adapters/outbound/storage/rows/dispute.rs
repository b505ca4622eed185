//! The two sides of a contradiction, as `tasks.dispute` keeps them: written once, shown, never searched.

use super::cells::{clean, money, write};
use crate::core::domain::money::Money;
use crate::core::payment::dispute::{Dispute, Side};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
struct DisputeRow {
    theirs: SideRow,
    ours: SideRow,
}

#[derive(Debug, Serialize, Deserialize)]
struct SideRow {
    /// In minor units, with its currency.
    sum: Option<(i64, String)>,
    record: String,
}

pub fn written(dispute: &Dispute) -> String {
    let side = |side: &Side| SideRow {
        sum: side.sum.map(|sum| (sum.minor(), sum.currency().code().to_owned())),
        record: clean(&side.record),
    };
    write(&DisputeRow { theirs: side(&dispute.theirs), ours: side(&dispute.ours) })
}

/// `None` also for what a newer version wrote in other words: its task is worth more than this.
pub fn read(text: &str) -> Option<Dispute> {
    let row: DisputeRow = serde_json::from_str(text).ok()?;
    let sum = |told: Option<(i64, String)>| -> Option<Money> {
        told.and_then(|(minor, currency)| money(minor, &currency).ok())
    };
    let side = |row: SideRow| Side { sum: sum(row.sum), record: row.record };
    Some(Dispute { theirs: side(row.theirs), ours: side(row.ours) })
}
