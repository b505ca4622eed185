//! What is held in memory for clients, in bytes: bodies that are coming in, and replies that are not
//! read. In all so much; of it a quarter for one address, and a thirty-second for one connection.

use super::rooms::AddressKey;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// So little is never refused: what happened to money is told, however full the memory is.
const ALWAYS_HELD: usize = 16 << 10;

const ADDRESS_SHARE: usize = 4;
const CONNECTION_SHARE: usize = 32;

#[derive(Debug)]
pub struct ByteBudget {
    in_all: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    in_all: usize,
    by_address: HashMap<AddressKey, usize>,
}

/// One connection's part in it.
#[derive(Debug)]
pub struct ClientBytes {
    budget: Arc<ByteBudget>,
    address: AddressKey,
    held: Mutex<usize>,
}

/// Given back when dropped.
#[derive(Debug)]
pub struct HeldBytes {
    client: Arc<ClientBytes>,
    bytes: usize,
}

impl ByteBudget {
    #[must_use]
    pub fn new(in_all: usize) -> Arc<Self> {
        Arc::new(Self { in_all, held: Mutex::default() })
    }

    #[must_use]
    pub fn of_client(self: &Arc<Self>, address: AddressKey) -> Arc<ClientBytes> {
        Arc::new(ClientBytes { budget: Arc::clone(self), address, held: Mutex::new(0) })
    }
}

impl ClientBytes {
    /// `None` where the connection, its address or all together hold too much.
    #[must_use]
    pub fn try_hold(self: &Arc<Self>, bytes: usize) -> Option<HeldBytes> {
        let budget = &self.budget;
        let mut own = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let mut held = budget.held.lock().unwrap_or_else(PoisonError::into_inner);
        let of_address = held.by_address.get(&self.address).copied().unwrap_or(0);
        let fits = *own + bytes <= budget.in_all / CONNECTION_SHARE
            && of_address + bytes <= budget.in_all / ADDRESS_SHARE
            && held.in_all + bytes <= budget.in_all;
        if !fits && bytes > ALWAYS_HELD {
            return None;
        }
        *own += bytes;
        held.in_all += bytes;
        held.by_address.insert(self.address, of_address + bytes);
        Some(HeldBytes { client: Arc::clone(self), bytes })
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        let client = &self.client;
        let mut own = client.held.lock().unwrap_or_else(PoisonError::into_inner);
        let mut held = client.budget.held.lock().unwrap_or_else(PoisonError::into_inner);
        *own -= self.bytes;
        held.in_all -= self.bytes;
        if let Some(of_address) = held.by_address.get_mut(&client.address) {
            *of_address -= self.bytes;
            if *of_address == 0 {
                held.by_address.remove(&client.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    const SHARE: usize = 32 << 10;

    fn client(budget: &Arc<ByteBudget>, host: u8) -> Arc<ClientBytes> {
        budget.of_client(AddressKey::at(IpAddr::V4(Ipv4Addr::new(10, 0, 0, host))))
    }

    #[test]
    fn a_connection_holds_its_share_and_an_address_its_own() {
        let budget = ByteBudget::new(SHARE * 32);
        let clients: Vec<_> = (0..9).map(|_| client(&budget, 1)).collect();
        let held: Vec<_> = clients.iter().map_while(|client| client.try_hold(SHARE)).collect();
        assert_eq!(held.len(), 8);
        assert!(clients[0].try_hold(ALWAYS_HELD + 1).is_none());
        assert!(client(&budget, 2).try_hold(SHARE).is_some());
        drop(held);
        assert!(clients[0].try_hold(SHARE).is_some());
        assert!(budget.held.lock().unwrap().by_address.is_empty());
    }

    #[test]
    fn a_short_reply_is_held_however_full_it_is() {
        let client = client(&ByteBudget::new(0), 1);
        assert!(client.try_hold(ALWAYS_HELD).is_some());
        assert!(client.try_hold(ALWAYS_HELD + 1).is_none());
    }
}
