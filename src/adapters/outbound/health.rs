//! Health probes: one light question to each system, apart from its business and its breaker. An
//! answer serves everyone who asks until it is old; nobody ever waits for the network.

use crate::adapters::observe::adapter_events::Untold;
use crate::adapters::observe::systems::{Probed, SystemHealth};
use crate::adapters::outbound::http_client::{
    self, BuildError, HttpConfig, PartnerClient, Transport, Url,
};
use crate::core::domain::unavailable::System;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout};

#[derive(Debug, Clone)]
pub struct ProbeConfig {
    pub system: System,
    pub url: Url,
    pub transport: Transport,
    /// How long a finding serves.
    pub ttl: Duration,
    pub timeout: Duration,
}

/// A handle; clones share what was seen.
#[derive(Debug, Clone)]
pub struct HealthProbe(Arc<Probe>);

#[derive(Debug)]
struct Probe {
    config: ProbeConfig,
    client: PartnerClient,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    last: Option<(bool, Instant)>,
    probing: bool,
}

impl HealthProbe {
    /// # Errors
    /// A client without TLS roots.
    pub fn new(config: ProbeConfig) -> Result<Self, BuildError> {
        let client = http_client::build(
            &HttpConfig {
                base_url: config.url.clone(),
                connect_timeout: config.timeout,
                read_timeout: config.timeout,
                max_concurrent: 1,
                transport: config.transport.clone(),
            },
            Arc::new(Untold),
        )?;
        Ok(Self(Arc::new(Probe { config, client, seen: Mutex::default() })))
    }
}

impl Probe {
    async fn ask(&self) -> bool {
        let request = self.client.get(self.config.url.clone());
        let sent = timeout(self.config.timeout, self.client.send(request, None)).await;
        sent.is_ok_and(|reply| reply.is_ok_and(|reply| reply.status.is_success()))
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this reader is the one who has a new probe sent.
    fn must_renew(&self) -> bool {
        let mut seen = self.seen();
        let fresh = seen.last.is_some_and(|(_, at)| at.elapsed() < self.config.ttl);
        let renew = !fresh && !seen.probing;
        seen.probing |= renew;
        renew
    }
}

impl SystemHealth for HealthProbe {
    fn system(&self) -> System {
        self.0.config.system
    }

    fn look(&self) -> Probed {
        if self.0.must_renew() {
            let probe = Arc::clone(&self.0);
            tokio::spawn(async move {
                let up = probe.ask().await;
                *probe.seen() = Seen { last: Some((up, Instant::now())), probing: false };
            });
        }
        match self.0.seen().last {
            None => Probed::NotYet,
            Some((true, at)) => Probed::Up { age: at.elapsed() },
            Some((false, at)) => Probed::Down { age: at.elapsed() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    async fn server(status: &'static str) -> (Url, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/health", listener.local_addr().unwrap()).parse().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let _ = stream.read(&mut [0; 1024]).await;
                let reply = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                let _ = stream.write_all(reply.as_bytes()).await;
            }
        });
        (url, asked)
    }

    fn probe(url: Url) -> HealthProbe {
        let (system, timeout) = (System::Catalog, Duration::from_secs(3));
        let ttl = Duration::from_secs(30);
        HealthProbe::new(ProbeConfig { system, url, transport: Transport::default(), ttl, timeout })
            .unwrap()
    }

    async fn finding(probe: &HealthProbe) -> Probed {
        loop {
            match probe.look() {
                Probed::NotYet => tokio::task::yield_now().await,
                found @ (Probed::Up { .. } | Probed::Down { .. }) => return found,
            }
        }
    }

    #[tokio::test]
    async fn many_readers_send_one_probe_and_never_wait() {
        let (url, asked) = server("200 OK").await;
        let probe = probe(url);
        assert_eq!(probe.look(), Probed::NotYet);
        assert!(matches!(finding(&probe).await, Probed::Up { .. }));
        for _ in 0..100 {
            probe.look();
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn an_error_or_a_closed_port_is_down() {
        let (url, _) = server("503 Service Unavailable").await;
        assert!(matches!(finding(&probe(url)).await, Probed::Down { .. }));
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let url = format!("http://{closed}/health").parse().unwrap();
        assert!(matches!(finding(&probe(url)).await, Probed::Down { .. }));
    }
}
