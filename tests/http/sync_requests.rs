//! What callbacks set off: questions to the provider, as few as will do, and never more than that.

use crate::harness::{Harness, Reply};
use order_service::core::domain::ids::OrderId;
use order_service::core::domain::order::OrderStatus;
use order_service::core::domain::provider::{Provider, ProviderNumber};
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::registration::RegistrationState;
use order_service::core::payment::task::{Reason, TaskKind};
use order_service::core::ports::call::Call;
use order_service::core::ports::deadline::Deadline;
use order_service::core::ports::order_repository::{OrderRepository, Scope};
use order_service::core::ports::payment::{Checkout, RegisterOrder};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Where the harness's database thinks that it is.
const NOW: i64 = 1_764_500_000;

fn number(order: &str, sequence: u8) -> ProviderNumber {
    ProviderNumber::new("", OrderId::parse(order).unwrap(), sequence)
}

impl Harness {
    async fn call_back(&self, provider: Provider, query: &str) -> Reply {
        self.act(&format!("/v1/webhooks/{provider}?{query}"), &[]).await
    }

    async fn aggregate(&self, order: &str) -> OrderAggregate {
        let id = OrderId::parse(order).unwrap();
        self.store.aggregate(id, &Scope::Anyone).await.unwrap().unwrap()
    }

    /// The provider knows a registration that the database does not.
    async fn forgotten(&self, id: &str, provider: Provider) -> ProviderNumber {
        let (number, amount) = (number(id, 1), self.aggregate(id).await.order.total);
        let checkout = Checkout {
            return_url: String::new(),
            lifetime: None,
            expires_at: None,
            description: None,
            receipt: None,
        };
        let order = RegisterOrder { number: number.clone(), amount, checkout };
        let call = Call::new(Deadline::after(Duration::from_secs(1)), None);
        let fake = self.providers.iter().find(|fake| fake.provider == provider).unwrap();
        fake.registered.lock().unwrap().push((order, call));
        number
    }
}

#[tokio::test(start_paused = true)]
async fn twenty_thousand_of_the_same_are_one_row_and_a_handful_of_questions() {
    let harness = Harness::open();
    let id = harness.order().await;
    assert_eq!(harness.confirm(&id).await.status, 200);
    let query = format!("number={}", number(&id, 1));
    let before = harness.sber.asked.load(Ordering::Relaxed);
    for _ in 0..20_000 {
        assert_eq!(harness.call_back(Provider::Sber, &query).await.status, 200);
        harness.work().await;
    }
    assert_eq!(harness.store.store.inbox().len(), 1);
    let asked = harness.sber.asked.load(Ordering::Relaxed) - before;
    assert!((1..=6).contains(&asked), "{asked}");
    assert_eq!(harness.aggregate(&id).await.order.status, OrderStatus::Paid);
}

#[tokio::test(start_paused = true)]
async fn unsigned_hints_about_one_number_have_a_budget_and_a_dropped_one_is_not_acknowledged() {
    let harness = Harness::open();
    let (one, other) = (harness.order().await, harness.order().await);
    for id in [&one, &other] {
        assert_eq!(harness.confirm(id).await.status, 200);
    }
    let hint = |id: &str| format!("unsigned&number={}", number(id, 1));
    for _ in 0..5 {
        assert_eq!(harness.call_back(Provider::Sber, &hint(&one)).await.status, 200);
    }
    let dropped = harness.call_back(Provider::Sber, &hint(&one)).await;
    assert_eq!((dropped.status.as_u16(), dropped.code()), (429, "rate_limited"));
    assert_eq!(dropped.header("retry-after"), "10");
    assert_eq!(harness.call_back(Provider::Sber, &hint(&other)).await.status, 200);
    // A stranger's guesses take nothing from anybody, and leave nothing.
    for _ in 0..100 {
        assert_eq!(harness.call_back(Provider::Sber, "unsigned&number=X-01").await.status, 200);
    }
    assert!(harness.store.store.inbox().is_empty());
    let signed = format!("number={}", number(&one, 1));
    assert_eq!(harness.call_back(Provider::Sber, &signed).await.status, 200, "it is kept anyway");
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(harness.call_back(Provider::Sber, &hint(&one)).await.status, 200);
}

#[tokio::test]
async fn a_signed_time_is_compared_with_the_databases() {
    let harness = Harness::open();
    for (off, status) in [(-301, 401), (-299, 200), (0, 200), (299, 200), (302, 401)] {
        let reply = harness.call_back(Provider::OdnaKassa, &format!("at={}", NOW + off)).await;
        assert_eq!(reply.status, status, "{off}");
    }
}

#[tokio::test]
async fn a_signed_callback_about_a_number_of_nobody_is_kept_once() {
    let harness = Harness::open();
    for _ in 0..3 {
        assert_eq!(harness.call_back(Provider::Sber, "number=CABINET-7").await.status, 200);
    }
    let lost = ProviderNumber::new("", OrderId::from_uuid(uuid::Uuid::from_u128(7)), 1);
    assert_eq!(harness.call_back(Provider::Sber, &format!("number={lost}")).await.status, 200);
    let kept: Vec<_> =
        harness.store.store.inbox().into_iter().map(|entry| entry.number.to_string()).collect();
    assert_eq!(kept, ["CABINET-7".to_owned(), lost.to_string()]);
}

#[tokio::test]
async fn a_payment_that_the_database_forgot_is_found_by_its_callback() {
    let harness = Harness::open();
    let id = harness.order().await;
    let number = harness.forgotten(&id, Provider::Sber).await;
    assert_eq!(harness.call_back(Provider::Sber, &format!("number={number}")).await.status, 200);
    let confirmed = harness.confirm(&id).await;
    assert_eq!(confirmed.status, 202, "nobody registers it again meanwhile");
    harness.work().await;
    let order = harness.get(&format!("/v1/orders/{id}")).await.json;
    assert_eq!((&order["status"], &order["payment"]["provider"]), (&"paid".into(), &"sber".into()));
    assert_eq!(harness.sber.registered.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_forgotten_payment_beside_another_registration_is_given_back_by_a_person() {
    let harness = Harness::open();
    let id = harness.order().await;
    assert_eq!(harness.confirm(&id).await.status, 200);
    let number = harness.forgotten(&id, Provider::OdnaKassa).await;
    let told = harness.call_back(Provider::OdnaKassa, &format!("number={number}&event=e-1")).await;
    assert_eq!(told.status, 200);
    harness.work().await;
    let aggregate = harness.aggregate(&id).await;
    let state = |provider| aggregate.registration(provider, 1).unwrap().state;
    assert_eq!(state(Provider::OdnaKassa), RegistrationState::Surplus);
    assert_eq!(state(Provider::Sber), RegistrationState::Live);
    let refund = aggregate.unfinished(TaskKind::RefundPayment).unwrap();
    assert_eq!(refund.reason, Some(Reason::Operator));
}
