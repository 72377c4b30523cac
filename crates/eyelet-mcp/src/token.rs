//! The bearer token that every HTTP request must carry.

use std::fs::{self, DirBuilder, OpenOptions};
use std::hint::black_box;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process;

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
            let message = "other users can access the file; run `chmod 600` on it";
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

    /// Writes the token to a file that only the user can read, and creates its directory if necessary. Replaces
    /// the file if it exists.
    ///
    /// # Errors
    /// Fails if the directory or the file cannot be written.
    pub fn write_to(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut new = path.to_owned().into_os_string();
        new.push(format!(".{}", process::id()));
        // A file of this name is left from a process that was killed.
        let _ = fs::remove_file(&new);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        let written = writeln!(file, "{}", self.0).and_then(|()| fs::rename(&new, path));
        written.inspect_err(|_| drop(fs::remove_file(&new)))
    }

    /// Returns the token as text, to show to the person who starts the server.
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
