//! Where a shop may send us. Whoever registers a destination chooses where this service, from inside of its network,
//! sends requests (server-side request forgery): so a URL is judged when it is read, and each address again at the
//! moment of connecting, since a name may say something else by then.

use crate::core::domain::webhook::attempt::ForbiddenDestination;
use reqwest::Url;
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const LONGEST_URL: usize = 2_048;

/// Which destinations are called.
#[derive(Debug, Clone, Default)]
pub struct DestinationRules {
    allowed_hosts: HashSet<Box<str>>,
}

/// A URL that may be called; what its name resolves to is judged when it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination(Url);

impl DestinationRules {
    /// `allowed_hosts` (names, or addresses as URLs write them) may be plain HTTP and anywhere.
    pub fn new(allowed_hosts: impl IntoIterator<Item = String>) -> Self {
        let hosts = allowed_hosts.into_iter();
        Self { allowed_hosts: hosts.map(|host| host.to_ascii_lowercase().into()).collect() }
    }

    /// Reads a URL as whoever calls it will: `https://0x7f.1/` is 127.0.0.1.
    ///
    /// # Errors
    /// Why it is never called.
    pub fn destination(&self, url: &str) -> Result<Destination, ForbiddenDestination> {
        if url.len() > LONGEST_URL {
            return Err(ForbiddenDestination::NotAUrl);
        }
        let url = Url::parse(url).map_err(|_| ForbiddenDestination::NotAUrl)?;
        let host = url.host_str().ok_or(ForbiddenDestination::NotAUrl)?;
        let allowed = self.allows(host);
        match url.scheme() {
            "https" => {}
            "http" if allowed => {}
            _ => return Err(ForbiddenDestination::NotHttps),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ForbiddenDestination::Credentials);
        }
        if url.fragment().is_some() {
            return Err(ForbiddenDestination::Fragment);
        }
        // An address is never looked up, so that nobody else would look at it.
        let address = host.trim_matches(['[', ']']).parse();
        if !allowed && address.is_ok_and(|address| !is_public(address)) {
            return Err(ForbiddenDestination::NotPublic);
        }
        Ok(Destination(url))
    }

    pub(super) fn allows(&self, host: &str) -> bool {
        self.allowed_hosts.contains(host)
    }
}

impl Destination {
    pub(super) const fn url(&self) -> &Url {
        &self.0
    }

    /// Its host, for logs: paths of webhooks are secrets more often than not.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }
}

/// Whether anybody in the internet may mean this address, after IANA's registries of special-purpose addresses.
/// What carries an IPv4 address is what it carries.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.segments() {
            // ::ffff:0:0/96, mapped, and 64:ff9b::/96, translated by NAT64
            [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                is_public_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
            }
            _ => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    #[rustfmt::skip]
    const SPECIAL: [(Ipv4Addr, u32); 14] = [
        (Ipv4Addr::new(0, 0, 0, 0), 8),          // this network
        (Ipv4Addr::new(10, 0, 0, 0), 8),         // private
        (Ipv4Addr::new(100, 64, 0, 0), 10),      // shared by providers; also some clouds' metadata
        (Ipv4Addr::new(127, 0, 0, 0), 8),        // loopback
        (Ipv4Addr::new(169, 254, 0, 0), 16),     // link-local, and the clouds' metadata
        (Ipv4Addr::new(172, 16, 0, 0), 12),      // private
        (Ipv4Addr::new(192, 0, 0, 0), 24),       // protocol assignments
        (Ipv4Addr::new(192, 0, 2, 0), 24),       // documentation
        (Ipv4Addr::new(192, 88, 99, 0), 24),     // relays of 6to4
        (Ipv4Addr::new(192, 168, 0, 0), 16),     // private
        (Ipv4Addr::new(198, 18, 0, 0), 15),      // benchmarks
        (Ipv4Addr::new(198, 51, 100, 0), 24),    // documentation
        (Ipv4Addr::new(203, 0, 113, 0), 24),     // documentation
        (Ipv4Addr::new(224, 0, 0, 0), 3),        // multicast, reserved, broadcast
    ];
    let bits = address.to_bits();
    !SPECIAL.iter().any(|(net, length)| (bits ^ net.to_bits()) >> (32 - length) == 0)
}

