//! Endpoints and attempts as they are shown.

use crate::adapters::inbound::resources::wire::{TimestampBody, as_text, event_type_schema};
use crate::core::domain::ids::WebhookEndpointId;
use crate::core::ports::webhook_endpoints::{DisabledReason, WebhookEndpoint};
use crate::core::ports::webhooks::{Attempt, ShownKeys};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::{ArrayBuilder, RefOr, Schema};

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookEndpoint)]
pub struct EndpointBody {
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = Uuid)]
    id: WebhookEndpointId,
    #[schema(example = "https://shop.example/hooks/orders")]
    url: String,
    /// Of everything if it is empty.
    #[schema(schema_with = event_types_schema)]
    event_types: Vec<&'static str>,
    description: String,
    enabled: bool,
    /// `by_owner`, or `gone`: the receiver answered 410. Null while it is enabled.
    #[schema(required)]
    disabled_reason: Option<&'static str>,
    /// What a `v1a` signature is verified with (Ed25519).
    #[schema(example = "whpk_3J1mpmXHdtqX2vLNbHLrNRUGfJMxGV5TfTrbbLyn4bs=")]
    public_key: String,
    created_at: TimestampBody,
    updated_at: TimestampBody,
}

pub fn event_types_schema() -> RefOr<Schema> {
    ArrayBuilder::new().items(RefOr::T(event_type_schema())).into()
}

impl EndpointBody {
    pub(super) fn of(endpoint: &WebhookEndpoint, keys: Option<&ShownKeys>) -> Self {
        Self {
            id: endpoint.id,
            url: endpoint.url.clone(),
            event_types: endpoint.event_types.iter().map(|kind| kind.as_str()).collect(),
            description: endpoint.description.clone(),
            enabled: endpoint.disabled.is_none(),
            disabled_reason: endpoint.disabled.map(DisabledReason::as_str),
            public_key: keys.map(|keys| keys.public_key.clone()).unwrap_or_default(),
            created_at: TimestampBody(endpoint.created_at),
            updated_at: TimestampBody(endpoint.updated_at),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookEndpointWithSecret)]
pub struct EndpointWithSecretBody {
    #[serde(flatten)]
    endpoint: EndpointBody,
    /// What a `v1` signature is verified with (HMAC-SHA256), as the libraries of Standard Webhooks take it.
    #[schema(example = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD6XpVgTbR0dc=")]
    secret: String,
}

impl EndpointWithSecretBody {
    pub(super) fn of(endpoint: &WebhookEndpoint, keys: Option<ShownKeys>) -> Self {
        let endpoint = EndpointBody::of(endpoint, keys.as_ref());
        Self { endpoint, secret: keys.map(|keys| keys.secret).unwrap_or_default() }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookEndpointList)]
pub struct EndpointsBody {
    pub(super) items: Vec<EndpointBody>,
}

/// What came of an attempt.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookAttemptResult)]
pub struct AttemptResultBody {
    /// Whether the receiver answered with a 2xx.
    delivered: bool,
    /// Null when there was no answer.
    #[schema(required)]
    response_status: Option<u16>,
    /// Why there was no answer, in a word.
    #[schema(required)]
    error: Option<&'static str>,
    duration_ms: u64,
    /// The beginning of the answer's body: at most 1 KiB.
    response_excerpt: String,
}

impl AttemptResultBody {
    pub(super) fn of(attempt: Attempt) -> Self {
        let status = attempt.result.ok().map(|answer| answer.status);
        Self {
            delivered: status.is_some_and(|status| (200..300).contains(&status)),
            response_status: status,
            error: attempt.result.err().map(|error| error.as_str()),
            duration_ms: u64::try_from(attempt.took.as_millis()).unwrap_or(u64::MAX),
            response_excerpt: attempt.excerpt,
        }
    }
}
