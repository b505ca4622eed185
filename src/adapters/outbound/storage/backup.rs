//! A copy of the SQLite file while the service runs: one snapshot, checked before it gets its name.

use super::settings::{ConnectError, Dialect, Settings};
use super::sqlite;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("only a SQLite file is copied so: PostgreSQL has pg_basebackup and pg_dump")]
    Server,
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    #[error("the copy is not sound: {0}")]
    Unsound(String),
    #[error("the database cannot be read")]
    Connect(#[from] ConnectError),
    #[error("the copy cannot be written")]
    File(#[from] io::Error),
}

impl From<sqlx::Error> for BackupError {
    fn from(error: sqlx::Error) -> Self {
        Self::Connect(error.into())
    }
}

/// Copies the database of the URL to a file that does not exist yet. Readers and the writer go on
/// meanwhile. Returns the copy's size in bytes.
///
/// # Errors
/// The URL names a server, the file exists, there is no room, or the copy is damaged.
pub async fn backup(url: &str, target: &Path) -> Result<u64, BackupError> {
    if Dialect::of(url)? != Dialect::Sqlite {
        return Err(BackupError::Server);
    }
    if target.try_exists()? {
        return Err(BackupError::Exists(target.to_owned()));
    }
    let unfinished = unfinished(target);
    // What a killed run has left.
    match std::fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        Ok(()) | Err(_) => {}
    }
    sqlite::create(&unfinished)?;
    let copied = copy(url, &unfinished).await;
    if copied.is_err() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&unfinished);
    }
    copied?;
    let file = File::open(&unfinished)?;
    file.sync_all()?;
    std::fs::rename(&unfinished, target)?;
    let folder = target.parent().filter(|folder| *folder != Path::new(""));
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(file.metadata()?.len())
}

fn unfinished(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".unfinished");
    name.into()
}

async fn copy(url: &str, to: &Path) -> Result<(), BackupError> {
    let options = sqlite::options(url, Settings::default().time_limit)?;
    let mut source = options.connect().await?;
    let name = to.to_string_lossy();
    sqlx::query("VACUUM INTO ?1").bind(name.as_ref()).execute(&mut source).await?;
    source.close().await?;
    let copy = SqliteConnectOptions::new().filename(to).read_only(true);
    let mut copy = copy.disable_statement_logging().connect().await?;
    let check = sqlx::query_scalar("PRAGMA integrity_check");
    let found: String = check.fetch_one(&mut copy).await?;
    copy.close().await?;
    if found == "ok" { Ok(()) } else { Err(BackupError::Unsound(found)) }
}
