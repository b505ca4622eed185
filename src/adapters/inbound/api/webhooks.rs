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
use http::header::CONTENT_TYPE;
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

const FORM: &str = "application/x-www-form-urlencoded";

/// What can go wrong here, beside what can everywhere.
pub const CODES: &[Code] = &[
    Code::SignatureInvalid,
    Code::NotFound,
    Code::RequestTimeout,
    Code::PayloadTooLarge,
    Code::RateLimited,
    Code::StorageUnavailable,
];

/// A slash at the end of the address that somebody typed into the partner's cabinet costs no news. Where
/// GET is taken, HEAD is, too, as the same callback.
pub fn routes() -> Router<Arc<App>> {
    Provider::ALL.into_iter().fold(Router::new(), |router, provider| {
        let take = move |State(app), method, uri, headers, RawBody(body)| {
            receive(app, provider, method, uri, headers, body)
        };
        let by_post = post(take);
        let methods = if provider.profile().webhook.by_get { by_post.get(take) } else { by_post };
        let path = path(provider);
        router.route(&format!("{path}/"), methods.clone()).route(&path, methods)
    })
}

/// Who signs nothing is refused before its body is read: nobody knows who it is.
pub fn first_look(path: &str, headers: &HeaderMap) -> Result<(), Problem> {
    let provider = path.strip_prefix(PREFIX).map(|name| name.trim_end_matches('/'));
    let provider = provider.and_then(Provider::parse);
    let signature = provider.and_then(|provider| provider.profile().webhook.signature);
    match signature {
        Some(header) if !headers.contains_key(header) => Err(Problem::new(Code::SignatureInvalid)),
        Some(_) | None => Ok(()),
    }
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
            form: is_form(&headers),
            query: uri.query().unwrap_or_default(),
            signature,
            body: &body,
        };
        work.use_cases.receive_callback.run(provider, &raw).await
    };
    app.detached(receiving).await??;
    Ok(Response::new(Body::from(webhook.receipt)))
}

fn is_form(headers: &HeaderMap) -> bool {
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = declared.and_then(|value| value.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(FORM)
}

const TAKEN: &str = "A signed event that concerns no order of ours is taken, too. A slash may stand at \
    the end of the address. An unsigned hint that is one of too many about its number is 429: send it again.";

const TAKEN_BY_GET: &str = "A signed event that concerns no order of ours is taken, too. A slash may stand \
    at the end of the address; HEAD is taken as GET is; the parameters may come as the body of a form. An \
    unsigned hint that is one of too many about its number is 429: send it again.";

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
    let body = || ContentBuilder::new().schema(Some(ObjectBuilder::new())).build();
    let event = RequestBodyBuilder::new()
        .description(Some("What happened, in its own words"))
        .content("application/json", body())
        .required(Some(Required::True));
    // What it may send by GET, it may send as a form.
    let by_get = provider.profile().webhook.by_get;
    let event = if by_get { event.content(FORM, body()) } else { event };
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
        .description(Some(if profile.webhook.by_get { TAKEN_BY_GET } else { TAKEN }))
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
