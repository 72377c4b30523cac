//! The secret that every request over HTTP has to bear.

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// How many random bytes a token has that we make.
const RANDOM_BYTES: usize = 32;
/// A shorter one could be guessed.
const MIN_BYTES: usize = 16;
/// A longer file is no token.
const MAX_BYTES: u64 = 4096;

/// The secret that every request over HTTP has to bear.
pub struct Token(String);

impl Token {
    /// A new one of 256 random bits.
    ///
    /// # Errors
    /// Where the system has no random bytes.
    pub fn random() -> io::Result<Token> {
        let mut bytes = [0; RANDOM_BYTES];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let mut text = String::new();
        for byte in bytes {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Token(text))
    }

    /// The one in a file that nobody else may read.
    ///
    /// # Errors
    /// Where the file cannot be read, others may read it, or it does not hold a token.
    pub fn from_file(path: &Path) -> io::Result<Token> {
        let file = std::fs::File::open(path)?;
        if file.metadata()?.mode() & 0o077 != 0 {
            let message = "others may read it; `chmod 600` makes it private";
            return Err(io::Error::new(ErrorKind::PermissionDenied, message));
        }
        let mut text = String::new();
        file.take(MAX_BYTES).read_to_string(&mut text)?;
        let text = text.trim();
        if text.len() < MIN_BYTES || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!("a token has at least {MIN_BYTES} visible ASCII characters");
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        Ok(Token(text.to_owned()))
    }

    /// The token, to be shown once to the person who starts the server.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether `claim` is the token. How long that takes tells nothing but the length.
    pub(crate) fn is(&self, claim: &[u8]) -> bool {
        let own = self.0.as_bytes();
        if own.len() != claim.len() {
            return false;
        }
        let pairs = own.iter().zip(claim);
        pairs.fold(0, |difference, (a, b)| black_box(difference | (a ^ b))) == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}
