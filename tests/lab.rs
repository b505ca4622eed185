//! The lab's experiments show what the guide says they show: the direction, never a number.

use order_service::lab::Lang;
use order_service::lab::catalog::{EXPERIMENTS, Scale, TimeKind};

fn run_all(clock: TimeKind) {
    let mut failed = vec![];
    for experiment in EXPERIMENTS.iter().filter(|experiment| experiment.clock == clock) {
        let report = (experiment.run)(Scale::Small);
        let figures = report.rows.iter().all(|row| row.cells.len() + 1 == report.columns.len());
        if !report.holds() || !figures || report.claims.is_empty() {
            failed.push(format!("{}\n{}", experiment.name, report.terminal(Lang::En)));
        }
    }
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
}

#[test]
fn every_experiment_in_virtual_time_shows_what_it_claims() {
    run_all(TimeKind::Virtual);
}

#[test]
fn every_experiment_in_virtual_time_gives_the_same_figures_again() {
    for experiment in EXPERIMENTS.iter().filter(|experiment| experiment.clock == TimeKind::Virtual)
    {
        let run = || {
            let report = (experiment.run)(Scale::Small);
            (report.markdown(Lang::En), report.chart.svg(Lang::Ru))
        };
        assert_eq!(run(), run(), "{}", experiment.name);
    }
}

#[test]
fn every_experiment_in_real_time_shows_what_it_claims() {
    run_all(TimeKind::Real);
}
