//! The console as a person has it: a real browser, the real binary with its simulated partners, and
//! nothing but what can be seen and clicked.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod chromium;
mod instance;
mod webdriver;

use chromium::{Options, Page, browse};
use instance::Instance;
use serde_json::json;

const SBER: &str = "[data-system=sber]";

#[tokio::test]
async fn a_breaker_is_forced_open_and_given_back_and_reset() {
    browse(Options::default(), async |page: Page| {
        let service = Instance::start(&[]).await;
        page.open(&service.console).await;
        page.until(SBER, "calls pass").await;
        assert_eq!(page.count("[data-system]").await, 4);

        page.click(&format!("{SBER} [data-action=switch_mode]")).await;
        page.until("#dialog-effect", "Nothing is sent to sber").await;
        page.until("#dialog-effect", "This instance only").await;
        page.click("#dialog-yes").await;
        page.until("#dialog", "Reason").await;
        page.write("#dialog-reason", "a drill").await;
        page.click("#dialog-yes").await;
        page.until(SBER, "Forced open").await;
        page.until(SBER, "14 min").await;
        let seen = service.admin("/admin/systems").await;
        assert_eq!(seen[0]["breaker"]["mode"], "forced_open");
        assert!(page.title().await.starts_with("■1"), "{}", page.title().await);

        page.click(&format!("{SBER} [data-action=switch_mode]")).await;
        page.write("#dialog-reason", "over").await;
        page.click("#dialog-yes").await;
        page.until(SBER, "calls pass").await;
        page.click(&format!("{SBER} [data-action=reset]")).await;
        page.until("#dialog-effect", "empty window").await;
        page.click("#dialog-yes").await;
        page.until("#toast", "the breaker is closed").await;
        page.has_no_complaints().await;
    })
    .await;
}

#[tokio::test]
async fn nothing_is_shown_without_the_token_and_a_wrong_one_is_called_wrong() {
    browse(Options::default(), async |page: Page| {
        let service = Instance::start(&[("ADMIN_TOKEN", "s3cret")]).await;
        page.open(&service.console).await;
        page.until("#login", "asks for a token").await;
        assert!(!page.shows("#main").await);
        for wrong in ["guess", "пароль"] {
            page.write("#token", wrong).await;
            page.click("#login button").await;
            page.until("#wrong", "This token is wrong").await;
        }
        page.write("#token", "s3cret").await;
        page.click("#login button").await;
        page.until(SBER, "calls pass").await;
        assert!(!page.shows("#login").await);
        page.open(&service.console).await;
        page.until(SBER, "calls pass").await;
        page.click("#forget").await;
        page.until("#login", "asks for a token").await;
        assert!(!page.shows("#main").await);
        page.has_no_complaints().await;
    })
    .await;
}

#[tokio::test]
async fn a_stuck_task_is_found_by_its_order_and_given_up_with_a_reason() {
    browse(Options::default(), async |page: Page| {
        // A task that is being worked on when the button is pressed cannot be given up.
        let service = Instance::start(&[("TASK_BACKOFF", "1m")]).await;
        let orders = [service.stuck_order().await, service.stuck_order().await];
        page.open(&service.console).await;
        page.until("#tasks", &orders[0]).await;
        page.until("#tasks", &orders[1]).await;

        page.write("#order", &orders[1]).await;
        page.until_gone("#tasks", &orders[0]).await;
        page.click("#tasks [data-action=cancel]").await;
        page.until("#dialog-effect", &orders[1]).await;
        page.until("#dialog-effect", "is not registered").await;
        page.write("#dialog-reason", "the customer called").await;
        page.click("#dialog-yes").await;
        page.until("#tasks", "cancelled_by_operator").await;
        page.until("#tasks [data-status=cancelled]", "cancelled").await;
        assert_eq!(service.order(&orders[1]).await["status"], "new");

        // Whatever stands in an address is text, and what the service says of it is told.
        page.open("about:blank").await;
        page.open(&format!("{}#order=<img src=x onerror=alert(1)>", service.console)).await;
        page.until("#tasks-wrong", "order_id").await;
        assert_eq!(page.count("img").await, 0);
        page.has_no_complaints().await;
    })
    .await;
}

#[tokio::test]
async fn on_a_phone_in_russian_it_fits_and_says_when_the_service_is_gone() {
    let phone = json!({"deviceMetrics": {"width": 360, "height": 740, "pixelRatio": 2.0}});
    let options = Options { language: "ru-RU", emulation: Some(phone) };
    browse(options, async |page: Page| {
        let mut service = Instance::start(&[]).await;
        let order = service.stuck_order().await;
        page.open(&service.console).await;
        page.until("#main", "Системы").await;
        page.until("#tasks", &order).await;
        page.until("#tasks", "регистрация платежа").await;
        let width = page.ask("return document.documentElement.scrollWidth").await;
        assert!(width.as_u64().unwrap() <= 360, "{width} pixels wide");
        page.click("#tasks [data-action=cancel]").await;
        page.until("#dialog-effect", "не будет зарегистрирован").await;
        page.click("#dialog-no").await;
        page.has_no_complaints().await;

        service.kill().await;
        page.until("#banner", "Сервис не отвечает").await;
        page.until("#tasks", &order).await;
    })
    .await;
}
