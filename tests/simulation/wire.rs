//! The way to a provider and back, and all that can happen on it. What was sent lives on without its
//! sender: it is executed when it arrives, late or twice or never, whoever waits for the answer.

use super::bank::place;
use super::dice::Dice;
use super::doubt::{self, Told};
use super::faults::Fault;
use super::port::Line;
use super::world::World;
use order_service::adapters::resilience::verdict::Failed;
use order_service::core::domain::money::Money;
use order_service::core::domain::provider::Provider;
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Unknown};
use order_service::core::payment::report::{PaymentReport, ReportedStatus};
use order_service::core::ports::payment::{Concern, PaymentError, Rejection};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::sleep;

pub type Failure = Failed<PaymentError>;

#[derive(Debug, Clone)]
pub enum Request {
    Register { number: String, amount: Money },
    Query { number: String },
    Cancel { number: String },
    Refund { number: String, amount: Money, refund_id: String },
}

#[derive(Debug, Clone)]
pub enum Answer {
    Registered { external_id: String, form_url: String, expires_at: Timestamp },
    Duplicate,
    Found(PaymentReport),
    NotFound,
    Taken,
    Refused(Concern),
}

impl Request {
    pub fn number(&self) -> &str {
        match self {
            Self::Register { number, .. }
            | Self::Query { number }
            | Self::Cancel { number }
            | Self::Refund { number, .. } => number,
        }
    }

    pub fn shown(&self, world: &World) -> String {
        let verb = match self {
            Self::Register { .. } => "register",
            Self::Query { .. } => "query",
            Self::Cancel { .. } => "cancel",
            Self::Refund { .. } => "refund",
        };
        format!("{verb} {}", world.number(self.number()))
    }
}

impl Answer {
    pub fn word(&self) -> String {
        match self {
            Self::Registered { .. } => "registered".to_owned(),
            Self::Duplicate => "duplicate".to_owned(),
            Self::Found(report) => {
                let refunded = report.refunded.map_or(0, Money::minor);
                format!("{:?}, refunded {refunded}", report.status)
            }
            Self::NotFound => "not found".to_owned(),
            Self::Taken => "taken".to_owned(),
            Self::Refused(concern) => format!("refused ({concern:?})"),
        }
    }
}

/// What becomes of one request.
struct Fate {
    /// When it is executed, and when a second copy of it is.
    lands: Option<Duration>,
    again: Option<Duration>,
    end: End,
}

enum End {
    Answer {
        back: Duration,
    },
    /// Refused before anybody looked at the order.
    Barred {
        after: Duration,
    },
    Fault {
        after: Duration,
        silence: NoAnswer,
    },
    /// The caller's own limit ends it.
    Silence,
}

/// One exchange, as the caller sees it.
pub async fn exchange(line: &Line, request: Request) -> Result<Answer, Failure> {
    let world = line.world();
    line.life.pass().await;
    let fate = draw(world, line, &request);
    world.records().tally.calls += 1;
    let _flight = line.take_off();
    world
        .chronicle
        .note(|| format!("{} asks {}: {}", line.life.name, line.provider, request.shown(world)));
    let registers = matches!(request, Request::Register { .. });
    let before = registers && doubt::sends(world, line.provider, request.number());
    let (tell, told) = oneshot::channel();
    if let Some(lands) = fate.lands {
        let (world, request) = (Arc::clone(world), request.clone());
        tokio::spawn(land(world, line.provider, request, lands, fate.again, tell));
    }
    let result = match fate.end {
        End::Answer { back } => match told.await {
            Ok(answer) => {
                sleep(back).await;
                Ok(answer)
            }
            Err(_) => pending().await,
        },
        End::Barred { after } => {
            sleep(after).await;
            Ok(Answer::Refused(Concern::Account))
        }
        End::Fault { after, silence } => {
            sleep(after).await;
            Err(silence)
        }
        End::Silence => pending().await,
    };
    line.life.pass().await;
    hear(line, &request, before, &result);
    result.map_err(Failed::NoAnswer)
}

async fn land(
    world: Arc<World>,
    provider: Provider,
    request: Request,
    lands: Duration,
    again: Option<Duration>,
    tell: oneshot::Sender<Answer>,
) {
    sleep(lands).await;
    // Nobody may be waiting any more.
    let _ = tell.send(world.bank(provider).execute(&world, &request));
    if let Some(again) = again {
        sleep(again).await;
        world.bank(provider).execute(&world, &request);
    }
}

