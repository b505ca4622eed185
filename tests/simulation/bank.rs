//! A provider's ledger, of one of two kinds. Whatever reaches it, the rules about money are watched here.

use super::dice::Dice;
use super::doubt::Doubts;
use super::faults::Fault;
use super::payer;
use super::wire::{Answer, Request};
use super::world::World;
use order_service::core::domain::money::Money;
use order_service::core::domain::provider::{Provider, ProviderNumber};
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::payment::registration::Ending;
use order_service::core::payment::report::{PaymentReport, ReportedStatus};
use order_service::core::ports::payment::Concern;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// One payment system of each kind: the core knows them by what they promise, and more would only thin
/// out what happens between these.
pub const PROVIDERS: [Provider; 2] = [Provider::Sber, Provider::OdnaKassa];

/// The kinds of payment systems that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// As Sber: a number is unique for ever, a repeat is a duplicate, and a lost form stays lost.
    Numbered,
    /// As OdnaKassa: a key replays its first outcome, and a query tells the form again.
    Keyed,
}

impl Kind {
    pub fn of(provider: Provider) -> Self {
        if place(provider) == 0 { Self::Numbered } else { Self::Keyed }
    }
}

/// Where it stands in whatever there is one of for each.
pub fn place(provider: Provider) -> usize {
    PROVIDERS.iter().position(|one| *one == provider).expect("nobody else takes part")
}

#[derive(Debug)]
pub struct Bank {
    pub provider: Provider,
    kind: Kind,
    pub dice: Dice,
    pub doubts: Doubts,
    ledger: Mutex<BTreeMap<String, Payment>>,
}

#[derive(Debug, Clone)]
pub struct Payment {
    pub order: usize,
    pub number: String,
    pub amount: Money,
    /// What the provider says the amount is.
    pub told: Money,
    pub standing: Standing,
    /// The payer is at it: it cannot be taken back any more.
    pub begun: bool,
    /// It was over and is paid all the same.
    pub revived: bool,
    /// A client was given its form.
    pub shown: bool,
    /// An answer about it told another amount once.
    pub slipped: bool,
    /// An answer about it told of a hold.
    pub held: bool,
    /// So many queries do not see it yet.
    hidden: usize,
    /// When it came to be.
    pub born: Instant,
    expires_at: Timestamp,
    pub refunds: Vec<(String, i64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Pending,
    Paid,
    Over(Ending),
}

impl Payment {
    pub fn live(&self) -> bool {
        !self.revived && matches!(self.standing, Standing::Pending | Standing::Paid)
    }

    pub fn refunded(&self) -> i64 {
        self.refunds.iter().map(|(_, minor)| minor).sum()
    }

    fn external_id(&self) -> String {
        format!("ext-{}", self.number)
    }

    pub fn form_url(&self) -> String {
        format!("https://pay.example/{}", self.number)
    }
}

impl Bank {
    pub fn new(seed: u64, provider: Provider) -> Self {
        let dice = Dice::new(seed, provider.as_str(), 0);
        Self {
            provider,
            kind: Kind::of(provider),
            dice,
            doubts: Doubts::default(),
            ledger: Mutex::default(),
        }
    }

    pub fn ledger(&self) -> MutexGuard<'_, BTreeMap<String, Payment>> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn payment(&self, number: &str) -> Option<Payment> {
        self.ledger().get(number).cloned()
    }

    /// What a request does when it arrives.
    pub fn execute(&self, world: &Arc<World>, request: &Request) -> Answer {
        let answer = match request {
            Request::Register { number, amount } => self.register(world, number, *amount),
            Request::Query { number } => self.query(world, number),
            Request::Cancel { number } => self.cancel(world, number),
            Request::Refund { number, amount, refund_id } => {
                self.refund(world, number, *amount, refund_id)
            }
        };
        world.chronicle.note(|| {
            format!("{} executes {}: {}", self.provider, request.shown(world), answer.word())
        });
        answer
    }

