//! Which situations a run has decided in: (kind of task, state of what it is about, what was heard last,
//! what was done next). Read off at the ports, so that the core need not know of it.

use super::world::World;
use order_service::core::domain::money::Money;
use order_service::core::domain::provider::Provider;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::report::ReportedStatus;
use order_service::core::payment::task::{Task, TaskKind, TaskState};
use order_service::core::ports::payment::{Concern, Finding, PaymentError, Registered};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One decision of a holder of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Situation {
    pub kind: Word,
    /// Of the refund, or of the registration that was heard of or is open.
    pub state: Word,
    pub heard: Word,
    pub next: Word,
}

pub type Word = &'static str;

/// So often was it reached.
pub type Reached = BTreeMap<Situation, u64>;

#[derive(Debug, Default)]
pub struct Coverage(Mutex<Book>);

/// A run, as it is seen from outside: two of one instance about one order are not told apart.
type RunName = (String, usize);

#[derive(Debug, Default)]
struct Book {
    reached: Reached,
    heard: HashMap<RunName, Heard>,
    /// Decided to call, and not seen yet whom.
    calling: HashMap<RunName, Situation>,
}

#[derive(Debug, Clone, Copy)]
struct Heard {
    about: Option<(Provider, u8)>,
    word: Word,
}

impl Coverage {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn reached(&self) -> Reached {
        self.book().reached.clone()
    }

    /// A task was claimed: its first decision has heard nothing.
    pub fn claimed(&self, life: &str, order: usize) {
        let heard = Heard { about: None, word: "nothing" };
        self.book().heard.insert((life.to_owned(), order), heard);
    }

    /// A call of the run begins.
    pub fn calls(&self, world: &World, life: &str, number: &str, verb: Word) {
        let mut book = self.book();
        if let Some(situation) = book.calling.remove(&(life.to_owned(), world.order_of(number))) {
            *book.reached.entry(Situation { next: verb, ..situation }).or_default() += 1;
        }
    }

    /// A call of the run is over.
    pub fn hears(&self, world: &World, life: &str, call: (Provider, &str), word: Word) {
        let (provider, number) = call;
        let sequence = number.rsplit('-').next().and_then(|digits| digits.parse().ok());
        let about = sequence.map(|sequence| (provider, sequence));
        let run = (life.to_owned(), world.order_of(number));
        self.book().heard.insert(run, Heard { about, word });
    }

    /// A decision was committed by `life`.
    pub fn decided(
        &self,
        world: &World,
        life: &str,
        before: &OrderAggregate,
        after: &OrderAggregate,
    ) {
        let owned =
            |task: &&Task| task.lease.as_ref().is_some_and(|lease| lease.owner.as_str() == life);
        let mut own = before.tasks.iter().filter(owned);
        let (Some(task), None) = (own.next(), own.next()) else { return };
        let Some(now) = after.tasks.iter().find(|now| now.id == task.id) else { return };
        if now == task {
            return;
        }
        let mut book = self.book();
        let run = (life.to_owned(), world.order_of(&before.order.id.to_base32()));
        let Some(heard) = book.heard.remove(&run) else { return };
        let state = state_of(before, task, heard.about);
        let situation =
            Situation { kind: task.kind.as_str(), state, heard: heard.word, next: next(now) };
        if now.state == TaskState::Running {
            book.calling.insert(run, situation);
        } else {
            *book.reached.entry(situation).or_default() += 1;
        }
    }
}

fn state_of(before: &OrderAggregate, task: &Task, about: Option<(Provider, u8)>) -> Word {
    if task.kind == TaskKind::RefundPayment {
        return before.refund_of(task.id).map_or("none", |refund| refund.state.as_str());
    }
    let heard_of = about.and_then(|(provider, sequence)| before.registration(provider, sequence));
    heard_of.or_else(|| before.open_registration()).map_or("none", |row| row.state.as_str())
}

fn next(task: &Task) -> Word {
    match task.state {
        TaskState::Queued => "waits",
        TaskState::Running => "calls",
        TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled | TaskState::Review => {
            task.state.as_str()
        }
    }
}

pub fn of_registering(result: &Result<Registered, PaymentError>) -> Word {
    match result {
        Ok(_) => "registered",
        Err(error) => of_error(error),
    }
}

pub fn of_changing(result: &Result<(), PaymentError>, taken: Word) -> Word {
    match result {
        Ok(()) => taken,
        Err(error) => of_error(error),
    }
}

