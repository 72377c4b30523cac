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