    fn register(&self, world: &Arc<World>, number: &str, amount: Money) -> Answer {
        if let Some(known) = self.payment(number) {
            if world.strikes(Fault::RefusedRepeat, &self.dice) {
                return Answer::Refused(Concern::Order);
            }
            let same = known.standing == Standing::Pending && known.told == amount;
            return match self.kind {
                Kind::Keyed if same => self.registered(&known),
                Kind::Numbered | Kind::Keyed => Answer::Duplicate,
            };
        }
        let order = world.order_of(number);
        if self.refuses(world, order, number) {
            return Answer::Refused(Concern::Order);
        }
        let odd = i64::from(world.destined(Fault::Mismatch, &self.dice));
        let lag = world.strikes(Fault::ReadLag, &self.dice) && self.kind == Kind::Numbered;
        let life = &world.plan.form_life;
        let life = self.dice.millis(life.start, life.end);
        let payment = Payment {
            order,
            number: number.to_owned(),
            amount,
            told: Money::rub(amount.minor() + odd).expect("a small sum"),
            standing: Standing::Pending,
            begun: false,
            revived: false,
            shown: false,
            slipped: false,
            held: false,
            hidden: if lag { self.dice.between(1, 4) } else { 0 },
            born: Instant::now(),
            expires_at: world.now() + life,
            refunds: Vec::new(),
        };
        let answer = self.registered(&payment);
        self.ledger().insert(number.to_owned(), payment);
        one_live(world, order);
        payer::post_callback(world, self.provider, number, "created");
        tokio::spawn(expire(Arc::clone(world), self.provider, number.to_owned(), life));
        answer
    }

    /// The bank's mind about an order never changes.
    fn refuses(&self, world: &World, order: usize, number: &str) -> bool {
        let sequence = number.rsplit('-').next().and_then(|digits| digits.parse().ok());
        let stream = format!("refusal {}", self.provider);
        let dice = Dice::new(world.seed, &stream, order * 100 + sequence.unwrap_or(0));
        world.destined(Fault::Refusal, &dice)
    }

    fn registered(&self, payment: &Payment) -> Answer {
        Answer::Registered {
            external_id: payment.external_id(),
            form_url: payment.form_url(),
            expires_at: payment.expires_at,
        }
    }

    fn query(&self, world: &World, number: &str) -> Answer {
        let mut ledger = self.ledger();
        let Some(payment) = ledger.get_mut(number) else { return Answer::NotFound };
        if payment.hidden > 0 {
            payment.hidden -= 1;
            return Answer::NotFound;
        }
        let status = match payment.standing {
            Standing::Pending => ReportedStatus::Pending,
            Standing::Paid => ReportedStatus::Paid,
            Standing::Over(ending) => ReportedStatus::Over(ending),
        };
        let form = self.kind == Kind::Keyed && status == ReportedStatus::Pending;
        let strikes = |fault| world.strikes(fault, &self.dice);
        let held = status == ReportedStatus::Pending && payment.begun && strikes(Fault::Held);
        payment.held |= held;
        let status = if held { ReportedStatus::Held } else { status };
        let status = if strikes(Fault::StrangeStatus) { ReportedStatus::Strange } else { status };
        let slipped = strikes(Fault::PassingMismatch);
        payment.slipped |= slipped;
        let part = slipped && status == ReportedStatus::Paid && self.dice.chance(0.5);
        let other = |by: i64| Money::rub(payment.told.minor() + by).expect("a small sum");
        let told = other(i64::from(slipped && !part));
        let taken = part.then(|| other(-1));
        let refunded =
            if strikes(Fault::SilentSum) { None } else { Money::rub(payment.refunded()).ok() };
        Answer::Found(PaymentReport {
            number: ProviderNumber::told(number),
            external_id: Some(payment.external_id()),
            amount: Some(told),
            taken,
            decline: None,
            status,
            refunded,
            form_url: form.then(|| payment.form_url()),
            expires_at: Some(payment.expires_at),
        })
    }

    fn cancel(&self, world: &Arc<World>, number: &str) -> Answer {
        match self.payment(number) {
            Some(payment) if payment.standing == Standing::Pending && !payment.begun => {
                // I11: what a client was given as payable is taken back only if that is asked for.
                if payment.shown && !world.records().cancels.contains(&payment.order) {
                    let what = world.number(number);
                    world.chronicle.violated("I11 a form that was given out stays payable", what);
                }
                self.end(world, number, Ending::Cancelled);
                Answer::Taken
            }
            Some(_) | None => Answer::Refused(Concern::Order),
        }
    }

