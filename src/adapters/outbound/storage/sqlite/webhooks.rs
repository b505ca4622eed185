//! Endpoints of webhooks, and what is brought to them.

use super::writer::{Tx, Work, WriteError};
use super::{SqliteStore, blob, webhook_sql as sql};
use crate::adapters::outbound::storage::rows::{
    DeliveryRow, EndpointRow, WebhookStatsRow, attempt_json, clean, customer_of, event_types_json,
    keys_json, read, read_all,
};
use crate::core::domain::ids::{LeaseToken, WebhookEndpointId};
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::webhook_endpoints::{
    DeliveryQuery, DeliveryStep, DisabledReason, EndpointChange, Redelivery, WebhookDelivery,
    WebhookEndpoint, WebhookEndpoints, WebhookQueue, WebhookStats,
};
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments, SqlSafeStr, SqlStr};
use std::time::Duration;

/// A statement with what is bound to it.
struct Statement(SqlStr, SqliteArguments);

fn statement(sql: &'static str) -> Statement {
    Statement(sql.into_sql_str(), SqliteArguments::default())
}

impl Statement {
    fn bind<T>(mut self, value: T) -> Self
    where
        T: for<'q> sqlx::Encode<'q, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
    {
        self.1.add(value).expect("texts, blobs and whole numbers can always be encoded");
        self
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Runs one statement; how many rows it changed.
struct Execute(Statement);

#[async_trait::async_trait]
impl Work for Execute {
    type Output = u64;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, WriteError> {
        let query = sqlx::query_with(self.0.0.clone(), self.0.1.clone());
        Ok(query.execute(&mut *tx.connection).await?.rows_affected())
    }
}

impl SqliteStore {
    async fn execute(&self, statement: Statement) -> Result<u64, StorageError> {
        self.write(Execute(statement)).await
    }

    async fn texts(&self, statement: Statement) -> Result<Vec<String>, StorageError> {
        let rows = sqlx::query_scalar_with::<_, String, _>(statement.0, statement.1);
        self.read(async |mut reader| rows.fetch_all(&mut *reader).await).await
    }

    fn micros_now(&self) -> i64 {
        self.clock.now().micros()
    }

    async fn endpoints_of(
        &self,
        owner: &str,
        only: Option<WebhookEndpointId>,
    ) -> Result<Vec<WebhookEndpoint>, StorageError> {
        let only = only.map(|id| blob(id.uuid()));
        let rows = self.texts(statement(sql::ENDPOINTS).bind(owner.to_owned()).bind(only)).await?;
        read_all::<EndpointRow, _>(&rows)?.into_iter().map(EndpointRow::restore).collect()
    }
}

#[async_trait::async_trait]
impl WebhookEndpoints for SqliteStore {
    async fn add_endpoint(
        &self,
        endpoint: &WebhookEndpoint,
        most: usize,
    ) -> Result<Option<WebhookEndpoint>, StorageError> {
        let add = statement(sql::ADD)
            .bind(blob(endpoint.id.uuid()))
            .bind(endpoint.owner.clone())
            .bind(customer_of(&endpoint.scope).to_owned())
            .bind(endpoint.url.clone())
            .bind(event_types_json(&endpoint.event_types))
            .bind(clean(&endpoint.description))
            .bind(keys_json(&endpoint.keys))
            .bind(self.micros_now())
            .bind(count(most));
        if self.execute(add).await? == 0 {
            return Ok(None);
        }
        self.endpoint(&endpoint.owner, endpoint.id).await
    }

    async fn endpoints(&self, owner: &str) -> Result<Vec<WebhookEndpoint>, StorageError> {
        self.endpoints_of(owner, None).await
    }

    async fn endpoint(
        &self,
        owner: &str,
        id: WebhookEndpointId,
    ) -> Result<Option<WebhookEndpoint>, StorageError> {
        Ok(self.endpoints_of(owner, Some(id)).await?.pop())
    }

    async fn change_endpoint(
        &self,
        owner: &str,
        id: WebhookEndpointId,
        change: &EndpointChange,
    ) -> Result<Option<WebhookEndpoint>, StorageError> {
        let disabled = change.disabled.flatten().map(|reason| reason.as_str().to_owned());
        let update = statement(sql::CHANGE)
            .bind(owner.to_owned())
            .bind(blob(id.uuid()))
            .bind(change.url.clone())
            .bind(change.event_types.as_deref().map(event_types_json))
            .bind(change.description.as_deref().map(clean))
            .bind(change.disabled.is_some())
            .bind(disabled)
            .bind(change.keys.as_deref().map(keys_json))
            .bind(self.micros_now());
        self.execute(update).await?;
        self.endpoint(owner, id).await
    }

    async fn remove_endpoint(
        &self,
        owner: &str,
        id: WebhookEndpointId,
    ) -> Result<bool, StorageError> {
        let remove = statement(sql::REMOVE).bind(owner.to_owned()).bind(blob(id.uuid()));
        Ok(self.execute(remove).await? > 0)
    }

    async fn deliveries(
        &self,
        endpoint: WebhookEndpointId,
        query: &DeliveryQuery,
    ) -> Result<Vec<WebhookDelivery>, StorageError> {
        let rows = statement(sql::DELIVERIES)
            .bind(blob(endpoint.uuid()))
            .bind(query.state.map(|state| state.as_str().to_owned()))
            .bind(query.before)
            .bind(count(query.limit));
        read_deliveries(&self.texts(rows).await?)
    }

    async fn redeliver(
        &self,
        endpoint: WebhookEndpointId,
        what: Redelivery,
        limit: usize,
    ) -> Result<u64, StorageError> {
        self.write(Redeliver { endpoint, what, limit }).await
    }
}

fn read_deliveries(rows: &[String]) -> Result<Vec<WebhookDelivery>, StorageError> {
    read_all::<DeliveryRow, _>(rows)?.into_iter().map(DeliveryRow::restore).collect()
}

#[async_trait::async_trait]
impl WebhookQueue for SqliteStore {
    async fn fan_out(&self, limit: usize) -> Result<u64, StorageError> {
        // A look costs the writer nothing.
        if self.texts(statement(sql::ANY_ENABLED)).await?.is_empty() {
            return Ok(0);
        }
        self.write(FanOut { limit }).await
    }

    async fn claim_endpoints(
        &self,
        token: LeaseToken,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<WebhookEndpoint>, StorageError> {
        let now = self.clock.now();
        if self.texts(statement(sql::ANY_DUE).bind(now.micros())).await?.is_empty() {
            return Ok(Vec::new());
        }
        let claim = statement(sql::CLAIM)
            .bind(blob(token.uuid()))
            .bind((now + lease).micros())
            .bind(now.micros())
            .bind(count(limit));
        if self.execute(claim).await? == 0 {
            return Ok(Vec::new());
        }
        let rows = self.texts(statement(sql::CLAIMED).bind(blob(token.uuid()))).await?;
        read_all::<EndpointRow, _>(&rows)?.into_iter().map(EndpointRow::restore).collect()
    }

    async fn due_deliveries(
        &self,
        endpoint: WebhookEndpointId,
        limit: usize,
    ) -> Result<Vec<WebhookDelivery>, StorageError> {
        let due = statement(sql::DUE)
            .bind(blob(endpoint.uuid()))
            .bind(self.micros_now())
            .bind(count(limit));
        read_deliveries(&self.texts(due).await?)
    }

    async fn record_attempt(
        &self,
        (endpoint, token): (WebhookEndpointId, LeaseToken),
        delivery: i64,
        step: &DeliveryStep,
    ) -> Result<bool, StorageError> {
        let now = self.clock.now();
        let record = statement(sql::RECORD)
            .bind(blob(endpoint.uuid()))
            .bind(blob(token.uuid()))
            .bind(delivery)
            .bind(step.state.as_str().to_owned())
            .bind(i64::from(step.attempts))
            .bind((now + step.due_in).micros())
            .bind(now.micros())
            .bind(step.attempt.as_ref().map(attempt_json));
        Ok(self.execute(record).await? > 0)
    }

    async fn release_endpoint(
        &self,
        (endpoint, token): (WebhookEndpointId, LeaseToken),
        pause: Duration,
        disable: Option<DisabledReason>,
    ) -> Result<(), StorageError> {
        let release = statement(sql::RELEASE)
            .bind(blob(endpoint.uuid()))
            .bind(blob(token.uuid()))
            .bind((self.clock.now() + pause).micros())
            .bind(disable.map(|reason| reason.as_str().to_owned()));
        self.execute(release).await.map(drop)
    }

    async fn webhook_stats(&self) -> Result<WebhookStats, StorageError> {
        let rows = self.texts(statement(sql::STATS)).await?;
        let row = rows.first().ok_or(StorageError::Unavailable)?;
        read::<WebhookStatsRow>(row).map(WebhookStatsRow::restore)
    }
}

/// Makes deliveries of what comes after the cursor.
struct FanOut {
    limit: usize,
}

#[async_trait::async_trait]
impl Work for FanOut {
    type Output = u64;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, WriteError> {
        let now = tx.now.micros();
        let (cursor, wanted): (i64, Option<i64>) =
            sqlx::query_as(sql::CURSOR).fetch_one(&mut *tx.connection).await?;
        // Nobody wants to be told: who comes later is told of what comes later.
        let Some(wanted) = wanted else { return Ok(0) };
        let from = cursor.max(wanted);
        let (upto, events): (i64, i64) = sqlx::query_as(sql::NEXT_EVENTS)
            .bind(from)
            .bind(count(self.limit))
            .fetch_one(&mut *tx.connection)
            .await?;
        if upto == cursor {
            return Ok(0);
        }
        let mut endpoints: Vec<Vec<u8>> = sqlx::query_scalar(sql::FAN_OUT)
            .bind(from)
            .bind(upto)
            .bind(now)
            .fetch_all(&mut *tx.connection)
            .await?;
        endpoints.sort_unstable();
        endpoints.dedup();
        for endpoint in endpoints {
            due_now(tx, endpoint).await?;
        }
        sqlx::query(sql::MOVE_CURSOR).bind(upto).execute(&mut *tx.connection).await?;
        Ok(events.try_into().unwrap_or(0))
    }
}

async fn due_now(tx: &mut Tx<'_>, endpoint: Vec<u8>) -> Result<(), WriteError> {
    let due = sqlx::query(sql::DUE_NOW).bind(endpoint).bind(tx.now.micros());
    due.execute(&mut *tx.connection).await?;
    Ok(())
}

struct Redeliver {
    endpoint: WebhookEndpointId,
    what: Redelivery,
    limit: usize,
}

#[async_trait::async_trait]
impl Work for Redeliver {
    type Output = u64;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, WriteError> {
        let (endpoint, now) = (blob(self.endpoint.uuid()), tx.now.micros());
        let (sql, moment) = match self.what {
            Redelivery::Event(event) => {
                let again = sqlx::query(sql::REDELIVER_EVENT)
                    .bind(endpoint.clone())
                    .bind(blob(event.order.uuid()))
                    .bind(i64::try_from(event.sequence).unwrap_or(i64::MAX))
                    .bind(now);
                let again = again.execute(&mut *tx.connection).await?.rows_affected();
                due_now(tx, endpoint).await?;
                return Ok(again);
            }
            Redelivery::FailedSince(moment) => (sql::REDELIVER_FAILED, moment),
            Redelivery::AllSince(moment) => (sql::REDELIVER_ALL, moment),
        };
        let again = sqlx::query(sql)
            .bind(endpoint.clone())
            .bind(moment.micros())
            .bind(now)
            .bind(count(self.limit));
        let again = again.execute(&mut *tx.connection).await?.rows_affected();
        due_now(tx, endpoint).await?;
        Ok(again)
    }
}
