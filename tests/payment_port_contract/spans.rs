//! The spans that dashboards and people search for.

use crate::calls::{Method, call};
use crate::heard;
use crate::subject::all;
use order_service::adapters::resilience::breaker::BreakerMode;
use order_service::sandbox::{Answer, Mood};

#[tokio::test]
async fn every_method_has_its_span() {
    for subject in all().await {
        // A span that another test's thread meets first, while only this one listens, is taken for
        // unwanted by all; so each is met once before.
        subject.set_mode(Mood::Error500).await;
        for method in Method::ALL {
            method.call(subject.port(), &call()).await.unwrap_err();
        }
        subject.set_mode(Mood::Ok).await;
        subject.adapter.breaker.reset();
        let heard = heard::listen();
        let adapter = format!("{}Adapter", subject.provider.profile().name);
        let named = |method: Method| heard.span(&format!("{adapter}.{method:?}"));

        Method::PaymentStatus.call(subject.port(), &call()).await.unwrap();
        let span = named(Method::PaymentStatus);
        assert_eq!(span["external.system"], subject.provider.as_str());
        assert_eq!(span["circuit_breaker.state"], "closed");
        assert_eq!(span["bulkhead.wait_ms"], "0");
        assert!(span["deadline.remaining_ms"].starts_with("29"), "{span:?}");
        assert_eq!(span.get("otel.status_code"), None);

        let status = Answer::Http { status: 502, body: None, retry_after: None, location: None };
        subject.intercepted_once(status);
        Method::PaymentStatus.call(subject.port(), &call()).await.unwrap_err();
        let span = heard.span("http.client");
        assert!(subject.adapter.methods.contains(&&*span["otel.name"]), "{subject}");
        assert_eq!(span["http.response.status_code"], "502");

        subject.adapter.breaker.set_mode(BreakerMode::ForcedOpen, None);
        for method in Method::ALL {
            method.call(subject.port(), &call()).await.unwrap_err();
            let span = named(method);
            assert_eq!(span["otel.status_code"], "ERROR");
            assert_eq!(span["otel.status_description"], "circuit open");
        }
    }
}
