//! What every HTTP listener of ours needs: problems, bodies, parameters, the context of a request and
//! its layer, limits, and the loop that serves connections. It knows no resource.

pub mod advice;
pub mod code;
pub mod lang;
pub mod problem;
pub mod problem_body;

pub mod body;
pub mod cursor;
pub mod incoming;
pub mod json_pointer;
pub mod params;
pub mod prefer;
pub mod reply;
pub mod unique_json;
pub mod violations;

pub mod connections;
pub mod origin;
mod outgoing;

pub mod health;
pub mod lifecycle;
pub mod limits;
pub mod prepared_refusal;
pub mod request_context;
pub mod request_layer;
mod request_meter;
