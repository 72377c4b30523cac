//! How many connections a network namespace refused, by the counters of the kernel.

use std::fs;

/// The counters in tables with a line of names and a line of numbers: no route to an address, and datagrams to a
/// port of the loopback interface that nobody uses, such as that of a name server.
const TABLES: &[(&str, &str)] = &[("Ip:", "OutNoRoutes"), ("Udp:", "NoPorts")];
/// The same counters for IPv6, one per line.
const LINES: &[&str] = &["Ip6OutNoRoutes", "Udp6NoPorts"];

/// The sum of the counters in the network namespace of this process; 0 if they cannot be read.
pub(super) fn refused_connections() -> u64 {
    let read = |file| fs::read_to_string(file).unwrap_or_default();
    in_tables(&read("/proc/self/net/snmp")) + in_lines(&read("/proc/self/net/snmp6"))
}

fn in_tables(text: &str) -> u64 {
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_ascii_whitespace().collect()).collect();
    let tables = lines.iter().zip(lines.iter().skip(1));
    let counters = tables.filter(|(names, numbers)| names.first() == numbers.first());
    let counters = counters.flat_map(|(names, numbers)| {
        let table = names.first();
        let wanted = TABLES.iter().filter(move |(name, _)| table == Some(name));
        wanted.filter_map(move |(_, counter)| {
            numbers.get(names.iter().position(|name| name == counter)?)
        })
    });
    counters.filter_map(|number| number.parse::<u64>().ok()).sum()
}

fn in_lines(text: &str) -> u64 {
    let counters = text.lines().filter_map(|line| line.split_once(char::is_whitespace));
    let wanted = counters.filter(|(name, _)| LINES.contains(name));
    wanted.filter_map(|(_, number)| number.trim().parse::<u64>().ok()).sum()
}

#[cfg(test)]
#[path = "network_counters_tests.rs"]
mod tests;
