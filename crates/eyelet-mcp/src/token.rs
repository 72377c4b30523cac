//! The bearer token that every HTTP request must carry.

use std::hint::black_box;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The number of random bytes in a generated token.
const RANDOM_BYTES: usize = 32;
/// The minimum length of a token; a shorter one could be guessed.
const MIN_BYTES: usize = 16;
/// The maximum number of bytes to read from a token file.
const MAX_BYTES: u64 = 4096;

/// The bearer token that every HTTP request must carry.
pub struct Token(String);

impl Token {
    /// Generates a token of 256 random bits.
    ///
    /// # Errors
    /// Fails if the system provides no random bytes.
    pub fn random() -> io::Result<Token> {
        let mut bytes = [0; RANDOM_BYTES];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Reads a token from a private file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, other users have access to it, or it does not contain a token.
    pub fn from_file(path: &Path) -> io::Result<Token> {
        let file = std::fs::File::open(path)?;
        if file.metadata()?.mode() & 0o077 != 0 {
            let message = "other users can access it; run `chmod 600` on it";
            return Err(io::Error::new(ErrorKind::PermissionDenied, message));
        }
        let mut text = String::new();
        file.take(MAX_BYTES).read_to_string(&mut text)?;
        let text = text.trim();
        if text.len() < MIN_BYTES || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!(
                "the file must contain a token of at least {MIN_BYTES} printable ASCII characters"
            );
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        Ok(Token(text.to_owned()))
    }

    /// The token as text, to show to the person who starts the server.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Compares in constant time: the duration reveals only the length.
    pub(crate) fn matches(&self, claim: &[u8]) -> bool {
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
