//! A temporary directory tree, described by a string.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// A directory tree that is deleted on drop.
pub struct TempTree {
    folder: tempfile::TempDir,
    root: PathBuf,
}

impl TempTree {
    /// Creates a tree. Each line of `description` is one entry; indentation is ignored:
    ///
    /// ```text
    /// src/                 a directory
    /// src/main.rs = fn     a file with content; \n, \t, \r, \0 and \\ are escapes
    /// notes.txt            an empty file
    /// link -> src/main.rs  a symlink
    /// ```
    ///
    /// Missing parents are created.
    pub fn new(description: &str) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("eyelet-test-")
            .tempdir()
            .expect("the temp directory is writable");
        let root = folder.path().canonicalize().expect("the temp directory exists").join("w");
        fs::create_dir(&root).expect("the temp directory is new");
        let tree = TempTree { folder, root };
        for line in description.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some((path, target)) = line.split_once(" -> ") {
                tree.link(path, target);
            } else if let Some((path, content)) = line.split_once(" = ") {
                tree.file(path, unescape(content));
            } else if let Some(path) = line.strip_suffix('/') {
                tree.dir(path);
            } else {
                tree.file(line.trim_end_matches(" ="), "");
            }
        }
        tree
    }

    /// The directory, without symlinks in its path.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The directory as text.
    pub fn str(&self) -> &str {
        self.root.to_str().expect("temp paths are UTF-8")
    }

    /// A directory outside the tree that is deleted with it.
    pub fn beside(&self) -> PathBuf {
        let beside = self.folder.path().canonicalize().expect("it exists").join("beside");
        fs::create_dir_all(&beside).expect("the temp directory is writable");
        beside
    }

    /// The absolute path of something in the tree, as text.
    pub fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.str())
    }

    /// Creates a directory and its parents.
    pub fn dir(&self, path: impl AsRef<OsStr>) -> PathBuf {
        let path = self.root.join(path.as_ref());
        fs::create_dir_all(&path).expect("the tree is writable");
        path
    }

    /// Writes a file and creates its parents.
    pub fn file(&self, path: impl AsRef<OsStr>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(path.as_ref());
        fs::create_dir_all(path.parent().expect("below the root")).expect("the tree is writable");
        fs::write(&path, content).expect("the tree is writable");
        path
    }

    /// Creates a symlink and its parents.
    pub fn link(&self, path: impl AsRef<OsStr>, target: impl AsRef<Path>) -> PathBuf {
        let path = self.root.join(path.as_ref());
        fs::create_dir_all(path.parent().expect("below the root")).expect("the tree is writable");
        symlink(target, &path).expect("the tree is writable");
        path
    }

    /// Creates FIFOs with one command.
    pub fn fifos<P: AsRef<OsStr>>(&self, names: impl IntoIterator<Item = P>) {
        let mut mkfifo = Command::new("mkfifo");
        mkfifo.args(names.into_iter().map(|name| self.root.join(name.as_ref())));
        assert!(mkfifo.status().expect("mkfifo runs").success());
    }

    /// Sets the modification time of a file to `seconds` after a fixed time.
    pub fn modified(&self, path: impl AsRef<OsStr>, seconds: u64) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds);
        fs::File::options()
            .write(true)
            .open(self.root.join(path.as_ref()))
            .and_then(|file| file.set_modified(time))
            .expect("the file exists");
    }

    /// `text` with the tree's own path replaced by `/repo`, for snapshots.
    pub fn redact(&self, text: &str) -> String {
        text.replace(self.str(), "/repo")
    }
}

fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        plain.push(match characters.next() {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('0') => '\0',
            Some('\\') => '\\',
            other => panic!("unknown escape {other:?} in a tree"),
        });
    }
    plain
}
