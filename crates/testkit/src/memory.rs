//! What a process costs.

/// The most memory that this process ever held, in bytes.
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells it");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux tells it");
    let kibibytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    kibibytes.expect("a number of KiB") * 1024
}

/// Runs `body` in a process of its own, so that other tests do not disturb what it measures.
/// `test` is the full name of the test that calls this.
pub fn in_own_process(test: &str, body: impl FnOnce()) {
    const ALONE: &str = "EYELET_TEST_ALONE";
    if std::env::var_os(ALONE).is_some_and(|alone| alone == test) {
        return body();
    }
    let output = std::process::Command::new(std::env::current_exe().expect("Linux tells it"))
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, test)
        .output()
        .expect("the test binary starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    // A name that matches no test would pass and prove nothing.
    let ran = stdout.contains("running 1 test");
    assert!(
        output.status.success() && ran,
        "{test} alone: {stdout}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Base64 as RFC 4648 says, the slow and obvious way.
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut bits = 0u32;
        for index in 0..3 {
            bits = bits << 8 | u32::from(group.get(index).copied().unwrap_or(0));
        }
        for index in 0..4 {
            let digit = (bits >> (18 - 6 * index)) & 63;
            text.push(if index <= group.len() {
                char::from(ALPHABET[digit as usize])
            } else {
                '='
            });
        }
    }
    text
}
