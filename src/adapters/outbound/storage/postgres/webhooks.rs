//! Endpoints of webhooks, and what is brought to them.

use super::session::{AttemptError, Tx, Work};
use super::{PgStore, bind, micros, webhook_sql as sql};
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
use sqlx::SqlSafeStr;
use sqlx::postgres::PgArguments;
use std::time::Duration;

/// A statement with what is bound to it. Texts and whole numbers only, which the statement casts.
struct Statement(&'static str, PgArguments);

fn statement(sql: &'static str) -> Statement {
    Statement(sql, PgArguments::default())
}

impl Statement {
    fn bind<T>(mut self, value: T) -> Self
    where
        T: for<'q> sqlx::Encode<'q, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
    {
        bind(&mut self.1, value);
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
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, AttemptError> {
        let query = sqlx::query_with(self.0.0, self.0.1.clone());
        Ok(query.execute(&mut *tx.connection).await?.rows_affected())
    }
}

impl PgStore {
    async fn execute(&self, statement: Statement) -> Result<u64, StorageError> {
        self.run(Execute(statement)).await
    }

    async fn texts(&self, statement: Statement) -> Result<Vec<String>, StorageError> {
        self.rows(statement.0.into_sql_str(), statement.1).await
    }

    async fn endpoints_of(
        &self,
        owner: &str,
        only: Option<WebhookEndpointId>,
    ) -> Result<Vec<WebhookEndpoint>, StorageError> {
        let only = only.map(|id| id.to_string());
        let rows = self.texts(statement(sql::ENDPOINTS).bind(owner.to_owned()).bind(only)).await?;
        read_endpoints(&rows)
    }
}

fn read_endpoints(rows: &[String]) -> Result<Vec<WebhookEndpoint>, StorageError> {
    read_all::<EndpointRow, _>(rows)?.into_iter().map(EndpointRow::restore).collect()
}

fn read_deliveries(rows: &[String]) -> Result<Vec<WebhookDelivery>, StorageError> {
    read_all::<DeliveryRow, _>(rows)?.into_iter().map(DeliveryRow::restore).collect()
}

#[async_trait::async_trait]
impl WebhookEndpoints for PgStore {
    async fn add_endpoint(
        &self,
        endpoint: &WebhookEndpoint,
        most: usize,
    ) -> Result<Option<WebhookEndpoint>, StorageError> {
        self.give_positions().await?;
        if self.run(Add { endpoint: endpoint.clone(), most }).await? == 0 {
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
        if change.disabled == Some(None) {
            self.give_positions().await?;
        }
        let disabled = change.disabled.flatten().map(|reason| reason.as_str().to_owned());
        let update = statement(sql::CHANGE)
            .bind(owner.to_owned())
            .bind(id.to_string())
            .bind(change.url.clone())
            .bind(change.event_types.as_deref().map(event_types_json))
            .bind(change.description.as_deref().map(clean))
            .bind(change.disabled.is_some())
            .bind(disabled)
            .bind(change.keys.as_deref().map(keys_json))
            .bind(self.now());
        self.execute(update).await?;
        self.endpoint(owner, id).await
    }

    async fn remove_endpoint(
        &self,
        owner: &str,
        id: WebhookEndpointId,
    ) -> Result<bool, StorageError> {
        let remove = statement(sql::REMOVE).bind(owner.to_owned()).bind(id.to_string());
        Ok(self.execute(remove).await? > 0)
    }

    async fn deliveries(
        &self,
        endpoint: WebhookEndpointId,
        query: &DeliveryQuery,
    ) -> Result<Vec<WebhookDelivery>, StorageError> {
        let rows = statement(sql::DELIVERIES)
            .bind(endpoint.to_string())
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
        self.give_positions().await?;
        let to = endpoint.to_string();
        let again = match what {
            Redelivery::Event(event) => statement(sql::REDELIVER_EVENT)
                .bind(to)
                .bind(event.order.to_string())
                .bind(i64::try_from(event.sequence).unwrap_or(i64::MAX))
                .bind(self.now()),
            Redelivery::FailedSince(moment) => statement(sql::REDELIVER_FAILED)
                .bind(to)
                .bind(moment.micros())
                .bind(self.now())
                .bind(count(limit)),
            Redelivery::AllSince(moment) => statement(sql::REDELIVER_ALL)
                .bind(to)
                .bind(moment.micros())
                .bind(self.now())
                .bind(count(limit)),
        };
        let again = self.execute(again).await?;
        // After the deliveries are committed: a lease that ends in between counts them itself.
        let due = statement(sql::DUE_NOW).bind(vec![endpoint.to_string()]).bind(self.now());
        self.execute(due).await?;
        Ok(again)
    }
}

#[async_trait::async_trait]
impl WebhookQueue for PgStore {
    async fn fan_out(&self, limit: usize) -> Result<u64, StorageError> {
        let wanted =
            statement("SELECT 'yes' FROM webhook_endpoints WHERE disabled IS NULL LIMIT 1");
        if self.texts(wanted).await?.is_empty() {
            return Ok(0);
        }
        self.give_positions().await?;
        self.run(FanOut { limit }).await
    }

    async fn claim_endpoints(
        &self,
        token: LeaseToken,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<WebhookEndpoint>, StorageError> {
        let claim = statement(sql::CLAIM)
            .bind(token.uuid().to_string())
            .bind(micros(lease))
            .bind(self.now())
            .bind(count(limit));
        read_endpoints(&self.texts(claim).await?)
    }

    async fn due_deliveries(
        &self,
        endpoint: WebhookEndpointId,
        limit: usize,
    ) -> Result<Vec<WebhookDelivery>, StorageError> {
        let due =
            statement(sql::DUE).bind(endpoint.to_string()).bind(self.now()).bind(count(limit));
        read_deliveries(&self.texts(due).await?)
    }

    async fn record_attempt(
        &self,
        (endpoint, token): (WebhookEndpointId, LeaseToken),
        delivery: i64,
        step: &DeliveryStep,
    ) -> Result<bool, StorageError> {
        let record = statement(sql::RECORD)
            .bind(endpoint.to_string())
            .bind(token.uuid().to_string())
            .bind(delivery)
            .bind(step.state.as_str().to_owned())
            .bind(i64::from(step.attempts))
            .bind(micros(step.due_in))
            .bind(self.now())
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
            .bind(endpoint.to_string())
            .bind(token.uuid().to_string())
            .bind(micros(pause))
            .bind(disable.map(|reason| reason.as_str().to_owned()))
            .bind(self.now());
        self.execute(release).await.map(drop)
    }

    async fn webhook_stats(&self) -> Result<WebhookStats, StorageError> {
        let rows = self.texts(statement(sql::STATS)).await?;
        let row = rows.first().ok_or(StorageError::Unavailable)?;
        read::<WebhookStatsRow>(row).map(WebhookStatsRow::restore)
    }
}

struct Add {
    endpoint: WebhookEndpoint,
    most: usize,
}

#[async_trait::async_trait]
impl Work for Add {
    type Output = u64;
    const TRANSACTION: bool = true;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, AttemptError> {
        let endpoint = &self.endpoint;
        sqlx::query(sql::LOCK_OWNER).bind(&endpoint.owner).execute(&mut *tx.connection).await?;
        let added = sqlx::query(sql::ADD)
            .bind(endpoint.id.to_string())
            .bind(&endpoint.owner)
            .bind(customer_of(&endpoint.scope))
            .bind(&endpoint.url)
            .bind(event_types_json(&endpoint.event_types))
            .bind(clean(&endpoint.description))
            .bind(keys_json(&endpoint.keys))
            .bind(tx.now)
            .bind(count(self.most));
        Ok(added.execute(&mut *tx.connection).await?.rows_affected())
    }
}

/// Makes deliveries of what comes after the cursor.
struct FanOut {
    limit: usize,
}

#[async_trait::async_trait]
impl Work for FanOut {
    type Output = u64;
    const TRANSACTION: bool = true;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, AttemptError> {
        let cursor: Option<i64> =
            sqlx::query_scalar(sql::CURSOR).fetch_optional(&mut *tx.connection).await?;
        let wanted: Option<i64> =
            sqlx::query_scalar(sql::WANTED).fetch_one(&mut *tx.connection).await?;
        let (Some(cursor), Some(wanted)) = (cursor, wanted) else { return Ok(0) };
        let from = cursor.max(wanted);
        let (upto, events): (i64, i64) = sqlx::query_as(sql::NEXT_EVENTS)
            .bind(from)
            .bind(count(self.limit))
            .fetch_one(&mut *tx.connection)
            .await?;
        if upto == cursor {
            return Ok(0);
        }
        let mut endpoints: Vec<String> = sqlx::query_scalar(sql::FAN_OUT)
            .bind(from)
            .bind(upto)
            .bind(tx.now)
            .fetch_all(&mut *tx.connection)
            .await?;
        endpoints.sort_unstable();
        endpoints.dedup();
        if !endpoints.is_empty() {
            let due = sqlx::query(sql::DUE_NOW).bind(endpoints).bind(tx.now);
            due.execute(&mut *tx.connection).await?;
        }
        sqlx::query(sql::MOVE_CURSOR).bind(upto).execute(&mut *tx.connection).await?;
        Ok(events.try_into().unwrap_or(0))
    }
}
