use super::{in_lines, in_tables};

const TABLES: &str = "\
Ip: Forwarding OutDiscards OutNoRoutes ReasmTimeout
Ip: 2 7 4 0
Icmp: OutNoRoutes NoPorts
Icmp: 100 100
Udp: InDatagrams NoPorts InErrors
Udp: 9 3 1
UdpLite: InDatagrams NoPorts InErrors
UdpLite: 50 50 50
";

#[test]
fn refused_connections_are_read_from_the_kernels_tables() {
    assert_eq!(in_tables(TABLES), 7);
    assert_eq!(
        in_lines("Ip6OutNoRoutes   \t2\nUdp6NoPorts\t1\nUdpLite6NoPorts \t8\nIp6InNoRoutes\t8\n"),
        3
    );
    assert_eq!(in_tables("") + in_lines(""), 0);
}
