//! Where the payment systems tell that something has happened: one route for each. What they send goes
//! on as it came: only their adapters can read it, and only a query makes it true.

use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::body::RawBody;
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::core::domain::provider::Provider;
use crate::core::ports::payment::RawCallback;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use http::{HeaderMap, Method, Uri};
use std::sync::Arc;
use utoipa::Modify;
use utoipa::openapi::path::{
    HttpMethod, Operation, OperationBuilder, ParameterBuilder, ParameterIn, PathItem,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ContentBuilder, ObjectBuilder, Required, ResponseBuilder};

/// What every webhook's path begins with.
pub const PREFIX: &str = "/v1/webhooks/";

/// What can go wrong here, beside what can everywhere.
pub const CODES: &[Code] =
    &[Code::SignatureInvalid, Code::NotFound, Code::PayloadTooLarge, Code::StorageUnavailable];

pub fn routes() -> Router<Arc<App>> {
    Provider::ALL.into_iter().fold(Router::new(), |router, provider| {
        let take = move |State(app), method, uri, headers, RawBody(body)| {
            receive(app, provider, method, uri, headers, body)
        };
        let by_post = post(take);
        let methods = if provider.profile().webhook.by_get { by_post.get(take) } else { by_post };
        router.route(&path(provider), methods)
    })
}

fn path(provider: Provider) -> String {
    format!("{PREFIX}{provider}")
}

async fn receive(
    app: Arc<App>,
    provider: Provider,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Vec<u8>,
) -> Result<Response, Problem> {
    let webhook = provider.profile().webhook;
    let work = Arc::clone(&app);
    let receiving = async move {
        let signature = webhook.signature.and_then(|name| headers.get(name)?.to_str().ok());
        let raw = RawCallback {
            post: method == Method::POST,
            query: uri.query().unwrap_or_default(),
            signature,
            body: &body,
        };
        work.use_cases.receive_callback.run(provider, &raw).await
    };
    app.detached(receiving).await??;
    Ok(Response::new(Body::from(webhook.receipt)))
}

/// The routes as the document shows them.
pub struct Webhooks;

impl Modify for Webhooks {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        for provider in Provider::ALL {
            let mut item = PathItem::new(HttpMethod::Post, by_post(provider));
            if provider.profile().webhook.by_get {
                item.get = Some(by_get(provider));
            }
            document.paths.paths.insert(path(provider), item);
        }
    }
}

fn by_get(provider: Provider) -> Operation {
    operation(provider).operation_id(Some(format!("from_{provider}_by_get"))).build()
}

fn by_post(provider: Provider) -> Operation {
    let by_post = if provider.profile().webhook.by_get { "_by_post" } else { "" };
    let json = ContentBuilder::new().schema(Some(ObjectBuilder::new())).build();
    let event = RequestBodyBuilder::new()
        .description(Some("What happened, in its own words"))
        .content("application/json", json)
        .required(Some(Required::True));
    operation(provider)
        .operation_id(Some(format!("from_{provider}{by_post}")))
        .request_body(Some(event.build()))
        .build()
}

fn operation(provider: Provider) -> OperationBuilder {
    let profile = provider.profile();
    let taken = ResponseBuilder::new().description("Taken");
    let operation = OperationBuilder::new()
        .tag("webhooks")
        .summary(Some(format!("{} tells that something has happened", profile.name)))
        .response("200", taken);
    match profile.webhook.signature {
        None => operation,
        Some(header) => {
            let text = ObjectBuilder::new().schema_type(Type::String);
            let signature = ParameterBuilder::new()
                .name(header)
                .parameter_in(ParameterIn::Header)
                .required(Required::True)
                .description(Some("That it is the sender, and that nothing was changed"))
                .schema(Some(text));
            operation.parameter(signature)
        }
    }
}
