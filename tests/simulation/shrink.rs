//! Makes a failing seed smaller: whatever can be left out while the same rule still breaks, is.

use super::{Options, Report, run};

/// The smallest options found with which `seed` still breaks the rule, and the recorded run. `None`
/// when the seed does not fail.
pub fn shrink(seed: u64, options: &Options) -> Option<(Options, Report)> {
    let rule = run(seed, options).violations.first()?.rule;
    let fails = |options: &Options| {
        run(seed, options).violations.iter().any(|violation| violation.rule == rule)
    };
    let mut smallest = *options;
    let mut try_out = |wanted: Options| {
        if fails(&wanted) {
            smallest = wanted;
        }
        smallest
    };
    let mut present = *options;
    for count in 1..=3 {
        if present.orders == usize::MAX {
            present = try_out(Options { orders: count, ..present });
        }
        if present.instances == usize::MAX {
            present = try_out(Options { instances: count, ..present });
        }
    }
    for fault in options.faults.iter() {
        present = try_out(Options { faults: present.faults.without(fault), ..present });
    }
    let record = Options { record: true, ..present };
    Some((record, run(seed, &record)))
}
