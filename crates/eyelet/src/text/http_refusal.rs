//! Finds the answer of a server that requires credentials in the output of a command.

/// Other words in the line of a status: `401` alone may be the number of a line.
const NEAR_STATUS: &[&str] =
    &["http", "unauthorized", "forbidden", "status", "credentials", "returned error"];
/// What git, cargo and pip print instead of the status 401.
const UNAUTHORIZED: &[&str] = &[
    "could not read username",
    "no token found for",
    "authenticated registries require a credential-provider",
    "in handle_401",
];

/// The first HTTP status 401 or 403 in `text`.
pub(crate) fn find(text: &str) -> Option<u16> {
    text.lines().find_map(status_in)
}

fn status_in(line: &str) -> Option<u16> {
    let lower = line.to_ascii_lowercase();
    let is_about_http = NEAR_STATUS.iter().any(|word| lower.contains(word));
    if UNAUTHORIZED.iter().any(|words| lower.contains(words)) {
        return Some(401);
    }
    // Right after a colon, a number is a port or the number of a line.
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != ':');
    words.map(|word| word.trim_end_matches(':')).find_map(|word| match word {
        "e401" => Some(401),
        "e403" => Some(403),
        "401" if is_about_http => Some(401),
        "403" if is_about_http => Some(403),
        _ => None,
    })
}

#[cfg(test)]
#[path = "http_refusal_tests.rs"]
mod tests;
