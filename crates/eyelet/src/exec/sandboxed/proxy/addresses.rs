//! IP addresses: how programs may spell them, and which of them a name must not lead to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host that programs take for an address instead of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    /// An IP address, however it is written. An IPv4 address inside an IPv6 address becomes IPv4.
    Address(IpAddr),
    /// The text looks like an IP address, but is not a valid one.
    Invalid,
}

/// The address that `host` spells, with or without brackets. None if it is a name. Programs accept `127.1`,
/// `2130706433`, `0x7f.1` and `017700000001` for `127.0.0.1`.
pub(super) fn literal(host: &str) -> Option<Literal> {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if inner.is_some() || host.contains(':') {
        let parsed: Result<Ipv6Addr, _> = inner.unwrap_or(host).parse();
        return Some(match parsed {
            Ok(address) => Literal::Address(IpAddr::V6(address).to_canonical()),
            Err(_) => Literal::Invalid,
        });
    }
    let host = host.strip_suffix('.').unwrap_or(host);
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = !last.is_empty()
        && (last.bytes().all(|byte| byte.is_ascii_digit()) || number(last).is_some());
    is_number.then(|| match ipv4(host) {
        Some(address) => Literal::Address(address.into()),
        None => Literal::Invalid,
    })
}

/// Like `inet_aton`: one to four numbers, of which the last fills the remaining bytes.
fn ipv4(host: &str) -> Option<Ipv4Addr> {
    let numbers: Vec<u64> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    if first.len() > 3 || first.iter().any(|number| *number > 255) {
        return None;
    }
    let free_bits = 32 - 8 * u32::try_from(first.len()).ok()?;
    if last >> free_bits != 0 {
        return None;
    }
    let high = first.iter().fold(0, |sum, number| (sum << 8) | number);
    u32::try_from((high << free_bits) | last).ok().map(Ipv4Addr::from)
}

/// Decimal, octal with a leading `0`, hexadecimal with a leading `0x`.
fn number(text: &str) -> Option<u64> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = match (hexadecimal, text.strip_prefix('0')) {
        (Some(""), _) | (None, Some("")) => ("0", 10),
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) => (digits, 8),
        (None, None) => (text, 10),
    };
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_plain.then(|| u64::from_str_radix(digits, radix).ok()).flatten()
}

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressKind {
    Public,
    /// An address in a private network.
    Private,
    /// An address of this machine, of its link, of the metadata service of a cloud, of several
    /// machines (multicast), or of no machine.
    Special,
}

/// Services of cloud providers that hand out credentials. Most are link-local, these are not.
const METADATA: &[IpAddr] = &[
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

pub(super) fn kind(address: IpAddr) -> AddressKind {
    let address = address.to_canonical();
    if METADATA.contains(&address) {
        return AddressKind::Special;
    }
    match address {
        IpAddr::V4(address) => kind_of_v4(address),
        IpAddr::V6(address) => kind_of_v6(address),
    }
}

fn kind_of_v4(address: Ipv4Addr) -> AddressKind {
    match address.octets() {
        [0 | 127 | 224..=255, ..] | [169, 254, ..] => AddressKind::Special,
        [10, ..]
        | [100, 64..=127, ..]
        | [172, 16..=31, ..]
        | [192, 168, ..]
        | [192, 0, 0, _]
        | [198, 18..=19, ..] => AddressKind::Private,
        _ => AddressKind::Public,
    }
}

fn kind_of_v6(address: Ipv6Addr) -> AddressKind {
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        kind_of_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // IPv4 in translated and tunnelled addresses, and `::` and `::1`, which look like `0.0.0.0` and `0.0.0.1`.
        [0, 0, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            embedded(high, low)
        }
        [0x2002, high, low, ..] => embedded(high, low),
        [0xfe80..=0xfebf | 0xff00..=0xffff, ..] => AddressKind::Special,
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] | [0x64, 0xff9b, 1, ..] => AddressKind::Private,
        _ => AddressKind::Public,
    }
}

#[cfg(test)]
#[path = "addresses_tests.rs"]
mod tests;
