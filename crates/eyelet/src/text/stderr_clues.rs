//! Signs in the output of a command that the sandbox refused something.

/// How the sandbox refuses things, and so what programs print then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refuses {
    /// With read-only mounts. The kernel counts refused connections.
    ByMounts,
    /// With Landlock and seccomp alone.
    ByRules,
}

/// A sign of one refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clue<'t> {
    /// A connection or the look-up of a name failed.
    Connect,
    /// A Unix socket could not be created.
    UnixSocket,
    /// This path, as the program names it, could not be written.
    Write(&'t str),
}

/// What programs print about a write to a read-only mount or to a mount point.
const MOUNTED: &[&str] = &["read-only file system", "device or resource busy", "erofs"];
/// What programs print about a write that Landlock refuses.
const DENIED: &[&str] = &["permission denied", "eacces"];
/// The codes among them: npm prints the path in a later line.
const CODES: &[&str] = &["erofs", "eacces"];
/// What programs print about a name or a host that they cannot reach.
const UNREACHABLE: &[&str] = &[
    "resolve host",
    "name resolution",
    "name or service not known",
    "no address associated with hostname",
    "could not translate host name",
    "failed to lookup address",
    "no such host",
    "getaddrinfo e",
    "network is unreachable",
    "enetunreach",
    "connect eperm",
    "couldn't connect to server",
];
/// What programs print if they cannot create a socket, after its name.
const NO_SOCKET: &str = "operation not permitted";
/// How the lines of programs that use Unix sockets name these.
const UNIX_SOCKETS: &[&str] = &["unix", ".sock", "/.s."];

/// How far the path may be from the reason, in lines.
const NEAR: usize = 3;

/// All clues in `text`, in the order of its lines.
pub(crate) fn find(text: &str, refuses: Refuses) -> Vec<Clue<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut clues = Vec::new();
    let mut mentions_socket = false;
    for (number, line) in lines.iter().enumerate() {
        let lower = line.to_ascii_lowercase();
        mentions_socket |= lower.contains("socket");
        let reasons = match refuses {
            Refuses::ByMounts => MOUNTED,
            Refuses::ByRules => DENIED,
        };
        let names_unix_socket = || UNIX_SOCKETS.iter().any(|words| lower.contains(words));
        if lower.contains(NO_SOCKET) && names_unix_socket() {
            clues.push(Clue::UnixSocket);
            continue;
        }
        let reason = reasons.iter().find_map(|reason| Some((*reason, lower.find(reason)?)));
        if let Some((reason, at)) = reason {
            let path = path_near(&lines, number, reason, line.get(..at).unwrap_or_default());
            clues.extend(path.map(Clue::Write));
        } else if refuses == Refuses::ByRules {
            let has_no_socket = mentions_socket && lower.contains(NO_SOCKET);
            if has_no_socket || UNREACHABLE.iter().any(|words| lower.contains(words)) {
                clues.push(Clue::Connect);
            }
        }
    }
    clues
}

/// The path that the line of the reason or one near it names.
fn path_near<'t>(
    lines: &[&'t str],
    number: usize,
    reason: &str,
    before_reason: &'t str,
) -> Option<&'t str> {
    let line = lines.get(number)?;
    let is_code = CODES.contains(&reason);
    let bare = || (!is_code).then(|| bare_name(line, before_reason, reason)).flatten();
    let here = quoted_path(line).or_else(|| last_word(before_reason));
    let here = here.or_else(|| absolute_word(before_reason)).or_else(bare);
    here.or_else(|| match is_code {
        true => lines.iter().skip(number + 1).take(NEAR).find_map(|line| path_in(line)),
        // A chain of causes names the path first.
        false => {
            let before = lines.get(..number).unwrap_or_default();
            before.iter().rev().take(NEAR).find_map(|line| path_in(line))
        }
    })
}

fn path_in(line: &str) -> Option<&str> {
    quoted_path(line).or_else(|| last_word(line))
}

/// The last path in quotes: a program that moves a file names the target last.
fn quoted_path(line: &str) -> Option<&str> {
    quoted(line).rev().find(|piece| is_path(piece) && !piece.contains(": "))
}

/// A name without directories: in quotes, or before the reason as in `bash: line 1: NAME: Permission denied`.
fn bare_name<'t>(line: &'t str, before_reason: &'t str, reason: &str) -> Option<&'t str> {
    let unquoted = || {
        let (others, word) = before_reason.trim_end().strip_suffix(':')?.rsplit_once(' ')?;
        // Much else than the write of a file can be denied.
        let is_shell = [" line ", "cannot create"].iter().any(|words| others.contains(words));
        let is_sure = is_shell || !DENIED.contains(&reason);
        (is_sure && word != "error").then_some(word)
    };
    let is_name = |name: &&str| !name.is_empty() && !name.contains(['@', ' ', ':']);
    quoted(line).next_back().or_else(unquoted).filter(is_name)
}

/// The pieces in quotes. An apostrophe counts as a quote too.
fn quoted(line: &str) -> impl DoubleEndedIterator<Item = &str> {
    let is_quote = |letter: char| matches!(letter, '\'' | '"' | '`' | '‘' | '’' | '“' | '”');
    let mut pieces: Vec<&str> = line.split(is_quote).collect();
    // The last piece is behind all quotes.
    pieces.pop();
    pieces.into_iter().skip(1)
}

/// The last absolute path before the reason. The name of a program has a colon behind it.
fn absolute_word(text: &str) -> Option<&str> {
    let is_absolute =
        |word: &&str| word.starts_with(['/', '~']) && is_path(word) && !word.ends_with(':');
    text.split_ascii_whitespace().rev().find(is_absolute)
}

/// The last word, without the colon that ends a part of a message.
fn last_word(text: &str) -> Option<&str> {
    let word = text.trim_end().trim_end_matches(':').split_ascii_whitespace().next_back()?;
    is_path(word).then_some(word)
}

fn is_path(text: &str) -> bool {
    text.len() > 1 && text.starts_with(['/', '.', '~']) && !text.ends_with("..")
}

#[cfg(test)]
#[path = "stderr_clues_tests.rs"]
mod tests;