    fn refund(&self, world: &Arc<World>, number: &str, amount: Money, refund_id: &str) -> Answer {
        let keyed = self.kind == Kind::Keyed || world.plan.refund_key;
        let mut ledger = self.ledger();
        let Some(payment) = ledger.get_mut(number) else {
            return Answer::Refused(Concern::Order);
        };
        if keyed && payment.refunds.iter().any(|(id, _)| id == refund_id) {
            return Answer::Taken;
        }
        let left = payment.amount.minor() - payment.refunded();
        if payment.standing != Standing::Paid || amount.minor() > left {
            return Answer::Refused(Concern::Order);
        }
        if payment.refunds.iter().any(|(id, _)| id == refund_id) {
            let what = format!("{} gives {refund_id} back twice", self.provider);
            world.chronicle.violated("one effect per refund", what);
        }
        payment.refunds.push((refund_id.to_owned(), amount.minor()));
        drop(ledger);
        world.records().tally.refunds += 1;
        payer::post_callback(world, self.provider, number, "refunded");
        Answer::Taken
    }

    /// Somebody gives money back by hand, for reasons of their own.
    pub fn give_back_by_hand(&self, world: &Arc<World>, number: &str) {
        let minor = self.dice.pick(&[100, 5_000, 19_900]);
        {
            let mut ledger = self.ledger();
            let Some(payment) = ledger.get_mut(number) else { return };
            let left = payment.amount.minor() - payment.refunded();
            if payment.standing != Standing::Paid || minor > left {
                return;
            }
            payment.refunds.push((format!("cabinet-{}", payment.refunds.len()), minor));
        }
        let name = world.number(number);
        world.chronicle.note(|| format!("{minor} of {name} are given back by hand"));
        payer::post_callback(world, self.provider, number, "refunded");
    }

    /// The payer pays: a form that waits, or one that was called over.
    pub fn pay(&self, world: &Arc<World>, number: &str) {
        {
            let mut ledger = self.ledger();
            let Some(payment) = ledger.get_mut(number) else { return };
            if payment.standing == Standing::Paid {
                return;
            }
            payment.revived |= payment.standing != Standing::Pending;
            payment.standing = Standing::Paid;
        }
        world.records().tally.paid += 1;
        if world.strikes(Fault::Cabinet, &self.dice) {
            let (world, provider) = (Arc::clone(world), self.provider);
            let (number, pause) = (number.to_owned(), self.dice.millis(1_000, 180_000));
            tokio::spawn(async move {
                sleep(pause).await;
                world.bank(provider).give_back_by_hand(&world, &number);
            });
        }
        world.chronicle.note(|| format!("{} is paid at {}", world.number(number), self.provider));
        payer::post_callback(world, self.provider, number, "deposited");
    }

    pub fn end(&self, world: &Arc<World>, number: &str, ending: Ending) {
        {
            let mut ledger = self.ledger();
            let Some(payment) = ledger.get_mut(number) else { return };
            if payment.standing != Standing::Pending {
                return;
            }
            payment.standing = Standing::Over(ending);
        }
        world.chronicle.note(|| format!("{} is {}", world.number(number), ending.as_str()));
        payer::post_callback(world, self.provider, number, ending.as_str());
    }

    /// The payer begins: from now on the form cannot be taken back.
    pub fn begin(&self, number: &str) -> bool {
        match self.ledger().get_mut(number) {
            Some(payment) if payment.standing == Standing::Pending => {
                payment.begun = true;
                true
            }
            Some(_) | None => false,
        }
    }

    /// A client was given this form. `true` the first time.
    pub fn show(&self, number: &str) -> bool {
        match self.ledger().get_mut(number) {
            Some(payment) => !std::mem::replace(&mut payment.shown, true),
            None => false,
        }
    }
}

/// I1, at every moment: of an order's registrations one at most is live, at all providers together.
pub fn one_live(world: &World, order: usize) {
    let count = |wanted: fn(&Payment) -> bool| {
        world
            .banks()
            .iter()
            .map(|bank| {
                bank.ledger().values().filter(|p| p.order == order && p.live() && wanted(p)).count()
            })
            .sum::<usize>()
    };
    if count(|_| true) > 1 {
        world.chronicle.violated("I1 one live registration", format!("o{order} has two"));
    }
    if count(|payment| payment.shown) > 1 {
        world.chronicle.violated("I1 one form", format!("clients hold two live forms of o{order}"));
    }
}

async fn expire(world: Arc<World>, provider: Provider, number: String, life: Duration) {
    sleep(life).await;
    let bank = world.bank(provider);
    let begun = bank.payment(&number).is_some_and(|payment| payment.begun);
    if !begun {
        bank.end(&world, &number, Ending::Expired);
    }
}
