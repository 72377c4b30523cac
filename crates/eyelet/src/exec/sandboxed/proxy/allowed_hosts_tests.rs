use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{AllowedHosts, Denial};

fn hosts(given: &[&str], address: &'static str) -> AllowedHosts {
    let hosts = AllowedHosts::new(given.iter().copied()).unwrap();
    hosts.with_resolver(move |_, port| Ok(vec![SocketAddr::new(address.parse().unwrap(), port)]))
}

fn is_allowed(hosts: &AllowedHosts, host: &str, port: u16) -> bool {
    hosts.addresses(host, port).is_ok()
}

#[test]
fn hosts_are_allowed_by_name_and_port() {
    let hosts = hosts(&["example.com", "Api.Example.org.:8443", "*.example.net:443"], "192.0.2.1");
    for (host, port) in [
        ("example.com", 443),
        ("EXAMPLE.com.", 1),
        ("api.example.org", 8443),
        ("a.example.net", 443),
        ("a.b.EXAMPLE.net.", 443),
    ] {
        assert!(is_allowed(&hosts, host, port), "{host}:{port}");
    }
    for (host, port) in [
        ("www.example.com", 443),
        ("example.com.evil.test", 443),
        ("notexample.com", 443),
        ("api.example.org", 443),
        ("example.net", 443),
        ("a.example.net", 80),
        ("evilexample.net", 443),
        (".example.net", 443),
        ("192.0.2.1", 443),
        ("localhost", 443),
        ("a.localhost", 443),
        ("", 443),
    ] {
        assert!(!is_allowed(&hosts, host, port), "{host}:{port}");
    }
    for invalid in [
        "exa mple.com",
        "example.com/x",
        "example.com\\@evil.test",
        "user@example.com",
        "%65xample.com",
        "ｅxample.com",
    ] {
        assert_eq!(hosts.addresses(invalid, 443), Err(Denial::Invalid), "{invalid}");
    }
}

#[test]
fn addresses_are_refused_in_every_spelling_unless_named() {
    let none = hosts(&["example.com"], "192.0.2.1");
    let named = hosts(&["127.0.0.1:80", "[::1]:80", "169.254.169.254:80", "10.0.0.1"], "192.0.2.1");
    for (spelling, port) in [
        ("127.0.0.1", 80),
        ("127.1", 80),
        ("2130706433", 80),
        ("0x7f000001", 80),
        ("0177.0.0.1", 80),
        ("[::ffff:127.0.0.1]", 80),
        ("[::1]", 80),
        ("169.254.43518", 80),
        ("10.1", 9),
        ("localhost", 80),
    ] {
        assert_eq!(none.addresses(spelling, port), Err(Denial::NotAllowed), "{spelling}");
        assert!(is_allowed(&named, spelling, port), "{spelling}");
    }
    for (spelling, port) in
        [("127.0.0.1", 81), ("127.0.0.2", 80), ("0", 80), ("[::]", 80), ("localhost", 81)]
    {
        assert_eq!(named.addresses(spelling, port), Err(Denial::NotAllowed), "{spelling}");
    }
}

#[test]
fn an_allowed_name_must_not_lead_to_a_special_address() {
    let special = [
        "127.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "0.0.0.0",
        "169.254.169.254",
        "fe80::1",
        "224.0.0.1",
        "100.100.100.200",
    ];
    for address in special {
        let hosts = hosts(&["example.com"], address);
        let denial = Denial::Resolved(address.parse().unwrap());
        assert_eq!(hosts.addresses("example.com", 80), Err(denial), "{address}");
    }
    let named = hosts(&["example.com", "127.0.0.1:80"], "127.0.0.1");
    assert!(is_allowed(&named, "example.com", 80));
    assert!(!is_allowed(&named, "example.com", 81));
}

#[test]
fn a_private_address_requires_the_whole_name() {
    for address in ["10.0.0.1", "192.168.0.1", "fd00::1"] {
        assert!(is_allowed(&hosts(&["a.example.com"], address), "a.example.com", 80), "{address}");
        assert!(is_allowed(
            &hosts(&["*.example.com", "a.example.com"], address),
            "a.example.com",
            80
        ));
        assert!(!is_allowed(&hosts(&["*.example.com"], address), "a.example.com", 80), "{address}");
    }
}

