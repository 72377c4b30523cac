//! Random repositories and searches that depend only on a seed.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::choices::Choices;
use crate::random_words::{GLOBS, INCLUDES, LINES, NAMES, PATTERNS};
use crate::tree::TempTree;

/// A random tree with ignore files, repositories, unusual names and contents, and a home directory
/// that may contain git excludes.
pub struct RandomRepo<'c> {
    tree: TempTree,
    rng: Choices<'c>,
    home: PathBuf,
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    links: Vec<PathBuf>,
    leaves_root: bool,
    /// Whether files may have long lines; otherwise they may have a NUL after the first buffer. Never both:
    /// a long line grows rg's buffer, so rg finds such a NUL earlier in the files that follow.
    long_lines: bool,
}

/// One search in a [`RandomRepo`].
#[derive(Clone, Debug)]
pub struct RandomQuery {
    /// The regular expression.
    pub pattern: String,
    /// The glob, if any.
    pub include: Option<String>,
    /// The `path` argument, if any.
    pub path: Option<String>,
    /// The working directory.
    pub cwd: PathBuf,
}

impl RandomRepo<'static> {
    /// The repository of a seed.
    pub fn new(seed: u64) -> Self {
        let long_lines = seed % 2 == 0;
        RandomRepo::chosen(Choices::random(seed), long_lines)
    }
}

impl<'c> RandomRepo<'c> {
    /// The repository that `rng` chooses, with or without long lines.
    pub fn chosen(rng: Choices<'c>, long_lines: bool) -> Self {
        let tree = TempTree::new("");
        let home = tree.beside().join("home");
        fs::create_dir_all(&home).expect("the temp folder is writable");
        let mut repo = RandomRepo {
            folders: vec![tree.path().to_owned()],
            tree,
            rng,
            home,
            files: Vec::new(),
            links: Vec::new(),
            leaves_root: false,
            long_lines,
        };
        repo.fill(repo.tree.path().to_owned(), 0);
        repo.fill_home();
        repo
    }

    /// The top directory of the tree.
    pub fn root(&self) -> &Path {
        self.tree.path()
    }

    /// The home directory.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Whether the search uses files outside the tree.
    pub fn leaves_root(&self) -> bool {
        self.leaves_root
    }

