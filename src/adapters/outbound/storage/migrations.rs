//! The schema, carried in the binary. Any number of instances may start at once: one migrates, under
//! a lock of the database, and the others wait and find it done.

use super::{ConnectError, Dialect, Settings, postgres, sqlite};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{ConnectOptions, Connection, SqlSafeStr};

macro_rules! migrations {
    ($dialect:literal) => {
        migrations!($dialect; 1 "0001" "orders", 2 "0002" "registrations", 3 "0003" "tasks",
            4 "0004" "callbacks", 5 "0005" "idempotency_keys", 6 "0006" "audit", 7 "0007" "routine",
            8 "0008" "refunds", 9 "0009" "looking_again", 10 "0010" "persons",
            11 "0011" "callbacks_counted", 13 "0013" "order_records", 15 "0015" "cancel_requested", 16 "0016" "changed_orders",
            17 "0017" "queue_length")
    };
    ($dialect:literal; $($version:literal $file:literal $name:literal),+) => {
        migrator(vec![$(Migration::new(
            $version,
            $name.into(),
            MigrationType::Simple,
            include_str!(concat!(
                "../../../../migrations/", $dialect, "/", $file, "_", $name, ".sql"
            ))
            .into_sql_str(),
            false,
        )),+])
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

/// SQLite has no advisory locks: the whole run is one exclusive transaction.
async fn migrate_sqlite(url: &str) -> Result<(), ConnectError> {
    let options = sqlite::options(url, Settings::default().time_limit)?;
    let mut connection = options.connect().await?;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    migrations!("sqlite").run_direct(None, &mut *transaction, false).await?;
    transaction.commit().await?;
    connection.close().await?;
    Ok(())
}

/// Without the store's time limits: whoever comes second waits for the first one's advisory lock.
async fn migrate_postgres(url: &str) -> Result<(), ConnectError> {
    let mut connection = postgres::options(url)?.connect().await?;
    migrations!("postgres").run_direct(None, &mut connection, false).await?;
    connection.close().await?;
    Ok(())
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
