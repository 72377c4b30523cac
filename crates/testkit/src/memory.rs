//! Memory measurements, and tests that need their own process.

/// The peak resident set size of this process in bytes.
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux reports VmHWM");
    let kibibytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    kibibytes.expect("a number of KiB") * 1024
}

/// Runs `body` in its own process, so other tests do not affect its measurements.
/// `test` is the full name of the test that calls this.
pub fn in_own_process(test: &str, body: impl FnOnce()) {
    in_own_process_after("", test, body);
}

/// Like [`in_own_process`], after the shell command `before`, such as `umask 000`.
pub fn in_own_process_after(before: &str, test: &str, body: impl FnOnce()) {
    const ALONE: &str = "EYELET_TEST_ALONE";
    let key = if before.is_empty() { test } else { before };
    // The child process runs only the body that it was started for, and starts no other process.
    if let Some(alone) = std::env::var_os(ALONE) {
        if alone == key {
            body();
        }
        return;
    }
    let output = std::process::Command::new("bash")
        .args(["-c", &format!("{before}\nexec \"$0\" --exact \"$1\" --nocapture")])
        .arg(std::env::current_exe().expect("the test program has a path"))
        .arg(test)
        .env(ALONE, key)
        .output()
        .expect("bash starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    // A name that matches no test would pass without running anything.
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "{test} alone: {stdout}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A simple Base64 encoder (RFC 4648).
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
