//! What goes wrong at a partner, drawn from the seed.

use fastrand::Rng;
use order_service::sandbox::{CallbackPolicy, Fault, Mode, Mood, PartnerName};
use serde_json::{Value, json};

/// What a partner is made to get wrong in an amount. Sber's answer does not tell the amount, so the form
/// is handed out before a query finds it out; the order waits for a person then.
pub const WRONG_AMOUNT: i64 = -100;

pub fn mood(rng: &mut Rng, pays: bool) -> Mode {
    const ANY: [Mood; 9] = [
        Mood::Down,
        Mood::Reset,
        Mood::Stall,
        Mood::Hang,
        Mood::HangAfterCommit,
        Mood::Lossy,
        Mood::Slow,
        Mood::Error500,
        Mood::Throttle,
    ];
    let mood = if pays && rng.u8(..10) == 0 { Mood::Reject } else { ANY[rng.usize(..ANY.len())] };
    Mode { delay_ms: rng.u64(50..1_500), ..Mode::from(mood) }
}

/// Callbacks: as they should be, or one thing wrong with them. What is not called back about is only
/// polled, ever more seldom: not `late` in a storm, or its end is awaited for long.
pub fn callback_policy(rng: &mut Rng, late: bool) -> CallbackPolicy {
    let fair = CallbackPolicy::default();
    match rng.u8(..8) {
        0 if !late => CallbackPolicy { send: false, ..fair },
        1 if !late => CallbackPolicy { bad_signature: true, ..fair },
        2 => CallbackPolicy { times: 3, ..fair },
        3 => CallbackPolicy { delay_ms: rng.u64(..2_000), ..fair },
        4 => CallbackPolicy { repeat_previous: true, ..fair },
        _ => fair,
    }
}

/// A script for one operation of a payment partner.
pub fn fault(rng: &mut Rng, partner: PartnerName) -> Fault {
    let sber = partner == PartnerName::Sber;
    let named = partner.operations().unwrap();
    let (operation, then) = match rng.u8(..10) {
        0..5 => (named.register, register(rng, sber)),
        5..7 => (named.query, query(rng, sber)),
        7..9 => (named.refund, lost(rng)),
        _ => (named.cancel, lost(rng)),
    };
    let when = json!({
        "operation": operation,
        "times": rng.u64(1..12),
        "probability": 0.3 + 0.7 * rng.f64(),
    });
    serde_json::from_value(json!({"when": when, "then": then})).unwrap()
}

fn register(rng: &mut Rng, sber: bool) -> Value {
    let odd = [
        json!({"answer": "drop", "order": {"read_lag": 3}}),
        json!({"answer": "drop", "order": {"pay_after_ms": 300}}),
        json!({"await_callbacks": true, "order": {"pay_after_ms": 0}}),
        json!({"order": {"acs_polls": 3}}),
        json!({"delay_before_ms": 800}),
        json!({"delay_after_ms": 800}),
        json!({"answer": "wrong_types"}),
        json!({"answer": {"drip": {"chunk_bytes": 8, "interval_ms": 100}}}),
        json!({"answer": "drop", "order": {"callbacks": {"times": 2}}}),
    ];
    match rng.u8(..12) {
        0 if rng.bool() => json!({"order": {"amount_delta": WRONG_AMOUNT}}),
        1 if sber => json!({"answer": {"error_code": 7}}),
        2..7 => odd[rng.usize(..odd.len())].clone(),
        _ => lost(rng),
    }
}

fn query(rng: &mut Rng, sber: bool) -> Value {
    match rng.u8(..6) {
        0 if sber => json!({"answer": {"error_code": 7}}),
        1 => json!({"answer": "wrong_types"}),
        2 => json!({"delay_before_ms": 700}),
        _ => lost(rng),
    }
}

/// The call or its answer does not arrive.
fn lost(rng: &mut Rng) -> Value {
    let answers = [
        json!("hang"),
        json!("drop"),
        json!("drop_mid_body"),
        json!("empty"),
        json!("html"),
        json!("truncated"),
        json!({"http": {"status": 502}}),
    ];
    json!({"commit": rng.bool(), "answer": answers[rng.usize(..answers.len())]})
}