#[test]
fn a_name_is_looked_up_once_and_refused_addresses_are_left_out() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    // A rebinding server answers with another address each time.
    let hosts = AllowedHosts::new(["example.com"]).unwrap().with_resolver(move |_, _| {
        let answers = ["192.0.2.1:1", "127.0.0.1:1"];
        let first = counted.fetch_add(1, Ordering::Relaxed);
        Ok(answers.iter().cycle().skip(first).take(2).map(|one| one.parse().unwrap()).collect())
    });
    let expected: Vec<SocketAddr> = vec!["192.0.2.1:443".parse().unwrap()];
    assert_eq!(hosts.addresses("example.com", 443), Ok(expected.clone()));
    assert_eq!(count.load(Ordering::Relaxed), 1);
    assert_eq!(hosts.addresses("example.com", 443), Ok(expected));
    assert_eq!(hosts.addresses("other.test", 443), Err(Denial::NotAllowed));
    assert_eq!(count.load(Ordering::Relaxed), 2, "a host that is not allowed was looked up");
}

#[test]
fn only_named_ports_of_this_machine_are_forwarded() {
    let hosts =
        hosts(&["localhost:5432", "127.0.0.1:61080", "example.com:80", "10.0.0.1:80"], "192.0.2.1");
    let forwarded: Vec<_> = hosts.forwarded().iter().map(ToString::to_string).collect();
    assert_eq!(forwarded, ["127.0.0.1:5432", "[::1]:5432", "127.0.0.1:61080"]);
    assert_eq!(hosts.proxy_address().to_string(), "127.0.0.1:61081");
}

#[test]
fn invalid_hosts_are_refused_with_the_reason() {
    let error = |host: &str| AllowedHosts::new([host]).unwrap_err().message;
    for host in ["localhost", "127.0.0.1", "::1", "127.1"] {
        assert!(error(host).contains("requires a port"), "{host}: {}", error(host));
    }
    for host in [
        "",
        "*",
        "*.",
        "*.1.2.3.4",
        "a.*.com",
        "https://example.com",
        "example.com/",
        "exämple.com",
        "[::1",
        "1.2.3",
    ] {
        let is_valid = AllowedHosts::new([host]).is_ok();
        assert_eq!(is_valid, host == "1.2.3", "{host}");
    }
    for host in ["example.com:0", "example.com:65536", "example.com:", "example.com:http"] {
        assert!(error(host).contains("the port must be"), "{host}: {}", error(host));
    }
    assert!(error("0.0.0.0:80").contains("cannot connect"));
    assert!(error("registries:443").contains("without a port"));
    assert!(AllowedHosts::new((1..=21).map(|port| format!("localhost:{port}"))).is_err());
    assert!(AllowedHosts::new(["registries"]).is_ok());
}

#[test]
fn a_description_names_the_first_hosts() {
    let words = |given: &[&str]| hosts(given, "192.0.2.1").in_words();
    assert_eq!(words(&["registries"]), "registries, by HTTP proxy,");
    assert_eq!(words(&["registries", "a.com:80"]), "registries and a.com:80, by HTTP proxy,");
    assert_eq!(words(&["a.com", "b.com", "c.com"]), "a.com, b.com and c.com, by HTTP proxy,");
    assert_eq!(
        words(&["a.com", "b.com", "c.com", "d.com", "e.com"]),
        "a.com, b.com, c.com and 2 more, by HTTP proxy,"
    );
    // Ports of this machine are forwarded, for any protocol.
    assert_eq!(words(&["localhost:5432", "127.0.0.2:80"]), "localhost:5432 and 127.0.0.2:80");
    assert_eq!(
        words(&["registries", "localhost:5432", "a.com"]),
        "localhost:5432 and, by HTTP proxy, to registries and a.com"
    );
}
