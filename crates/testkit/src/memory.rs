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
    in_own_process_after("", test, body);
}

/// The same, where the shell command `before` has changed the process first: `umask 000`.
pub fn in_own_process_after(before: &str, test: &str, body: impl FnOnce()) {
    const ALONE: &str = "EYELET_TEST_ALONE";
    let key = if before.is_empty() { test } else { before };
    // In a process of its own only the body that it was started for runs, and nothing is started.
    if let Some(alone) = std::env::var_os(ALONE) {
        if alone == key {
            body();
        }
        return;
    }
    let output = std::process::Command::new("bash")
        .args(["-c", &format!("{before}\nexec \"$0\" --exact \"$1\" --nocapture")])
        .arg(std::env::current_exe().expect("Linux tells it"))
        .arg(test)
        .env(ALONE, key)
        .output()
        .expect("bash starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    // A name that matches no test would pass and prove nothing.
    assert!(
        output.status.success() && stdout.contains("1 passed"),
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
