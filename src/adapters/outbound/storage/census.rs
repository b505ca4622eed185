//! At which payment systems there are registrations: asked once at start, so that those which nobody here
//! can ask are told of.

use super::settings::{ConnectError, Dialect, Settings};
use super::{postgres, sqlite};
use sqlx::{ConnectOptions, Connection};

/// One step of an index for each word, however many rows have it.
const WORDS: &str = "WITH RECURSIVE words (word) AS (SELECT min(provider) FROM registrations \
    UNION ALL SELECT (SELECT min(provider) FROM registrations WHERE provider > word) FROM words \
    WHERE word IS NOT NULL) SELECT word FROM words WHERE word IS NOT NULL";

/// The payment systems of all registrations, in the words of whichever version made them.
///
/// # Errors
/// An unknown scheme, or no answer.
pub async fn payment_systems(url: &str) -> Result<Vec<String>, ConnectError> {
    Ok(match Dialect::of(url)? {
        Dialect::Sqlite => {
            let options = sqlite::options(url, Settings::default().time_limit)?;
            let mut connection = options.connect().await?;
            let words = sqlx::query_scalar(WORDS).fetch_all(&mut connection).await?;
            connection.close().await?;
            words
        }
        Dialect::Postgres => {
            let mut connection = postgres::options(url)?.connect().await?;
            let words = sqlx::query_scalar(WORDS).fetch_all(&mut connection).await?;
            connection.close().await?;
            words
        }
    })
}
