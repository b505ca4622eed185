//! Races with a name, and what each must end in.

use super::*;

#[test]
fn when_the_open_time_passes_exactly_one_of_many_makes_the_change() {
    loom::model(|| {
        let rules = rules();
        let machine: Shared = Arc::new(machine(&rules));
        open(&machine);
        let other = Arc::clone(&machine);
        let thread = loom::thread::spawn(move || other.admit(&self::rules(), &AFTER_OPEN));
        let mine = machine.admit(&rules, &AFTER_OPEN);
        let theirs = thread.join().expect("no panic");
        let changes = [mine, theirs].into_iter().flatten().filter(|(_, change)| change.is_some());
        assert_eq!(changes.count(), 1);
    });
}

#[test]
fn a_new_open_time_is_never_seen_with_the_old_state_or_the_other_way_round() {
    loom::model(|| {
        let rules = rules();
        let machine: Shared = Arc::new(machine(&rules));
        open(&machine);
        let (probe, _) = admit(&machine, AFTER_OPEN);
        let other = Arc::clone(&machine);
        let thread = loom::thread::spawn(move || {
            other.record(&self::rules(), &AFTER_OPEN, probe, Sample::FAILED)
        });
        // Half-open with room, or open for the whole new time: never open with the old one.
        match machine.peek(&rules, &AFTER_OPEN) {
            Ok(()) => {}
            Err(Rejected { reason, retry_after }) => {
                let whole = Some(Duration::from_secs(1));
                assert_eq!((reason, retry_after), (BreakerRejection::Open, whole));
            }
        }
        thread.join().expect("no panic").expect("a failed probe opens it");
    });
}

#[test]
fn two_failures_at_once_are_both_counted_and_one_of_them_opens() {
    loom::model(|| {
        let rules = rules();
        let machine: Shared = Arc::new(machine(&rules));
        let (first, second) = (admit(&machine, START).0, admit(&machine, START).0);
        let other = Arc::clone(&machine);
        let thread = loom::thread::spawn(move || fail(&other, first));
        let mine = fail(&machine, second);
        let theirs = thread.join().expect("no panic");
        assert!(mine.is_some() != theirs.is_some());
        assert_eq!(machine.state(), BreakerState::Open);
    });
}

#[test]
fn a_late_result_never_enters_the_window_of_a_new_generation() {
    loom::model(|| {
        let rules = rules();
        let machine: Shared = Arc::new(machine(&rules));
        let (late, _) = admit(&machine, START);
        let other = Arc::clone(&machine);
        let thread = loom::thread::spawn(move || fail(&other, late));
        machine.reset(&rules);
        let (fresh, _) = admit(&machine, START);
        machine.record(&rules, &START, fresh, Sample::GOOD);
        thread.join().expect("no panic");
        let tally = machine.view(&rules, &START).tally;
        assert_eq!(tally, Tally { calls: 1, failures: 0, slow: 0 });
    });
}

#[test]
fn a_cancelled_probe_gives_its_place_to_exactly_one() {
    loom::model(|| {
        let rules = rules();
        let machine: Shared = Arc::new(machine(&rules));
        open(&machine);
        let (first, _) = admit(&machine, AFTER_OPEN);
        let (_second, _) = admit(&machine, AFTER_OPEN);
        let other = Arc::clone(&machine);
        let thread =
            loom::thread::spawn(move || other.give_back(&self::rules(), &AFTER_OPEN, first));
        let during = machine.admit(&rules, &AFTER_OPEN).is_ok();
        thread.join().expect("no panic");
        let after = machine.admit(&rules, &AFTER_OPEN).is_ok();
        assert!(during != after);
    });
}

#[test]
fn lost_probes_are_replaced_once_and_their_late_end_counts_for_nothing() {
    loom::model(|| {
        let rules = rules();
        let machine: Shared = Arc::new(machine(&rules));
        open(&machine);
        let (lost, _) = admit(&machine, AFTER_OPEN);
        let (_leaked, _) = admit(&machine, AFTER_OPEN);
        let other = Arc::clone(&machine);
        let thread = loom::thread::spawn(move || {
            other.admit(&self::rules(), &LONG_AFTER).map(|(pass, _)| pass)
        });
        let mine = machine.admit(&rules, &LONG_AFTER).map(|(pass, _)| pass);
        let theirs = thread.join().expect("no panic");
        // A new round of probes has begun, and both found a place in it.
        assert!(mine.is_ok() && theirs.is_ok());
        assert_eq!(machine.record(&rules, &LONG_AFTER, lost, Sample::FAILED), None);
        assert_eq!(machine.state(), BreakerState::HalfOpen);
    });
}

/// The window's own race: both appends find the active word full and must copy it away first.
fn append_at_the_seam(window_size: u32, filled: u32) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 10_000;
    builder.check(move || {
        let rules = Rules::of(&BreakerConfig {
            window_size,
            min_requests: window_size,
            failure_rate: 1.0,
            slow_as: SlowAs::Ignore,
            ..BreakerConfig::default()
        });
        let machine: Shared = Arc::new(machine(&rules));
        let pass = admit(&machine, START).0;
        for call in 0..filled {
            let failed = call % 3 == 0;
            machine.record(&rules, &START, pass, Sample { failed, slow: !failed });
        }
        let (other, theirs) = (Arc::clone(&machine), rules.clone());
        let thread = loom::thread::spawn(move || {
            other.record(&theirs, &START, pass, Sample::FAILED);
        });
        machine.record(&rules, &START, pass, Sample::SLOW);
        thread.join().expect("no panic");
        let kept = u64::from(filled.min(window_size - 2));
        let older = (u64::from(filled) - kept)..u64::from(filled);
        let failures = older.filter(|call| call % 3 == 0).count() as u64 + 1;
        let tally = machine.view(&rules, &START).tally;
        assert_eq!(tally, Tally { calls: kept + 2, failures, slow: kept + 2 - failures });
    });
}

#[test]
fn two_appends_at_the_seam_of_two_segments_lose_nothing() {
    append_at_the_seam(30, 12);
    append_at_the_seam(13, 24);
    append_at_the_seam(128, 132);
    append_at_the_seam(130, 136);
}

#[test]
fn two_failures_in_one_bucket_of_a_time_window_are_both_counted() {
    loom::model(|| {
        let rules = Rules::of(&BreakerConfig {
            window: order_service::adapters::resilience::breaker::WindowKind::Time,
            min_requests: 2,
            failure_rate: 1.0,
            ..BreakerConfig::default()
        });
        let machine: Shared = Arc::new(machine(&rules));
        let pass = admit(&machine, START).0;
        let (other, theirs) = (Arc::clone(&machine), rules.clone());
        let thread =
            loom::thread::spawn(move || other.record(&theirs, &START, pass, Sample::FAILED));
        let mine = machine.record(&rules, &START, pass, Sample::FAILED);
        let theirs = thread.join().expect("no panic");
        assert!(mine.is_some() != theirs.is_some());
    });
}
