//! Finding an endpoint that is the caller's.

use crate::adapters::inbound::api::caller::WebhookOwner;
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::core::domain::ids::WebhookEndpointId;
use crate::core::ports::webhook_endpoints::WebhookEndpoint;
use crate::core::use_cases::manage_webhooks::ManageWebhooks;

pub(super) fn webhooks(app: &App) -> &ManageWebhooks {
    &app.use_cases.manage_webhooks
}

pub(super) fn found<T>(found: Option<T>) -> Result<T, Problem> {
    found.ok_or(Problem::new(Code::WebhookEndpointNotFound))
}

/// # Errors
/// `webhook_endpoint_not_found`: there is none of this id that is the caller's.
pub(super) async fn own(
    app: &App,
    owner: &WebhookOwner,
    id: WebhookEndpointId,
) -> Result<WebhookEndpoint, Problem> {
    found(webhooks(app).endpoints.endpoint(&owner.owner, id).await?)
}