/// Of what is not global unicast (2000::/3) nothing; of it, not what is special, nor what tunnels to somewhere else.
fn is_public_v6(address: Ipv6Addr) -> bool {
    #[rustfmt::skip]
    const SPECIAL: [(Ipv6Addr, u32); 4] = [
        (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),     // protocol assignments, Teredo
        (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
        (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),     // 6to4
        (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),     // documentation
    ];
    let bits = address.to_bits();
    let special = |(net, length): &(Ipv6Addr, u32)| (bits ^ net.to_bits()) >> (128 - length) == 0;
    bits >> 125 == 1 && !SPECIAL.iter().any(special)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<Destination, ForbiddenDestination> {
        DestinationRules::default().destination(url)
    }

    #[test]
    fn a_destination_is_https_and_tells_no_secret() {
        assert_eq!(read("https://shop.example/hooks?key=1").unwrap().host(), "shop.example");
        for (url, error) in [
            ("", ForbiddenDestination::NotAUrl),
            ("shop.example/hooks", ForbiddenDestination::NotAUrl),
            (&format!("https://shop.example/{}", "x".repeat(2_048)), ForbiddenDestination::NotAUrl),
            ("http://shop.example/", ForbiddenDestination::NotHttps),
            ("file://host/etc/passwd", ForbiddenDestination::NotHttps),
            ("gopher://shop.example/", ForbiddenDestination::NotHttps),
            ("https://me@shop.example/", ForbiddenDestination::Credentials),
            ("https://:secret@shop.example/", ForbiddenDestination::Credentials),
            ("https://shop.example/#part", ForbiddenDestination::Fragment),
        ] {
            assert_eq!(read(url), Err(error), "{url}");
        }
    }

    #[test]
    fn an_address_is_judged_however_it_is_spelled() {
        for host in [
            "127.0.0.1",
            "127.1",
            "0x7f.1",
            "2130706433",
            "0177.0.0.1",
            "0",
            "169.254.169.254",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[64:ff9b::a9fe:a9fe]",
            "[fd00:ec2::254]",
            "127.0.0.1.",
            "%31%32%37.0.0.1",
            "127。0。0。1",
        ] {
            let url = format!("https://{host}/");
            assert_eq!(read(&url), Err(ForbiddenDestination::NotPublic), "{host}");
        }
        assert!(read("https://1.1.1.1/").is_ok() && read("https://[2606:4700::1111]/").is_ok());
    }

    #[test]
    fn the_first_and_the_last_address_of_each_special_block_are_not_public() {
        for block in [
            "0.0.0.0-0.255.255.255",
            "10.0.0.0-10.255.255.255",
            "100.64.0.0-100.127.255.255",
            "127.0.0.0-127.255.255.255",
            "169.254.0.0-169.254.255.255",
            "172.16.0.0-172.31.255.255",
            "192.0.0.0-192.0.0.255",
            "192.0.2.0-192.0.2.255",
            "192.88.99.0-192.88.99.255",
            "192.168.0.0-192.168.255.255",
            "198.18.0.0-198.19.255.255",
            "198.51.100.0-198.51.100.255",
            "203.0.113.0-203.0.113.255",
            "224.0.0.0-255.255.255.255",
            "::-::1",
            "::ffff:10.0.0.0-::ffff:10.255.255.255",
            "64:ff9b::7f00:1-64:ff9b::7fff:ffff",
            "64:ff9b:1::-64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
            "100::-100::ffff:ffff:ffff:ffff",
            "2001::-2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
            "2002::-2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "3fff::-3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
            "4000::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ] {
            let (first, last) = block.split_once('-').unwrap();
            for address in [first, last] {
                assert!(!is_public(address.parse().unwrap()), "{address} of {block}");
            }
        }
    }

    #[test]
    fn what_lies_beside_a_special_block_is_public() {
        for address in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2000::",
            "2001:200::",
            "2001:db7:ffff::",
            "2001:db9::",
            "2003::",
            "3ffe::",
            "3fff:1000::",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn an_allowed_host_may_be_plain_and_anywhere_and_no_other_with_it() {
        let rules = DestinationRules::new(["LOCALHOST".to_owned(), "[::1]".to_owned()]);
        for url in
            ["http://localhost:9000/", "http://LocalHost/", "https://[::1]/", "http://[::1]/"]
        {
            assert!(rules.destination(url).is_ok(), "{url}");
        }
        for url in ["http://127.0.0.1/", "http://a.localhost/", "http://localhost.evil.example/"] {
            assert!(rules.destination(url).is_err(), "{url}");
        }
    }
}
