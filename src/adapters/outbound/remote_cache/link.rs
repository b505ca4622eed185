//! The connection, or that there is none. Whoever asks gets an answer in time or finds the connection
//! gone; from then on nobody tries until a new one has been made and has answered, behind their backs.
//! The old one is thrown away: one whose other end vanished without a word would hang for many minutes.

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ErrorKind, FromRedisValue, Pipeline, RedisError};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// For a connection with all its greetings.
const CONNECT: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A trouble that lasts is told this often.
const TELL_EVERY: Duration = Duration::from_secs(60);

pub(super) struct Link(Arc<State>);

struct State {
    client: Client,
    patience: Duration,
    line: Mutex<Option<Line>>,
    told: Mutex<Option<Instant>>,
}

/// A connection by its number, so that a late failure does not take the next one away.
#[derive(Clone)]
struct Line {
    number: u64,
    connection: MultiplexedConnection,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("up", &lock(&self.0.line).is_some()).finish()
    }
}

impl Link {
    pub(super) fn to(client: Client, patience: Duration) -> Self {
        let (line, told) = (Mutex::default(), Mutex::default());
        let state = Arc::new(State { client, patience, line, told });
        tokio::spawn(connect(Arc::downgrade(&state), 1, Duration::ZERO));
        Self(state)
    }

    /// `None` when there is no connection, no answer in time, or no as an answer.
    pub(super) async fn ask<T: FromRedisValue>(&self, question: &Pipeline) -> Option<T> {
        let Line { number, mut connection } = lock(&self.0.line).clone()?;
        match timeout(self.0.patience, question.query_async(&mut connection)).await {
            Ok(Ok(answer)) => Some(answer),
            Ok(Err(fault)) => {
                self.0.tell(cause(&fault));
                if !answered(&fault) {
                    self.drop_line(number);
                }
                None
            }
            Err(_elapsed) => {
                self.0.tell("timeout");
                self.drop_line(number);
                None
            }
        }
    }

    fn drop_line(&self, number: u64) {
        let mut line = lock(&self.0.line);
        if line.as_ref().is_some_and(|line| line.number == number) {
            *line = None;
            tokio::spawn(connect(Arc::downgrade(&self.0), number + 1, FIRST_PAUSE));
        }
    }
}

/// Tries until there is a connection, or nobody wants one any more.
async fn connect(state: Weak<State>, number: u64, mut pause: Duration) {
    loop {
        // Not all instances at once.
        sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
        pause = (pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        let Some(client) = state.upgrade().map(|state| state.client.clone()) else { return };
        let attempt = greet(&client).await;
        let Some(state) = state.upgrade() else { return };
        match attempt {
            Ok(connection) => {
                *lock(&state.line) = Some(Line { number, connection });
                tracing::info!("the shared cache is connected");
                return;
            }
            Err(cause) => state.tell(&cause),
        }
    }
}

/// A connection that has answered.
async fn greet(client: &Client) -> Result<MultiplexedConnection, String> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT))
        .set_response_timeout(Some(CONNECT));
    let greeting = async {
        let mut made = client.get_multiplexed_async_connection_with_config(&config).await?;
        let () = redis::cmd("PING").query_async(&mut made).await?;
        Ok(made)
    };
    match timeout(2 * CONNECT, greeting).await {
        Ok(made) => made.map_err(|fault: RedisError| cause(&fault).to_owned()),
        Err(_elapsed) => Err("timeout".to_owned()),
    }
}

/// Whether the connection works and only the answer is no.
fn answered(fault: &RedisError) -> bool {
    matches!(
        fault.kind(),
        ErrorKind::Server(_) | ErrorKind::Extension | ErrorKind::UnexpectedReturnType
    )
}

/// A short word: the server's own code, or what kind of failure it is. Never its text, which may
/// quote what was sent.
fn cause(fault: &RedisError) -> &str {
    fault.code().unwrap_or_else(|| if fault.is_timeout() { "timeout" } else { fault.category() })
}

impl State {
    fn tell(&self, cause: &str) {
        let mut told = lock(&self.told);
        if told.is_none_or(|last| last.elapsed() >= TELL_EVERY) {
            *told = Some(Instant::now());
            tracing::warn!(cause, "shared cache unavailable, going on with memory alone");
        }
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
