use std::net::IpAddr;

use super::{AddressKind, Literal, kind, literal};

fn address(text: &str) -> Option<Literal> {
    Some(Literal::Address(text.parse().unwrap()))
}

#[test]
fn addresses_are_recognized_in_every_spelling() {
    let loopback = [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0X7F.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.0x1",
        "127.0.0.1.",
        "127.0x0.00.01",
        "::ffff:127.0.0.1",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
    ];
    for spelling in loopback {
        assert_eq!(literal(spelling), address("127.0.0.1"), "{spelling}");
    }
    assert_eq!(literal("[::1]"), address("::1"));
    assert_eq!(literal("0"), address("0.0.0.0"));
    assert_eq!(literal("0x"), address("0.0.0.0"));
    assert_eq!(literal("169.254.43518"), address("169.254.169.254"));
    assert_eq!(literal("2852039166"), address("169.254.169.254"));
    for invalid in [
        "127.0.0.256",
        "1.2.3.4.5",
        "4294967296",
        "08.1",
        "[fe80::1%lo]",
        "[::1",
        "a:b",
        "example.1",
    ] {
        assert_eq!(literal(invalid), Some(Literal::Invalid), "{invalid}");
    }
    for name in ["example.com", "1.example.com", "0xg", "e.0xzz", "a1", "127.0.0.1.nip.io", "", "."]
    {
        assert_eq!(literal(name), None, "{name}");
    }
}

#[test]
fn addresses_of_this_machine_and_its_neighbours_are_special() {
    let kind = |text: &str| kind(text.parse::<IpAddr>().unwrap());
    for special in [
        "127.0.0.1",
        "127.8.9.1",
        "0.0.0.0",
        "0.1.2.3",
        "169.254.169.254",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "fe80::1",
        "ff02::1",
        "fd00:ec2::254",
        "100.100.100.200",
        "168.63.129.16",
    ] {
        assert_eq!(kind(special), AddressKind::Special, "{special}");
    }
    for private in [
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "198.18.0.1",
        "fd00::1",
        "fc00::1",
        "fec0::1",
        "::ffff:10.1.1.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::1",
    ] {
        assert_eq!(kind(private), AddressKind::Private, "{private}");
    }
    for public in
        ["1.1.1.1", "172.32.0.1", "192.0.2.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::1.1.1.1"]
    {
        assert_eq!(kind(public), AddressKind::Public, "{public}");
    }
}
