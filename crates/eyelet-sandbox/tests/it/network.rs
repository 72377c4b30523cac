//! Attacks of sandboxed commands on the network, with sockets of every kind.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::time::Duration;
use testkit::workspace::{FIRST, SECOND, TIERS, Workspace};

/// Python that prints whether `body` succeeds.
fn attempt(body: &str) -> String {
    format!(
        "cat > /dev/null; python3 - <<'PYTHON'\nimport socket, os, ctypes\ntry:\n    {}\n    print('done')\n\
         except OSError as error:\n    print('refused')\nPYTHON",
        body.replace('\n', "\n    ")
    )
}

#[test]
fn no_socket_reaches_the_outside() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    tcp.set_nonblocking(true).unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let udp_port = udp.local_addr().unwrap().port();
    udp.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let path = workspace.at("socket");
    let _unix = UnixListener::bind(&path).unwrap();
    let datagram = UnixDatagram::bind(workspace.at("datagram")).unwrap();
    datagram.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let name = format!("eyelet-test-{port}");
    let _abstract =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();

    let attacks = [
        format!("socket.create_connection(('127.0.0.1', {port}), 2)"),
        format!(
            "s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)\ns.settimeout(2)\ns.connect(('127.0.0.1', {port}))"
        ),
        "socket.socket(socket.AF_UNIX).connect('socket')".to_owned(),
        format!("socket.socket(socket.AF_UNIX).connect('\\0{name}')"),
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\na.sendto(b'x', 'datagram')"
            .to_owned(),
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\na.connect('socket')"
            .to_owned(),
        "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)".to_owned(),
        "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)".to_owned(),
        "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)".to_owned(),
        // io_uring_setup, by its number.
        "if ctypes.CDLL(None).syscall(425, 8, ctypes.create_string_buffer(120)) < 0: raise OSError"
            .to_owned(),
    ];
    for tier in TIERS {
        for attack in &attacks {
            let said = workspace.data(tier, &attempt(attack));
            assert_eq!(said["stdout"], "refused\n", "{tier:?} {attack}: {said}");
        }
        let send = format!(
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {udp_port}))"
        );
        workspace.data(tier, &attempt(&send));
        assert!(udp.recv(&mut [0; 8]).is_err(), "{tier:?}: a datagram came");
        assert!(tcp.accept().is_err(), "{tier:?}: a connection came");
        assert!(datagram.recv(&mut [0; 8]).is_err(), "{tier:?}: a datagram came");
    }
}

#[test]
fn socket_pairs_and_the_private_loopback_work() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    let pair = "a, b = socket.socketpair()\na.send(b'x')\nassert b.recv(1) == b'x'";
    for tier in TIERS {
        assert_eq!(workspace.stdout(tier, &attempt(pair)), "done\n", "{tier:?}");
    }
    let loopback = "l = socket.create_server(('127.0.0.1', 0))\n\
                    c = socket.create_connection(l.getsockname())\nl.accept()[0].send(b'x')\n\
                    assert c.recv(1) == b'x'";
    assert_eq!(workspace.stdout(FIRST, &attempt(loopback)), "done\n");
    assert_eq!(workspace.stdout(SECOND, &attempt(loopback)), "refused\n");
}

#[test]
fn with_network_commands_use_the_callers_network() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let connect = format!("socket.create_connection(('127.0.0.1', {port}), 2)");
    for tier in TIERS {
        let flags = [tier, &["--network"]].concat();
        assert_eq!(workspace.stdout(&flags, &attempt(&connect)), "done\n", "{tier:?}");
        // Files outside are still protected.
        assert!(workspace.fails(&flags, "echo x > $OUT/x"));
    }
}

