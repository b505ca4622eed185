//! What a shop says of an endpoint, read with all that is wrong with it at once.

use super::body::event_types_schema;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::core::domain::webhook::attempt::ForbiddenDestination;
use crate::core::payment::order_event::OrderEvent;
use crate::core::ports::webhook_endpoints::{DisabledReason, EndpointChange};
use crate::core::use_cases::manage_webhooks::OVERLAP;
use serde_json::Value;
use std::time::Duration;
use utoipa::ToSchema;

const LONGEST_DESCRIPTION: usize = 255;
const LONGEST_OVERLAP: u64 = 7 * 24 * 3600;

const BAD_TYPE: Text = Text::new("is no type of event that is told", "не является типом события");
const BAD_DESCRIPTION: Text =
    Text::new("must have at most 255 characters", "должно быть не длиннее 255 символов");
const NOT_A_BOOLEAN: Text = Text::new("must be true or false", "должно быть true или false");
const BAD_OVERLAP: Text = Text::new(
    "must be a whole number of seconds, 0 to 604800",
    "должно быть целым числом секунд, от 0 до 604800",
);

/// Judges an address.
pub(super) type Judge<'a> = &'a dyn Fn(&str) -> Result<(), ForbiddenDestination>;

/// Where a shop wants to be told.
#[expect(dead_code, reason = "only its schema is used: bodies are read by hand")]
#[derive(Debug, ToSchema)]
#[schema(as = NewWebhookEndpoint)]
pub struct NewEndpointBody {
    /// `https`, at a public address, without credentials and fragment. At most 2,048 bytes.
    #[schema(max_length = 2048, example = "https://shop.example/hooks/orders")]
    url: String,
    /// Of everything if it is left out or empty.
    #[schema(schema_with = event_types_schema, required = false)]
    event_types: Vec<String>,
    /// For people.
    #[schema(max_length = 255, required = false, example = "accounting")]
    description: String,
}

/// What changes of it; what is left out stays.
#[expect(dead_code, reason = "only its schema is used: bodies are read by hand")]
#[derive(Debug, ToSchema)]
#[schema(as = WebhookEndpointChange)]
pub struct EndpointChangeBody {
    #[schema(max_length = 2048, required = false, example = "https://shop.example/hooks/orders")]
    url: String,
    #[schema(schema_with = event_types_schema, required = false)]
    event_types: Vec<String>,
    #[schema(max_length = 255, required = false, example = "accounting")]
    description: String,
    #[schema(required = false, example = false)]
    enabled: bool,
}

#[expect(dead_code, reason = "only its schema is used: bodies are read by hand")]
#[derive(Debug, ToSchema)]
#[schema(as = WebhookSecretRotation)]
pub struct RotationBody {
    /// For so many seconds the old secret signs, too; a day when left out.
    #[schema(minimum = 0, maximum = 604_800, required = false, example = 86_400)]
    overlap: u32,
}

#[derive(Debug)]
pub(super) struct EndpointRequest {
    pub(super) url: String,
    pub(super) event_types: Vec<OrderEvent>,
    pub(super) description: String,
}

const MEMBERS: [&str; 3] = ["url", "event_types", "description"];

pub(super) fn read(body: &Value, judge: Judge<'_>) -> Result<EndpointRequest, Problem> {
    let mut violations = Violations::default();
    let root = JsonPointer::Root;
    let request = violations.object(body, root, &MEMBERS).and_then(|members| {
        let url = violations.member(members, root, "url");
        let url = url.and_then(|value| url_of(value, judge, &mut violations));
        let types = members.get("event_types").map(|value| types_of(value, &mut violations));
        let about = members.get("description").map(|value| description_of(value, &mut violations));
        Some(EndpointRequest {
            url: url?,
            event_types: types.unwrap_or_default(),
            description: about.flatten().unwrap_or_default(),
        })
    });
    violations.into_result(request)
}

pub(super) fn read_change(body: &Value, judge: Judge<'_>) -> Result<EndpointChange, Problem> {
    let mut violations = Violations::default();
    let root = JsonPointer::Root;
    let known = [&MEMBERS[..], &["enabled"]].concat();
    let change = violations.object(body, root, &known).map(|members| {
        let url = members.get("url").and_then(|value| url_of(value, judge, &mut violations));
        let types = members.get("event_types").map(|value| types_of(value, &mut violations));
        let about = members.get("description");
        let about = about.and_then(|value| description_of(value, &mut violations));
        let enabled = members.get("enabled").and_then(|value| {
            violations.parsed(value.as_bool(), root.member("enabled"), NOT_A_BOOLEAN)
        });
        let disabled = enabled.map(|enabled| (!enabled).then_some(DisabledReason::ByOwner));
        EndpointChange { url, event_types: types, description: about, disabled, keys: None }
    });
    violations.into_result(change)
}

pub(super) fn read_overlap(body: &Value) -> Result<Duration, Problem> {
    let mut violations = Violations::default();
    let root = JsonPointer::Root;
    let overlap = violations.object(body, root, &["overlap"]).and_then(|members| {
        let Some(value) = members.get("overlap") else { return Some(OVERLAP) };
        let seconds = value.as_u64().filter(|seconds| *seconds <= LONGEST_OVERLAP);
        violations.parsed(seconds, root.member("overlap"), BAD_OVERLAP).map(Duration::from_secs)
    });
    violations.into_result(overlap)
}

fn url_of(value: &Value, judge: Judge<'_>, violations: &mut Violations) -> Option<String> {
    let at = JsonPointer::Root.member("url");
    let url = violations.string(value, at)?;
    if let Err(why) = judge(url) {
        violations.add(at, forbidden(why));
        return None;
    }
    Some(url.to_owned())
}

const fn forbidden(why: ForbiddenDestination) -> Text {
    match why {
        ForbiddenDestination::NotAUrl => Text::new("must be a URL", "должно быть URL"),
        ForbiddenDestination::NotHttps => Text::new("must be https", "должно быть https"),
        ForbiddenDestination::Credentials => {
            Text::new("must hold no credentials", "не должно содержать логин и пароль")
        }
        ForbiddenDestination::Fragment => {
            Text::new("must have no fragment", "не должно содержать фрагмент")
        }
        ForbiddenDestination::NotPublic => {
            Text::new("must be at a public address", "должно вести на публичный адрес")
        }
    }
}

fn types_of(value: &Value, violations: &mut Violations) -> Vec<OrderEvent> {
    let at = JsonPointer::Root.member("event_types");
    let mut types = Vec::new();
    for (index, word) in violations.array(value, at).unwrap_or_default().iter().enumerate() {
        let kind = word.as_str().and_then(OrderEvent::parse);
        if let Some(kind) = violations.parsed(kind, at.element(index), BAD_TYPE)
            && !types.contains(&kind)
        {
            types.push(kind);
        }
    }
    types
}

fn description_of(value: &Value, violations: &mut Violations) -> Option<String> {
    let at = JsonPointer::Root.member("description");
    let text = violations.string(value, at)?;
    let fits = text.chars().count() <= LONGEST_DESCRIPTION;
    violations.parsed(fits.then(|| text.to_owned()), at, BAD_DESCRIPTION)
}