/// `ours` is the sum that was to be registered.
pub fn of_asking(result: &Result<Finding, PaymentError>, ours: Option<Money>) -> Word {
    match result {
        Ok(Finding::NotFound) => "not found",
        Ok(Finding::Found(report)) => match report.status {
            _ if report.amount != ours || report.taken.is_some() => "contradiction",
            ReportedStatus::Pending => "pending",
            ReportedStatus::Held => "held",
            ReportedStatus::Paid if report.refunded.is_none() => "paid, no sum",
            ReportedStatus::Paid => "paid",
            ReportedStatus::Over(_) => "over",
            ReportedStatus::Strange => "strange",
        },
        Err(PaymentError::NotExecuted(_)) => "not executed",
        Err(PaymentError::Duplicate | PaymentError::Rejected(_) | PaymentError::Unknown(_)) => {
            "no answer"
        }
    }
}

fn of_error(error: &PaymentError) -> Word {
    match error {
        PaymentError::NotExecuted(_) => "not executed",
        PaymentError::Duplicate => "duplicate",
        PaymentError::Rejected(rejection) => match rejection.concerns {
            Concern::Account => "account refused",
            Concern::Order => "refused",
        },
        PaymentError::Unknown(_) => "unknown",
    }
}

const REGISTERED: [Word; 8] =
    ["none", "intent", "unknown", "live", "paid", "dead", "absent", "surplus"];
const REFUNDED: [Word; 4] = ["planned", "sent", "in_doubt", "review"];
const ASKED: [Word; 10] = [
    "pending",
    "held",
    "paid",
    "paid, no sum",
    "over",
    "strange",
    "contradiction",
    "not found",
    "not executed",
    "no answer",
];
const SENT: [Word; 6] =
    ["registered", "duplicate", "refused", "account refused", "not executed", "unknown"];
const CHANGED: [Word; 3] = ["refused", "not executed", "unknown"];
const NEXT: [Word; 9] = [
    "register",
    "query",
    "cancel",
    "refund",
    "waits",
    "succeeded",
    "failed",
    "cancelled",
    "review",
];

/// Every pair of a state and of what can be heard in it, and every next step, of every kind of task.
fn conceivable() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for kind in TaskKind::ALL {
        let refunds = kind == TaskKind::RefundPayment;
        let registers = kind == TaskKind::RegisterPayment;
        let states = if refunds { &REFUNDED[..] } else { &REGISTERED[..] };
        let mut heard: BTreeSet<Word> =
            ASKED.into_iter().chain(CHANGED).chain(["nothing"]).collect();
        heard.insert(if refunds { "refund taken" } else { "cancel taken" });
        heard.extend(SENT.into_iter().filter(|_| registers));
        for state in states {
            all.extend(heard.iter().map(|word| format!("{} {state}: {word}", kind.as_str())));
        }
        all.extend(NEXT.iter().map(|next| format!("{} then {next}", kind.as_str())));
    }
    all
}

/// What `exceptions` does not excuse. A line of it is `never` or `seldom`, a pattern in which `*` stands
/// for anything, and behind ` # ` the reason. What never happens must not happen; of what happens seldom
/// nothing is asked.
pub fn gaps(reached: &Reached, exceptions: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    for Situation { kind, state, heard, next } in reached.keys() {
        seen.insert(format!("{kind} {state}: {heard}"));
        seen.insert(format!("{kind} then {next}"));
    }
    let lines = exceptions.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let excused: Vec<(bool, &str)> = lines
        .filter_map(|line| line.split_once(" # ")?.0.trim().split_once(' '))
        .map(|(word, pattern)| (word == "never", pattern.trim()))
        .collect();
    let conceivable = conceivable();
    let matches = |what: &str| excused.iter().find(|(_, pattern)| fits(pattern, what));
    let missing =
        conceivable.iter().filter(|what| !seen.contains(*what) && matches(what).is_none());
    let missing = missing.map(|what| format!("not reached: {what}"));
    let strange =
        seen.iter().filter(|what| !conceivable.contains(*what) && matches(what).is_none());
    let strange = strange.map(|what| format!("not conceived of: {what}"));
    let wrong = seen.iter().filter(|what| matches(what).is_some_and(|(never, _)| *never));
    let wrong = wrong.map(|what| format!("reached, and said never to be: {what}"));
    missing.chain(strange).chain(wrong).collect()
}

fn fits(pattern: &str, what: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == what,
        Some((head, tail)) => what.strip_prefix(head).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| fits(tail, &rest[at..]))
        }),
    }
}
