//! `GET /console`: the live page for people on call. It is plain files without a build step, and
//! needs no token, because it holds nothing; everything that it asks for does. The policy lets only
//! these files run and only this listener be asked, and makes the browser itself refuse a script
//! that would turn text into markup.

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::HeaderValue;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_FRAME_OPTIONS,
};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

const FILES: [(&str, &str, &str); 12] = [
    ("/console", HTML, include_str!("page.html")),
    ("/console/page.css", CSS, include_str!("page.css")),
    ("/console/main.js", SCRIPT, include_str!("main.js")),
    ("/console/systems.js", SCRIPT, include_str!("systems.js")),
    ("/console/tasks.js", SCRIPT, include_str!("tasks.js")),
    ("/console/deeds.js", SCRIPT, include_str!("deeds.js")),
    ("/console/dialog.js", SCRIPT, include_str!("dialog.js")),
    ("/console/client.js", SCRIPT, include_str!("client.js")),
    ("/console/dom.js", SCRIPT, include_str!("dom.js")),
    ("/console/words.js", SCRIPT, include_str!("words.js")),
    ("/console/en.js", SCRIPT, include_str!("en.js")),
    ("/console/ru.js", SCRIPT, include_str!("ru.js")),
];

pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.into_iter().fold(Router::new(), |router, (path, content_type, text)| {
        router.route(path, get(async move || file(content_type, text)))
    })
}

fn file(content_type: &'static str, text: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, text).into_response()
}