/// What the onlooker learns from an answer that arrived.
fn hear(line: &Line, request: &Request, before: bool, result: &Result<Answer, NoAnswer>) {
    let world = line.world();
    let doubts = &world.bank(line.provider).doubts;
    let number = request.number();
    let order = world.order_of(number);
    let registers = matches!(request, Request::Register { .. });
    let queries = matches!(request, Request::Query { .. });
    match result {
        Ok(Answer::Found(report))
            if !matches!(report.status, ReportedStatus::Pending | ReportedStatus::Held) =>
        {
            doubts.told(order, number, Told::Settled);
        }
        Ok(Answer::Registered { .. } | Answer::Found(_)) => doubts.told(order, number, Told::Truth),
        // What is refused did nothing; a send before it may have.
        Ok(Answer::Refused(_)) if registers => {
            doubts.told(order, number, Told::Nothing { before });
        }
        Ok(Answer::NotFound) if queries => doubts.told(order, number, Told::NotFound),
        Err(silence) if registers && matches!(silence.cause, Cause::NotExecuted(_)) => {
            doubts.told(order, number, Told::Nothing { before });
        }
        Ok(Answer::NotFound | Answer::Taken | Answer::Duplicate | Answer::Refused(_)) | Err(_) => {
            if registers {
                world.records().tally.unknown += 1;
            }
        }
    }
    world.chronicle.note(|| {
        let word = match result {
            Ok(answer) => answer.word(),
            Err(silence) => silence.cause.as_str().to_owned(),
        };
        format!("{} hears of {}: {word}", line.life.name, request.shown(world))
    });
}

fn draw(world: &World, line: &Line, request: &Request) -> Fate {
    let dice = &world.bank(line.provider).dice;
    let limit = line.limit();
    let pace = || {
        let slow = world.strikes(Fault::Slow, dice);
        if slow { dice.up_to(limit) } else { dice.millis(1, 80) }
    };
    let (out, back) = (pace(), pace());
    let latest = latest(world, request, limit, dice);
    let late = if dice.chance(0.5) { dice.up_to(latest) } else { latest - dice.up_to(latest / 8) };
    let executed = dice.chance(0.5);
    let fault = |after, cause| {
        let retry_after =
            (cause == Cause::NotExecuted(NotExecuted::Throttled)).then(|| dice.millis(500, 10_000));
        End::Fault { after, silence: NoAnswer { cause, retry_after } }
    };
    let nothing = |end| Fate { lands: None, again: None, end };
    let maybe = |lands, end| Fate { lands: executed.then_some(lands), again: None, end };
    let away =
        world.plan.outages[place(line.provider)].iter().any(|span| span.contains(&world.elapsed()));
    if away && !world.healed() {
        return match dice.below(4) {
            0 => maybe(late, End::Silence),
            1 => maybe(out, fault(out + back, Cause::Unknown(Unknown::PartnerFailed))),
            2.. => nothing(fault(out, Cause::NotExecuted(NotExecuted::Unreachable))),
        };
    }
    let registers = matches!(request, Request::Register { .. });
    // Refunds are few, and the most is at stake: they draw twice.
    let refunds = matches!(request, Request::Refund { .. });
    let strikes = |fault| world.strikes(fault, dice) || (refunds && world.strikes(fault, dice));
    if world.strikes(Fault::Unreachable, dice) {
        nothing(fault(out, Cause::NotExecuted(NotExecuted::Unreachable)))
    } else if world.strikes(Fault::Throttle, dice) {
        nothing(fault(out, Cause::NotExecuted(NotExecuted::Throttled)))
    } else if strikes(Fault::Loss) {
        let lands = if dice.chance(0.3) { late } else { out };
        maybe(lands, fault(out + back, Cause::Unknown(Unknown::Broken)))
    } else if strikes(Fault::Failure) {
        let cause = dice
            .pick(&[Cause::Unknown(Unknown::PartnerFailed), Cause::Unknown(Unknown::Unreadable)]);
        maybe(out, fault(out + back, cause))
    } else if strikes(Fault::Hang) {
        maybe(late, End::Silence)
    } else if registers && world.strikes(Fault::Refusal, dice) && dice.chance(0.3) {
        nothing(End::Barred { after: out })
    } else {
        // A refund without a key that the network doubles is two refunds, and nobody can help it.
        let keyed = line.provider == Provider::OdnaKassa || world.plan.refund_key;
        let twice = world.strikes(Fault::Duplicate, dice) && (keyed || !refunds);
        Fate { lands: Some(out), again: twice.then_some(late), end: End::Answer { back } }
    }
}

/// How late a request may still be executed: past the grace as well, if the seed wishes it. A registration
/// is protected by its number, a refund by its key, or by the person who is asked.
fn latest(world: &World, request: &Request, limit: Duration, dice: &Dice) -> Duration {
    let grace = world.plan.policy.unknown_grace;
    match request {
        Request::Register { .. } | Request::Query { .. } | Request::Cancel { .. } => limit + grace,
        Request::Refund { .. } if world.strikes(Fault::LateRefund, dice) => grace * 2,
        Request::Refund { .. } => grace.saturating_sub(Duration::from_secs(4)),
    }
}

/// A refusal in the core's words.
pub fn refused(concerns: Concern) -> Failure {
    let code = "refused".to_owned();
    Failed::Answered(PaymentError::Rejected(Rejection { code, concerns }))
}
