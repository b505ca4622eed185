//! How many may be in at a time: in all, and of one address.

use crate::adapters::observe::traffic::RefusedConnection;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// What counts as one address: in IPv6 the 64 bits that one subscriber is given, since within them an
/// address costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AddressKey(u128);

impl AddressKey {
    #[must_use]
    pub fn at(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(u128::from(address.to_bits())),
            IpAddr::V6(address) => Self(address.to_bits() >> 64 << 64),
        }
    }
}

#[derive(Debug)]
pub(super) struct Room {
    max: usize,
    per_address: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    in_all: usize,
    by_address: HashMap<AddressKey, usize>,
}

/// A connection's right to be here; given back when dropped.
#[derive(Debug)]
pub(super) struct Seat {
    room: Arc<Room>,
    address: AddressKey,
}

impl Room {
    pub(super) fn new(max: usize, per_address: usize) -> Arc<Self> {
        Arc::new(Self { max, per_address, taken: Mutex::default() })
    }

    pub(super) fn seat(self: &Arc<Self>, address: AddressKey) -> Result<Seat, RefusedConnection> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.in_all >= self.max {
            return Err(RefusedConnection::Limit);
        }
        let of_address = taken.by_address.get(&address).copied().unwrap_or(0);
        if of_address >= self.per_address {
            return Err(RefusedConnection::Address);
        }
        taken.by_address.insert(address, of_address + 1);
        taken.in_all += 1;
        Ok(Seat { room: Arc::clone(self), address })
    }
}

impl Seat {
    pub(super) fn in_room(&self, room: &Arc<Room>) -> bool {
        Arc::ptr_eq(&self.room, room)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.room.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.in_all -= 1;
        if let Some(of_address) = taken.by_address.get_mut(&self.address) {
            *of_address -= 1;
            if *of_address == 0 {
                taken.by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> AddressKey {
        AddressKey::at(address.parse().unwrap())
    }

    #[test]
    fn one_address_takes_its_share_and_leaves_the_rest_to_others() {
        let room = Room::new(3, 2);
        let seats = [room.seat(at("10.0.0.1")).unwrap(), room.seat(at("10.0.0.1")).unwrap()];
        assert_eq!(room.seat(at("10.0.0.1")).unwrap_err(), RefusedConnection::Address);
        let other = room.seat(at("10.0.0.2")).unwrap();
        assert_eq!(room.seat(at("10.0.0.3")).unwrap_err(), RefusedConnection::Limit);
        drop((seats, other));
        assert!(room.taken.lock().unwrap().by_address.is_empty());
        assert!(room.seat(at("10.0.0.1")).is_ok());
    }

    #[test]
    fn the_addresses_of_one_subscriber_are_one() {
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:1"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("::ffff:10.0.0.1"), at("10.0.0.1"));
    }
}