    /// Describes the files that control which files are searched, for the report of a mismatch.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for top in [self.root().to_owned(), self.tree.beside()] {
            describe(&top, &mut text);
        }
        text
    }

    /// The next random search.
    pub fn query(&mut self) -> RandomQuery {
        let cwd = match self.rng.u32(..10) {
            0..7 => self.root().to_owned(),
            7..9 => self.some_folder(),
            _ => {
                let link = self.tree.beside().join("cwd");
                if !link.is_symlink() {
                    std::os::unix::fs::symlink(self.root(), &link).expect("it is new");
                }
                self.leaves_root = true;
                link
            }
        };
        let rng = &mut self.rng;
        let pattern = PATTERNS[rng.usize(..PATTERNS.len())].to_owned();
        let include = (rng.u32(..3) == 0).then(|| INCLUDES[rng.usize(..INCLUDES.len())].to_owned());
        RandomQuery { pattern, include, path: self.some_path(&cwd), cwd }
    }

    fn some_folder(&mut self) -> PathBuf {
        self.folders[self.rng.usize(..self.folders.len())].clone()
    }

    /// The path of a directory, file or symlink in one of several spellings.
    fn some_path(&mut self, cwd: &Path) -> Option<String> {
        let mut path = match self.rng.u32(..10) {
            0..2 => return None,
            2..6 => self.some_folder(),
            6 | 7 if !self.links.is_empty() => {
                self.links[self.rng.usize(..self.links.len())].clone()
            }
            8 if !self.files.is_empty() => self.files[self.rng.usize(..self.files.len())].clone(),
            _ => self.root().to_owned(),
        };
        match self.rng.u32(..8) {
            0 => path = path.strip_prefix(cwd).map(Path::to_owned).unwrap_or(path),
            1 if path.is_dir() => path.push("../w"),
            2 => path.push("."),
            3 if path != self.root() => {
                let name = path.file_name().map(OsStr::to_owned);
                path.pop();
                path.push("./");
                path.extend(name);
            }
            _ => {}
        }
        path.into_os_string().into_string().ok()
    }

    fn fill(&mut self, folder: PathBuf, depth: u32) {
        if self.rng.u32(..4) == 0 || (depth == 0 && self.rng.bool()) {
            self.start_repository(&folder);
        }
        if self.rng.u32(..16) == 0 {
            let _ = fs::create_dir(folder.join(".jj"));
        }
        for name in [".gitignore", ".ignore", ".rgignore"] {
            if self.rng.u32(..5) == 0 || (name == ".gitignore" && self.rng.u32(..3) == 0) {
                let rules = self.rules();
                let _ = fs::write(folder.join(name), rules);
            }
        }
        for _ in 0..self.rng.usize(..6) {
            let path = folder.join(self.name());
            if path.symlink_metadata().is_err() {
                self.write(&path);
                self.files.push(path);
            }
        }
        if self.rng.u32(..3) == 0 {
            self.link(&folder);
        }
        if depth == 4 {
            return;
        }
        for _ in 0..self.rng.usize(..if depth == 0 { 5 } else { 3 }) {
            let path = folder.join(self.name());
            if fs::create_dir(&path).is_ok() {
                self.folders.push(path.clone());
                self.fill(path, depth + 1);
            }
        }
    }

    fn name(&mut self) -> OsString {
        if self.rng.u32(..40) == 0 {
            return OsStr::from_bytes(b"bad\xff.rs").to_owned();
        }
        common_name(&mut self.rng).into()
    }

    fn start_repository(&mut self, folder: &Path) {
        let git = folder.join(".git");
        match self.rng.u32(..6) {
            0 => {
                self.leaves_root = true;
                let main = self.tree.beside().join(format!("main{}", self.folders.len()));
                let pointed = main.join(".git/worktrees/wt");
                fs::create_dir_all(&pointed).expect("it is new");
                fs::create_dir_all(main.join(".git/info")).expect("it is new");
                let common = match self.rng.u32(..3) {
                    0 => "../..\n".to_owned(),
                    1 => format!("{}\r\n", main.join(".git").display()),
                    _ => "nowhere".to_owned(),
                };
                let _ = fs::write(pointed.join("commondir"), common);
                let _ = fs::write(main.join(".git/info/exclude"), self.rules());
                let _ = fs::write(&git, format!("gitdir: {}\n", pointed.display()));
            }
            1 => {
                let odd: &[&[u8]] = &[b"", b"gitdir:x", b"gitdir: /nowhere\n", b"\xff\n", b"none"];
                let _ = fs::write(&git, odd[self.rng.usize(..odd.len())]);
            }
            2 => {
                let _ = std::os::unix::fs::symlink("nowhere", &git);
            }
            3 => {
                let real = folder.join(".real-git");
                let _ = fs::create_dir_all(real.join("info"));
                let _ = fs::write(real.join("info/exclude"), self.rules());
                let _ = std::os::unix::fs::symlink(".real-git", &git);
            }
            kind => {
                let _ = fs::create_dir_all(git.join("info"));
                let _ = fs::write(git.join("config"), "needle\n");
                if kind % 2 == 0 {
                    let _ = fs::write(git.join("info/exclude"), self.rules());
                }
            }
        }
    }

    /// The bytes of an ignore file.
    fn rules(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.rng.u32(..12) == 0 {
            bytes.extend("\u{feff}".bytes());
        }
        for _ in 0..self.rng.usize(..6) {
            let rng = &mut self.rng;
            match rng.u32(..20) {
                0 => bytes.extend(b"# a comment"),
                1 => {}
                2 if rng.u32(..4) == 0 => bytes.extend(b"bad\xff"),
                _ => bytes.extend(rule(rng).bytes()),
            }
            bytes.extend(match self.rng.u32(..12) {
                0 => &b"\r\n"[..],
                1 => b"  \n",
                2 => b"\t\n",
                _ => b"\n",
            });
        }
        if self.rng.u32(..4) == 0 {
            bytes.pop();
        }
        bytes
    }

    fn write(&mut self, path: &Path) {
        let content = self.content();
        fs::write(path, content).expect("the tree is writable");
        let time = SystemTime::UNIX_EPOCH
            + Duration::from_secs(1_700_000_000 + self.rng.u64(..3))
            + Duration::from_nanos(self.rng.u64(..3));
        let file = fs::File::options().write(true).open(path).expect("it was written");
        file.set_modified(time).expect("it is ours");
    }

    fn content(&mut self) -> Vec<u8> {
        let rng = &mut self.rng;
        let mut text = String::new();
        for _ in 0..rng.usize(..5) {
            text.push_str(LINES[rng.usize(..LINES.len())]);
            text.push_str(if rng.u32(..8) == 0 { "\r\n" } else { "\n" });
        }
        if rng.u32(..4) == 0 {
            text.pop();
        }
        let mut bytes = text.into_bytes();
        match rng.u32(..24) {
            0 => bytes.clear(),
            1 => bytes.insert(0, 0),
            2 => bytes.push(0),
            3 => bytes.insert(rng.usize(..=bytes.len()), 0),
            4 => bytes.insert(rng.usize(..=bytes.len()), 0xff),
            5 => return utf16(&bytes, u16::to_le_bytes),
            6 => return utf16(&bytes, u16::to_be_bytes),
            7 => drop(bytes.splice(0..0, *b"\xef\xbb\xbf")),
            // Lengths around the searcher's buffer of 64 KiB.
            kind @ 8..12 if !self.long_lines => {
                let filler = if kind == 8 { "filler needl\n" } else { "filler line\n" };
                let mut long = filler.repeat(rng.usize(5000..7000)).into_bytes();
                if kind > 9 {
                    long.push(0);
                }
                if kind == 11 {
                    long.extend(bytes);
                    return long;
                }
                bytes.extend(long);
            }
            8..12 => bytes.extend("x".repeat(rng.usize(60_000..200_000)).bytes()),
            _ => {}
        }
        bytes
    }

    fn link(&mut self, folder: &Path) {
        let path = folder.join(format!("link{}", self.links.len()));
        let target = match self.rng.u32(..4) {
            0 => PathBuf::from("nowhere"),
            1 if !self.files.is_empty() => self.files[self.rng.usize(..self.files.len())].clone(),
            _ => self.some_folder(),
        };
        let target = if self.rng.bool() && folder.starts_with(&target) {
            PathBuf::from("..")
        } else {
            target
        };
        if std::os::unix::fs::symlink(target, &path).is_ok() && path.exists() {
            self.links.push(path);
        }
    }

    fn fill_home(&mut self) {
        match self.rng.u32(..6) {
            0 => {
                let _ = fs::create_dir_all(self.home.join(".config/git"));
                let _ = fs::write(self.home.join(".config/git/ignore"), self.rules());
            }
            1 => {
                let value = ["~/own", "\"~/own\"", "  ~/own  ", "nowhere"][self.rng.usize(..4)];
                let config = format!("[user]\n\tname = x\n[core]\n\texcludesFile = {value}\n");
                let _ = fs::write(self.home.join(".gitconfig"), config);
                let _ = fs::write(self.home.join("own"), self.rules());
            }
            2 => {
                let _ = fs::create_dir_all(self.home.join(".config/git"));
                let config = "[core]\nEXCLUDESFILE=~/own";
                let _ = fs::write(self.home.join(".config/git/config"), config);
                let _ = fs::write(self.home.join("own"), self.rules());
            }
            _ => {}
        }
    }
}

