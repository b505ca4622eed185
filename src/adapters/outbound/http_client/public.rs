//! A client for destinations that strangers name: public addresses only, one answer, little of it read. It tells no
//! trace and keeps no URL, since neither is ours to pass on.

use super::build::{BuildError, USER_AGENT};
use super::destination::{Destination, DestinationRules};
use super::exchange::cause_of;
use super::resolver::PublicResolver;
use super::retry_after::retry_after;
use crate::core::domain::webhook::attempt::{Answer, AttemptError, ForbiddenDestination};
use http::HeaderMap;
use reqwest::{ClientBuilder, Response};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// What is kept of an answer's body, for whoever has to find out why it was one.
pub const EXCERPT_BYTES: usize = 1_024;

/// A connection is kept for what follows at once: with thousands of destinations each kept one is a file descriptor.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Shares its pool between all destinations, a connection each at most, and nothing else.
#[derive(Debug, Clone)]
pub struct PublicClient(reqwest::Client);

/// An answer, its body not read yet.
#[derive(Debug)]
pub struct PublicReply {
    pub answer: Answer,
    response: Response,
}

/// Builds the client. HTTP/1.1, no redirects (the address behind one was never judged), no proxy (it would resolve
/// names by itself), nothing unpacked (a small body could become a big one), no retries.
///
/// # Errors
/// No usable TLS roots on this system.
pub fn build_public(
    rules: Arc<DestinationRules>,
    connect_timeout: Duration,
) -> Result<PublicClient, BuildError> {
    built(PublicResolver::new(rules), connect_timeout, |builder| builder)
}

pub(super) fn built(
    resolver: PublicResolver,
    connect_timeout: Duration,
    also: fn(ClientBuilder) -> ClientBuilder,
) -> Result<PublicClient, BuildError> {
    let builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .http1_only()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .dns_resolver(Arc::new(resolver))
        .connect_timeout(connect_timeout)
        .pool_max_idle_per_host(1)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT);
    also(builder).build().map(PublicClient).map_err(BuildError::Client)
}

impl PublicClient {
    /// One attempt; how long it may take is the caller's to say.
    ///
    /// # Errors
    /// Why there is no answer; [`AttemptError::Forbidden`] when the name leads to no public address.
    pub async fn post(
        &self,
        to: &Destination,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<PublicReply, AttemptError> {
        let request = self.0.post(to.url().clone()).headers(headers).body(body);
        let response = request.send().await.map_err(|error| error_of(&error))?;
        let retry_after = retry_after(response.headers(), SystemTime::now());
        let answer = Answer { status: response.status().as_u16(), retry_after };
        Ok(PublicReply { answer, response })
    }
}

impl PublicReply {
    /// The beginning of the body, at most [`EXCERPT_BYTES`]; less where it broke off, and without what no database
    /// takes as text.
    pub async fn excerpt(mut self) -> String {
        let mut excerpt = Vec::new();
        while excerpt.len() < EXCERPT_BYTES {
            let Ok(Some(chunk)) = self.response.chunk().await else { break };
            let room = EXCERPT_BYTES - excerpt.len();
            excerpt.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
        String::from_utf8_lossy(&excerpt).replace('\0', "\u{fffd}")
    }
}

fn error_of(error: &reqwest::Error) -> AttemptError {
    forbidden(error).map_or_else(|| AttemptError::NoAnswer(cause_of(error).into()), Into::into)
}

/// What the resolver said, from under the libraries' layers.
fn forbidden(error: &reqwest::Error) -> Option<ForbiddenDestination> {
    let mut layer: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(this) = layer {
        if let Some(found) = this.downcast_ref() {
            return Some(*found);
        }
        layer = this.source();
    }
    None
}