#[test]
fn with_network_unix_sockets_outside_stay_unreachable() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    // Like docker.sock and the sockets of D-Bus and systemd.
    let outside = workspace.outside().join("socket");
    let service = UnixListener::bind(&outside).unwrap();
    service.set_nonblocking(true).unwrap();
    let inside = UnixListener::bind(workspace.at("socket")).unwrap();
    inside.set_nonblocking(true).unwrap();
    let name = format!("eyelet-test-{}", testkit::workspace::marker());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let hidden = UnixListener::bind_addr(&address).unwrap();
    hidden.set_nonblocking(true).unwrap();
    let attacks = [
        "socket.socket(socket.AF_UNIX).connect(os.environ['OUT'] + '/socket')".to_owned(),
        "socket.socket(socket.AF_UNIX).connect('socket')".to_owned(),
        format!("socket.socket(socket.AF_UNIX).connect('\\0{name}')"),
        "socket.socket(socket.AF_UNIX).bind('new')".to_owned(),
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)".to_owned(),
        "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)".to_owned(),
        "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)".to_owned(),
        // NETLINK_USERSOCK, through which programs talk to each other.
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 2)".to_owned(),
    ];
    for tier in TIERS {
        let flags = [tier, &["--network"]].concat();
        for attack in &attacks {
            let said = workspace.stdout(&flags, &attempt(attack));
            assert_eq!(said, "refused\n", "{tier:?} {attack}");
        }
        for listener in [&service, &inside, &hidden] {
            assert!(listener.accept().is_err(), "{tier:?}: a connection came");
        }
    }
}

#[test]
fn with_network_names_are_resolved_and_interfaces_listed() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    // The C library asks its cache through a Unix socket first, and lists interfaces over netlink.
    let body = "assert socket.getaddrinfo('localhost', 80)\nassert socket.if_nameindex()\n\
                import pwd\nassert pwd.getpwuid(0).pw_name == 'root'";
    for tier in TIERS {
        let flags = [tier, &["--network"]].concat();
        assert_eq!(workspace.stdout(&flags, &attempt(body)), "done\n", "{tier:?}");
    }
}

#[test]
fn socket_pairs_of_raw_and_datagram_type_are_refused() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    let listener = UnixDatagram::bind(workspace.at("datagram")).unwrap();
    listener.set_nonblocking(true).unwrap();
    for tier in TIERS {
        for network in [&[][..], &["--network"]] {
            let flags = [tier, network].concat();
            // The kernel makes a datagram socket of SOCK_RAW, which can send to any path.
            for kind in ["SOCK_RAW", "SOCK_DGRAM", "SOCK_RDM", "SOCK_RAW | socket.SOCK_NONBLOCK"] {
                let attack = format!(
                    "a, b = socket.socketpair(socket.AF_UNIX, socket.{kind})\na.sendto(b'x', 'datagram')"
                );
                let said = workspace.stdout(&flags, &attempt(&attack));
                assert_eq!(said, "refused\n", "{flags:?} {kind}");
                assert!(listener.recv(&mut [0; 8]).is_err(), "{flags:?}: a datagram came");
            }
            for kind in ["SOCK_STREAM", "SOCK_SEQPACKET", "SOCK_STREAM | socket.SOCK_CLOEXEC"] {
                let pair = format!(
                    "a, b = socket.socketpair(socket.AF_UNIX, socket.{kind})\na.send(b'x')\nassert b.recv(1) == b'x'"
                );
                let said = workspace.stdout(&flags, &attempt(&pair));
                assert_eq!(said, "done\n", "{flags:?} {kind}");
            }
        }
    }
}

#[test]
fn system_calls_of_another_abi_kill_the_process() {
    if !cfg!(target_arch = "x86_64") {
        return testkit::skip("not x86_64");
    }
    let workspace = Workspace::new("");
    // getpid by its x32 number, and through the 32-bit system call gate.
    let x32 = "printf '#include <unistd.h>\\nint main(){return syscall(0x40000000 + 39) < 0;}' > x.c && cc -w -o x x.c && ./x";
    let gate = "printf '#include <stdio.h>\\nint main(){int r;__asm__ volatile(\"int $0x80\":\"=a\"(r):\"a\"(20));printf(\"%%d\",r);}' > a.c && cc -o a a.c && ./a";
    // clone3 through the gate; by its native number it only fails with ENOSYS.
    let clone3 = gate.replace("(20)", "(435)");
    for tier in TIERS {
        for command in [x32, gate, &clone3] {
            let data = workspace.data(tier, &format!("({command}); echo $?"));
            assert_eq!(data["stdout"], "159\n", "{tier:?} {command}: {data}");
        }
    }
}
