use super::{Clue, Refuses, find};

#[test]
fn paths_of_refused_writes_are_found_in_messages_of_programs() {
    for (stderr, expected) in [
        ("touch: cannot touch '/usr/x': Read-only file system", "/usr/x"),
        ("mkdir: cannot create directory ‘/root/a b’: Read-only file system", "/root/a b"),
        ("/usr/bin/bash: line 1: /etc/xx: Read-only file system", "/etc/xx"),
        ("mv: cannot move './a' to '/usr/a': Read-only file system", "/usr/a"),
        ("OSError: [Errno 30] Read-only file system: '/usr/y'", "/usr/y"),
        ("Error: EROFS: read-only file system, open '/usr/z'", "/usr/z"),
        ("fatal: cannot mkdir /usr/zz: Read-only file system", "/usr/zz"),
        ("open /root/go/pkg/x: read-only file system", "/root/go/pkg/x"),
        ("couldn't write `/usr/q`: Read-only file system", "/usr/q"),
        ("error: could not write config file .git/config: Device or resource busy", ".git/config"),
        ("touch: cannot touch 'a': Read-only file system", "a"),
        ("/usr/bin/bash: line 1: b: Read-only file system", "b"),
        ("OSError: [Errno 30] Read-only file system: 'c'", "c"),
        ("java.io.FileNotFoundException: /usr/j (Read-only file system)", "/usr/j"),
        (
            "error: failed to create directory `/c/registry`\n\nCaused by:\n  Read-only file system \
             (os error 30)",
            "/c/registry",
        ),
        (
            "npm error code EROFS\nnpm error syscall mkdir\nnpm error path /h/.npm/_cacache",
            "/h/.npm/_cacache",
        ),
    ] {
        assert_eq!(find(stderr, Refuses::ByMounts), [Clue::Write(expected)], "{stderr}");
    }
    let denied = "PermissionError: [Errno 13] Permission denied: '/usr/y'";
    assert_eq!(find(denied, Refuses::ByRules), [Clue::Write("/usr/y")]);
    assert_eq!(find(denied, Refuses::ByMounts), []);
    for (stderr, expected) in [
        ("touch: cannot touch 'a': Permission denied", "a"),
        ("/usr/bin/bash: line 1: b: Permission denied", "b"),
        ("sh: 1: cannot create c: Permission denied", "c"),
        (
            "E: Could not open lock file /var/lib/x/lock - open (13: Permission denied)",
            "/var/lib/x/lock",
        ),
    ] {
        assert_eq!(find(stderr, Refuses::ByRules), [Clue::Write(expected)], "{stderr}");
    }
}

#[test]
fn refused_unix_sockets_are_found_in_messages_of_programs() {
    for stderr in [
        "permission denied while trying to connect to the Docker daemon socket at \
         unix:///var/run/docker.sock: dial unix /var/run/docker.sock: socket: operation not permitted",
        "psql: error: connection to server on socket \"/var/run/postgresql/.s.PGSQL.5432\" failed: \
         could not create socket: Operation not permitted",
    ] {
        for refuses in [Refuses::ByMounts, Refuses::ByRules] {
            assert_eq!(find(stderr, refuses), [Clue::UnixSocket], "{stderr}");
        }
    }
}

#[test]
fn failed_connections_are_found_in_messages_of_programs() {
    for stderr in [
        "curl: (6) Could not resolve host: example.org",
        "curl: (7) Failed to connect to 1.2.3.4 port 80 after 0 ms: Couldn't connect to server",
        "wget: unable to resolve host address ‘example.org’",
        "socket.gaierror: [Errno -2] Name or service not known",
        "npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\nnpm error errno EAI_AGAIN\n\
         npm error request to https://a.example/x failed, reason: getaddrinfo EAI_AGAIN a.example",
        "dial tcp: lookup a.example: no such host",
        "  File \"socket.py\"\nPermissionError: [Errno 1] Operation not permitted",
    ] {
        assert_eq!(find(stderr, Refuses::ByRules), [Clue::Connect], "{stderr}");
        // The counters of the kernel are better evidence.
        assert_eq!(find(stderr, Refuses::ByMounts), [], "{stderr}");
    }
}

#[test]
fn ordinary_failures_are_no_clues() {
    for stderr in [
        "",
        "ls: cannot access '/nowhere': No such file or directory",
        "error: test failed, to rerun pass `--lib`",
        "chown: changing ownership of 'f': Operation not permitted",
        "Read-only file system",
        "error: Read-only file system (os error 30)",
        "git@github.com: Permission denied (publickey).",
        "ssh: Permission denied",
    ] {
        assert_eq!(find(stderr, Refuses::ByRules), [], "{stderr}");
        assert_eq!(find(stderr, Refuses::ByMounts), [], "{stderr}");
    }
}
