//! Secrets: where they are read from, and what people see in their place.

use super::rows::Shown;
use std::fs::File;
use std::io::Read;

/// A secret is a word, not a book; a device that never ends is not read for ever.
const LONGEST_SECRET_BYTES: u64 = 64 * 1024;

/// The secret that a file holds, without the newline that editors leave at its end.
pub(super) fn read_secret(path: &str) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| error.kind().to_string())?;
    file.take(LONGEST_SECRET_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| error.kind().to_string())?;
    let secret = text.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']);
    if secret.is_empty() { Err("it is empty".into()) } else { Ok(secret.to_owned()) }
}

/// What stands in examples and templates until somebody puts a secret there.
const PLACEHOLDERS: [&str; 4] = ["change-me", "change_me", "changeme", "placeholder"];

/// Why a value is no secret at all: of separators alone it would switch a check off in silence, and a
/// placeholder is known to everybody. The sandbox keeps nobody out.
pub(super) fn unfit(value: &str, sandbox: bool) -> Option<&'static str> {
    if value.chars().all(|c| c == ',' || c.is_whitespace()) {
        return Some("a secret: this is empty but for commas and blanks");
    }
    let lower = value.to_lowercase();
    let placeholder = PLACEHOLDERS.iter().any(|word| lower.contains(word));
    (placeholder && !sandbox).then_some("a secret of your own: this is a placeholder")
}

pub(super) fn mask(value: &str, shown: Shown) -> String {
    match shown {
        Shown::Plainly => value.to_owned(),
        Shown::Never => "***".into(),
        Shown::WithoutPassword => without_password(value),
    }
}

/// Of a URL, everything but the password; of anything else, nothing.
fn without_password(value: &str) -> String {
    let told = match (value.split_once("://"), value.rsplit_once('@')) {
        _ if value.contains("password=") => None,
        (None, _) => value.strip_prefix("sqlite:").map(|_| value.to_owned()),
        (Some(_), None) => Some(value.to_owned()),
        (Some((scheme, rest)), Some((_, place))) => {
            rest.split([':', '@']).next().map(|user| format!("{scheme}://{user}:***@{place}"))
        }
    };
    told.unwrap_or_else(|| "***".into())
}

/// For a message: in one line, and not too long a one.
pub(super) fn printable(text: &str) -> String {
    const LONGEST: usize = 100;
    let cut = text.chars().count() > LONGEST;
    let head: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if cut { head + "…" } else { head }
}
