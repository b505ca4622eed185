//! The schema, carried in the binary. Any number of instances may start at once: one migrates, under
//! a lock of the database, and the others wait and find it done.

use super::settings::{ConnectError, Dialect, Settings};
use super::{postgres, sqlite};
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{ConnectOptions, Connection, Executor, PgConnection, SqlSafeStr};
use std::time::Duration;

macro_rules! migrations {
    ($dialect:literal) => {
        migrations!($dialect; 1 "0001" "orders", 2 "0002" "registrations", 3 "0003" "tasks",
            4 "0004" "callbacks", 5 "0005" "idempotency_keys", 6 "0006" "audit", 7 "0007" "routine",
            8 "0008" "refunds", 9 "0009" "looking_again", 10 "0010" "persons",
            11 "0011" "callbacks_counted", 13 "0013" "order_records", 15 "0015" "cancel_requested", 16 "0016" "changed_orders",
            17 "0017" "queue_length",
            18 "0018" "upkeep",
            20 "0020" "events",
            21 "0021" "webhooks",
            23 "0023" "order_details",
            24 "0024" "external_ids",
            25 "0025" "buyers",
            27 "0027" "service_mode",
            32 "0032" "archived_orders")
    };
    ($dialect:literal; $($version:literal $file:literal $name:literal),+) => {
        migrator(vec![$(migration($version, $name, include_str!(concat!(
            "../../../../migrations/", $dialect, "/", $file, "_", $name, ".sql"
        )))),+])
    };
}

/// Brings the database to the schema of this version; a new SQLite file is made.
///
/// # Errors
/// An unknown scheme, no connection, or a database that another version has brought elsewhere.
pub async fn migrate(url: &str) -> Result<(), ConnectError> {
    match Dialect::of(url)? {
        Dialect::Sqlite => migrate_sqlite(url).await,
        Dialect::Postgres => migrate_postgres(url).await,
    }
}

const APPLIED: &str = "SELECT version FROM _sqlx_migrations WHERE success";

/// Whether the schema is at least this version's; changes nothing.
///
/// # Errors
/// An unknown scheme, no connection, no schema, or one that lacks a migration.
pub async fn check_schema(url: &str) -> Result<(), ConnectError> {
    let (carried, applied): (_, Vec<i64>) = match Dialect::of(url)? {
        Dialect::Sqlite => {
            let mut connection =
                sqlite::options(url, Settings::default().time_limit)?.connect().await?;
            let applied = sqlx::query_scalar(APPLIED).fetch_all(&mut connection).await?;
            connection.close().await?;
            (migrations!("sqlite"), applied)
        }
        Dialect::Postgres => {
            let mut connection = postgres::options(url)?.connect().await?;
            let applied = sqlx::query_scalar(APPLIED).fetch_all(&mut connection).await?;
            connection.close().await?;
            (migrations!("postgres"), applied)
        }
    };
    let lacks = carried.iter().map(|it| it.version).find(|version| !applied.contains(version));
    lacks.map_or(Ok(()), |version| Err(ConnectError::Behind(version)))
}

/// SQLite has no advisory locks: the whole run is one exclusive transaction.
async fn migrate_sqlite(url: &str) -> Result<(), ConnectError> {
    let options = sqlite::options(url, Settings::default().time_limit)?;
    sqlite::create(options.get_filename())?;
    let mut connection = sqlite::connect_patiently(&options).await?;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    migrations!("sqlite").run_direct(None, &mut *transaction, false).await?;
    transaction.commit().await?;
    connection.close().await?;
    Ok(())
}

/// Whoever comes second waits for the first one's lock. Not with sqlx's own wait: that is a statement with
/// a snapshot, for whose end an index which is built beside the traffic would wait in turn.
async fn migrate_postgres(url: &str) -> Result<(), ConnectError> {
    let mut connection = postgres::options(url)?.connect().await?;
    connection.execute("SET lock_timeout = '2s'").await?;
    lock_migrations(&mut connection).await?;
    let mut migrator = migrations!("postgres");
    migrator.set_locking(false);
    for attempt in 1.. {
        match migrator.run_direct(None, &mut connection, false).await {
            Err(error) if attempt < ATTEMPTS && is_lock_timeout(&error) => {
                tracing::warn!(attempt, "a migration waits for a table that somebody holds");
                tokio::time::sleep(PAUSE).await;
            }
            ended => {
                ended?;
                break;
            }
        }
    }
    connection.close().await?;
    Ok(())
}

/// Whoever migrates; let go of with the connection.
const TRY_LOCK: &str = "SELECT pg_try_advisory_lock(7305437184123790966)";

async fn lock_migrations(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let mut told = false;
    while !sqlx::query_scalar::<_, bool>(TRY_LOCK).fetch_one(&mut *connection).await? {
        if !told {
            tracing::info!("another instance migrates the database: waiting for it");
            told = true;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// A migration that waits for a table makes everybody else wait behind it: it gives up soon, and tries
/// again.
const ATTEMPTS: u32 = 30;
const PAUSE: Duration = Duration::from_millis(250);

fn is_lock_timeout(error: &MigrateError) -> bool {
    let (MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) = error else {
        return false;
    };
    error.as_database_error().is_some_and(|told| told.code().as_deref() == Some("55P03"))
}

/// Outside a transaction where its first line says so: for an index that is built beside the traffic.
fn migration(version: i64, name: &'static str, sql: &'static str) -> Migration {
    let outside = sql.starts_with("-- no-transaction");
    Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), outside)
}

/// A newer version may have been here first and left again: migrations only add, so this one works.
fn migrator(migrations: Vec<Migration>) -> Migrator {
    let mut migrator = Migrator::with_migrations(migrations);
    migrator.set_ignore_missing(true);
    migrator
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_migration_of_the_folders_is_carried_in_the_binary() {
        for (folder, carried) in
            [("sqlite", migrations!("sqlite")), ("postgres", migrations!("postgres"))]
        {
            let carried: Vec<_> = carried
                .iter()
                .map(|it| format!("{:04}_{}.sql", it.version, it.description))
                .collect();
            let files = std::fs::read_dir(format!("migrations/{folder}")).unwrap();
            let mut files: Vec<_> =
                files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
            files.sort();
            assert_eq!(files, carried);
        }
    }
}
