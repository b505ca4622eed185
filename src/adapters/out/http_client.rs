//! HTTP as every vendor's adapter needs it: a client with limits on everything, and exchanges whose
//! failures are told in the core's words. Knows TCP, TLS and HTTP, and no vendor.

use crate::adapters::resilience::settings::Fault;
use crate::core::ports::trace::TraceParent;
use crate::core::ports::unavailable::Cause;
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use reqwest::{Certificate, RequestBuilder, Response};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tracing::Instrument;
use tracing::field::Empty;

pub use reqwest::{Client, Url};

/// No partner has a reason to say more; a longer answer is not read to its end.
pub const MAX_BODY_BYTES: usize = 256 * 1024;

/// A partner that asks for more is asked again after this all the same.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(3600);

const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// What a partner's client is built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpConfig {
    /// Where the partner lives, with its path; ends in a slash (see [`base_url`]).
    pub base_url: Url,
    pub connect_timeout: Duration,
    /// The longest silence while reading.
    pub read_timeout: Duration,
    /// Of the adapter's semaphore: the pool keeps a quarter more.
    pub max_concurrent: u32,
    /// PEM roots that this client trusts beside the system's.
    pub ca_file: Option<PathBuf>,
}

/// Why an adapter cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("guards that cannot be: {}", named(.0))]
    Guards(Vec<Fault>),
    #[error("cannot read the CA file {path}")]
    CaFile { path: PathBuf, source: std::io::Error },
    #[error("the CA file {path} holds no certificate")]
    NoCertificate { path: PathBuf },
    #[error("the HTTP client cannot be built")]
    Client(#[source] reqwest::Error),
}

impl From<Vec<Fault>> for BuildError {
    fn from(faults: Vec<Fault>) -> Self {
        Self::Guards(faults)
    }
}

fn named(faults: &[Fault]) -> String {
    faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("; ")
}

/// Reads a base URL as people write it, with or without the slash at its end.
///
/// # Errors
/// What is wrong with it, for the one message about the configuration.
pub fn base_url(text: &str) -> Result<Url, &'static str> {
    let mut url = Url::parse(text).map_err(|_| "not a URL")?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("not an http or https URL");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("credentials do not belong in a URL");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("a base URL has neither query nor fragment");
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

/// A client of its own for one partner: nothing is shared with another's outage.
///
/// HTTP/1.1 only: a call has its connection, so one that breaks takes no other call with it, and
/// the pool's bound means something. No redirects (one could turn a POST into a GET, and an answer
/// from elsewhere is not the partner's), no retries by the library (the adapter alone knows what may
/// be repeated). The connection pool may still move a request that was never begun on a dead pooled
/// connection to a fresh one: not a byte of it had been written.
///
/// # Errors
/// The CA file, or no usable TLS roots on this system.
pub fn build(config: &HttpConfig) -> Result<Client, BuildError> {
    let pool = config.max_concurrent.saturating_mul(5).div_ceil(4);
    let mut builder = Client::builder()
        .user_agent(concat!("order-service/", env!("CARGO_PKG_VERSION")))
        .http1_only()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(config.connect_timeout)
        .read_timeout(config.read_timeout)
        .pool_max_idle_per_host(usize::try_from(pool).unwrap_or(usize::MAX))
        .pool_idle_timeout(POOL_IDLE_TIMEOUT);
    if let Some(path) = &config.ca_file {
        builder = builder.tls_certs_merge(certificates(path)?);
    } else if config.base_url.scheme() == "http" {
        // Without redirects no TLS will ever be spoken: a system without roots is fine.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(BuildError::Client)
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, BuildError> {
    let pem = std::fs::read(path)
        .map_err(|source| BuildError::CaFile { path: path.to_owned(), source })?;
    match Certificate::from_pem_bundle(&pem) {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) | Err(_) => Err(BuildError::NoCertificate { path: path.to_owned() }),
    }
}

/// What came back, its body not read yet.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    /// The partner's wish, if it is a number of seconds (both vendors document no dates).
    pub retry_after: Option<Duration>,
    response: Response,
}

/// One attempt, under a span of its own, with a `traceparent` that names it.
///
/// # Errors
/// The cause, without a word of the library's text: that names URLs.
pub async fn send(request: RequestBuilder, trace: Option<&TraceParent>) -> Result<Reply, Cause> {
    let (client, request) = request.build_split();
    let mut request = request.map_err(|error| cause_of(&error))?;
    if let Ok(value) = child_of(trace).as_str().parse() {
        request.headers_mut().insert("traceparent", value);
    }
    let span = tracing::info_span!(
        "http.client",
        otel.name = %request.method(),
        otel.kind = "client",
        http.request.method = %request.method(),
        server.address = request.url().host_str(),
        server.port = request.url().port_or_known_default(),
        http.response.status_code = Empty,
        "error.type" = Empty,
        otel.status_code = Empty,
    );
    let sent = client.execute(request).instrument(span.clone()).await;
    match sent {
        Ok(response) => {
            let status = response.status();
            span.record("http.response.status_code", status.as_u16());
            if status.is_client_error() || status.is_server_error() {
                span.record("error.type", status.as_str()).record("otel.status_code", "ERROR");
            }
            Ok(Reply { status, retry_after: retry_after(response.headers()), response })
        }
        Err(error) => {
            let cause = cause_of(&error);
            span.record("error.type", cause.as_str()).record("otel.status_code", "ERROR");
            Err(cause)
        }
    }
}