/// Every ignore file below `folder`, and everything about repositories.
fn describe(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if let Ok(target) = fs::read_link(&path) {
            text.push_str(&format!("{} -> {}\n", path.display(), target.display()));
        } else if path.is_dir() {
            if name.starts_with(".git") || name == ".jj" {
                text.push_str(&format!("{}/\n", path.display()));
            }
            describe(&path, text);
        } else if ["ignore", "exclude", ".git", ".gitconfig", "commondir", "own"]
            .iter()
            .any(|end| name.ends_with(end))
        {
            let content = fs::read(&path).unwrap_or_default();
            text.push_str(&format!("{} = {}\n", path.display(), content.escape_ascii()));
        }
    }
}

/// A name, mostly one of twelve, so rules match files often.
fn common_name(rng: &mut Choices) -> &'static str {
    let most = if rng.u32(..5) < 3 { 12 } else { NAMES.len() };
    NAMES[rng.usize(..most)]
}

/// One line of an ignore file.
fn rule(rng: &mut Choices) -> String {
    let piece = |rng: &mut Choices| {
        if rng.bool() { common_name(rng) } else { GLOBS[rng.usize(..GLOBS.len())] }
    };
    let mut rule = piece(rng).to_owned();
    if rng.u32(..4) == 0 {
        rule = format!("{rule}/{}", piece(rng));
    }
    if rng.u32(..5) == 0 {
        rule.insert(0, '/');
    }
    if rng.u32(..4) == 0 {
        rule.insert(0, '!');
    }
    if rng.u32(..5) == 0 {
        rule.push('/');
    }
    rule
}

fn utf16(bytes: &[u8], order: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(order).collect()
}
