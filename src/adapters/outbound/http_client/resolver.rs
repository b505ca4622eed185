//! Names of destinations, resolved to public addresses only. What is judged here is what is connected to: nobody asks
//! again in between, so that a name which answers twice differently gains nothing.

use super::destination::{DestinationRules, is_public};
use crate::core::domain::webhook::attempt::ForbiddenDestination;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::error::Error;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Lookups under way. Each holds a thread until the system's resolver gives up, whoever waits; the threads are those of
/// everything else that blocks.
const LOOKUPS: usize = 32;

/// How a name is looked up; blocks.
type Lookup = fn(&str) -> io::Result<Vec<SocketAddr>>;

#[derive(Debug, Clone)]
pub(super) struct PublicResolver {
    rules: Arc<DestinationRules>,
    lookup: Lookup,
    lookups: Arc<Semaphore>,
}

impl PublicResolver {
    pub(super) fn new(rules: Arc<DestinationRules>) -> Self {
        Self::looking_up(rules, |host| Ok((host, 0).to_socket_addrs()?.collect()))
    }

    pub(super) fn looking_up(rules: Arc<DestinationRules>, lookup: Lookup) -> Self {
        Self { rules, lookup, lookups: Arc::new(Semaphore::new(LOOKUPS)) }
    }

    pub(super) async fn addresses(
        self,
        host: String,
    ) -> Result<Vec<SocketAddr>, Box<dyn Error + Send + Sync>> {
        let permit = self.lookups.acquire_owned().await?;
        let (lookup, name) = (self.lookup, host.clone());
        let found = tokio::task::spawn_blocking(move || {
            let found = lookup(&name);
            drop(permit);
            found
        });
        let mut found = found.await??;
        if !self.rules.allows(&host) {
            found.retain(|address| is_public(address.ip()));
        }
        if found.is_empty() {
            return Err(ForbiddenDestination::NotPublic.into());
        }
        Ok(found)
    }
}

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (resolver, host) = (self.clone(), name.as_str().to_owned());
        Box::pin(async move {
            let found = resolver.addresses(host).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