impl Reply {
    /// The whole body.
    ///
    /// # Errors
    /// [`Cause::Unreadable`] when it is longer than [`MAX_BODY_BYTES`], else why it ended early.
    pub async fn body(mut self) -> Result<Vec<u8>, Cause> {
        let mut body = Vec::new();
        while let Some(chunk) = self.response.chunk().await.map_err(|error| cause_of(&error))? {
            if body.len() + chunk.len() > MAX_BODY_BYTES {
                return Err(Cause::Unreadable);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// Whether a byte of the request may have been written decides everything: a connection that was
/// never made (DNS, refused, TLS, its own timeout) is the one harmless failure.
fn cause_of(error: &reqwest::Error) -> Cause {
    if error.is_connect() || error.is_builder() {
        Cause::Unreachable
    } else if error.is_timeout() {
        Cause::TimedOut
    } else {
        Cause::Broken
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_RETRY_AFTER))
}

/// The caller's trace with this attempt as the parent of what the partner does, or a new trace.
fn child_of(trace: Option<&TraceParent>) -> TraceParent {
    let span_id = fastrand::u64(1..);
    match trace {
        Some(parent) => parent.child(span_id),
        None => TraceParent::new(fastrand::u128(1..), span_id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    fn client() -> Client {
        build(&HttpConfig {
            base_url: base_url("http://127.0.0.1").unwrap(),
            connect_timeout: Duration::from_secs(1),
            read_timeout: Duration::from_millis(200),
            max_concurrent: 2,
            ca_file: None,
        })
        .unwrap()
    }

    /// Answers its first connection with `answer` and closes it; returns what it was asked.
    async fn serve_once(answer: Vec<u8>) -> (String, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/x", listener.local_addr().unwrap());
        let asked = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut heard = vec![0; 4096];
            let length = stream.read(&mut heard).await.unwrap();
            stream.write_all(&answer).await.unwrap();
            String::from_utf8_lossy(&heard[..length]).into_owned()
        });
        (url, asked)
    }

    async fn body_of(answer: Vec<u8>) -> Result<Vec<u8>, Cause> {
        let (url, _) = serve_once(answer).await;
        send(client().get(url), None).await?.body().await
    }

    #[test]
    fn a_base_url_is_read_as_people_write_it() {
        for text in ["https://bank.example/payment/rest", "https://bank.example/payment/rest/"] {
            let url = base_url(text).unwrap();
            assert_eq!(
                url.join("register.do").unwrap().as_str(),
                "https://bank.example/payment/rest/register.do"
            );
        }
        for bad in ["", "bank.example", "ftp://a/", "https://me:pw@a/", "https://a/?b", "https:/#c"]
        {
            assert!(base_url(bad).is_err(), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_connection_that_was_never_made_is_harmless() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/x", listener.local_addr().unwrap());
        drop(listener);
        assert_eq!(send(client().get(url), None).await.unwrap_err(), Cause::Unreachable);
    }

    #[tokio::test]
    async fn a_connection_that_breaks_after_the_request_is_not_harmless() {
        assert_eq!(body_of(Vec::new()).await, Err(Cause::Broken));
        let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec();
        assert_eq!(body_of(cut).await, Err(Cause::Broken));
    }

    #[tokio::test]
    async fn silence_ends_with_the_read_timeout() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/x", listener.local_addr().unwrap());
        assert_eq!(send(client().get(url), None).await.unwrap_err(), Cause::TimedOut);
    }

    #[tokio::test]
    async fn a_huge_answer_is_not_read_to_its_end() {
        let mut huge = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        huge.resize(MAX_BODY_BYTES + 4096, b'x');
        assert_eq!(body_of(huge).await, Err(Cause::Unreadable));
    }

    #[tokio::test]
    async fn a_redirect_is_an_answer_and_not_followed() {
        let (url, _) =
            serve_once(b"HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n".to_vec())
                .await;
        let reply = send(client().post(url), None).await.unwrap();
        assert_eq!(reply.status, StatusCode::FOUND);
    }

    #[tokio::test]
    async fn an_attempt_names_itself_in_the_callers_trace() {
        let caller = TraceParent::new(7, 8);
        let answer = b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n".to_vec();
        let (url, asked) = serve_once(answer).await;
        let reply = send(client().get(url), Some(&caller)).await.unwrap();
        assert_eq!(reply.retry_after, Some(Duration::from_secs(7)));

        let asked = asked.await.unwrap();
        let sent = asked.lines().find_map(|line| line.strip_prefix("traceparent: ")).unwrap();
        let sent = TraceParent::parse(sent).unwrap();
        assert_eq!(sent.trace_id(), caller.trace_id());
        assert_ne!(sent, caller);
    }
}
