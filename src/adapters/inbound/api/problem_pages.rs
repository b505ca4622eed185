//! `GET /problems/{code}`: where a problem's `type` leads. What it means, and what a client does about it, in
//! the reader's language.

use crate::adapters::inbound::api::docs_page::file;
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::lang::Lang;
use crate::adapters::inbound::http_kit::problem::Problem;
use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use http::header::VARY;
use http::{HeaderMap, HeaderValue};

pub fn routes() -> Router {
    Router::new()
        .route("/", get(async || Redirect::to("/docs")))
        .route("/problems/{code}", get(show))
}

async fn show(Path(word): Path<String>, headers: HeaderMap) -> Response {
    let type_uri = format!("/problems/{word}");
    let known = Code::ALL.iter().find(|code| code.type_uri() == type_uri);
    let Some(code) = known else { return Problem::new(Code::NotFound).into_response() };
    let mut response = file("text/html; charset=utf-8", page(*code, Lang::of(&headers)));
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept-language"));
    response
}

/// All of it is ours: nothing of the request is shown.
fn page(code: Code, lang: Lang) -> String {
    let (language, heads) = match lang {
        Lang::En => {
            ("en", ["Ask again?", "Show the buyer", "Mend", "All problems and the rest of the API"])
        }
        Lang::Ru => (
            "ru",
            ["Повторять?", "Показать покупателю", "Исправить", "Все ошибки и остальное об API"],
        ),
    };
    let [retry, show, fix, more] = heads;
    let advice = code.advice();
    let say = |text: crate::adapters::inbound::http_kit::lang::Text| marked(text.in_lang(lang));
    format!(
        "<!doctype html>\n<html lang=\"{language}\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{word}</title>\
         <link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"/docs/page.css\"></head><body>\
         <main><h1>{title}</h1><p><code>{word}</code>, {status}</p><p>{detail}</p>\
         <table><tr><th>{retry}</th><td>{retry_text}</td></tr><tr><th>{show}</th><td>{show_text}</td></tr>\
         <tr><th>{fix}</th><td>{fix_text}</td></tr></table><p><a href=\"/docs\">{more}</a></p>\
         </main></body></html>\n",
        word = code.as_str(),
        title = code.title(),
        status = code.status().as_u16(),
        detail = say(code.detail()),
        retry_text = say(advice.retry),
        show_text = say(advice.show),
        fix_text = say(advice.fix),
    )
}

/// What stands between back quotes as code.
fn marked(text: &str) -> String {
    let parts = text.split('`').zip(["", "<code>"].into_iter().cycle());
    let parts = parts.map(|(part, open)| {
        let close = if open.is_empty() { "" } else { "</code>" };
        format!("{open}{part}{close}")
    });
    parts.collect()
}
