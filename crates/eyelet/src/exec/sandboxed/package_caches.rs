//! The caches of package managers: one directory per root, in a directory of eyelet.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use eyelet_sandbox::remove_all;
use rustix::fs::{AtFlags, Mode, OFlags};

use crate::paths::root::Root;
use crate::saved_output::private_dir::{ParentDir, PrivateDir, random_name};

/// The directory with the caches of all roots.
const PACKAGES: &str = "packages";
/// In the directory of a root: its path, and what commands can write to.
const ROOT_FILE: &str = "root";
const CACHES: &str = "caches";
/// Caches that no command used for so long are removed.
const MAX_AGE_SECS: i64 = 30 * 24 * 60 * 60;

/// Variables that move a cache, and the name of its directory.
const ALWAYS: &[(&str, &str)] =
    &[("NPM_CONFIG_CACHE", "npm"), ("PIP_CACHE_DIR", "pip"), ("GOCACHE", "go-build")];
/// Without network access, commands read the user's own packages in these.
const WITH_NETWORK: &[(&str, &str)] = &[("CARGO_HOME", CARGO_HOME), ("GOMODCACHE", "go-mod")];
const CARGO_HOME: &str = "cargo";
const CARGO_CONFIG: &str = "config.toml";
const NPMRC: &str = "npmrc";

/// The directories for the caches of package managers. Two roots share none, so that a command in one of
/// them cannot change what the other installs.
#[derive(Debug)]
pub(crate) struct PackageCaches {
    folder: PathBuf,
    is_swept: AtomicBool,
}

impl PackageCaches {
    pub(crate) fn new(folder: PathBuf) -> Self {
        PackageCaches { folder, is_swept: AtomicBool::new(false) }
    }

    /// The caches of commands in `root`, created if necessary.
    pub(crate) fn of(&self, root: &Path) -> Result<CacheFolder, String> {
        let failed = |error: io::Error| format!("{}: {error}", self.folder.display());
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.folder).map_err(failed)?;
        let eyelet = ParentDir::open(&self.folder)?;
        eyelet.make_folder(PACKAGES)?;
        let packages = eyelet.folder(PACKAGES)?;
        let all = ParentDir::open(packages.path())?;
        let own = folder_of(&all, root)?;
        let now = own.touch().map_err(failed)?;
        let own = ParentDir::open(own.path())?;
        own.make_folder(CACHES)?;
        let caches = own.folder(CACHES)?;
        if !self.is_swept.swap(true, Ordering::Relaxed) {
            let packages = packages.path().to_owned();
            // Without a thread, the next session removes them.
            let _ = thread::Builder::new().spawn(move || remove_unused(&packages, now));
        }
        Ok(CacheFolder { folder: caches })
    }
}

/// The directory of a root. Another root whose path has the same hash has the next number.
fn folder_of(all: &ParentDir<'_>, root: &Path) -> Result<PrivateDir, String> {
    let path = root.as_os_str().as_bytes();
    let mut number = 0;
    loop {
        let name = format!("{:016x}.{number}", hash(path));
        all.make_folder(&name)?;
        let folder = all.folder(&name)?;
        match fs::read(folder.path_of(ROOT_FILE)) {
            Ok(known) if known == path => return Ok(folder),
            Ok(_) => number += 1,
            Err(_) => {
                let written = replace_file(&folder.open()?, ROOT_FILE, path);
                written.map_err(|error| format!("{}: {error}", folder.path().display()))?;
            }
        }
    }
}

/// FNV-1a: the same in every version of eyelet.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// `now` is the time by the file system's clock.
fn remove_unused(packages: &Path, now: i64) {
    use std::os::unix::fs::MetadataExt as _;
    let entries = fs::read_dir(packages).into_iter().flatten().filter_map(Result::ok);
    for entry in entries {
        let used = entry.metadata().map_or(now, |found| found.mtime());
        if now.saturating_sub(used) > MAX_AGE_SECS {
            // The next session removes the rest.
            let _ = remove_all(&entry.path());
        }
    }
}

/// The caches of one root. Commands can change everything in it, so eyelet never follows its symlinks.
#[derive(Debug)]
pub(crate) struct CacheFolder {
    folder: PrivateDir,
}

impl CacheFolder {
    pub(crate) fn root(&self) -> &Arc<Root> {
        self.folder.root()
    }

    /// The variables that redirect package managers here.
    pub(crate) fn variables(&self, has_network: bool) -> Vec<(OsString, OsString)> {
        let with_network: &[_] = if has_network { WITH_NETWORK } else { &[] };
        let moved = ALWAYS.iter().chain(with_network);
        moved.map(|(name, folder)| (name.into(), self.folder.path_of(folder).into())).collect()
    }

    /// `GOPATH` with a directory of its own first: Go writes what it knows about checksums there. `own` is the
    /// user's, from which Go still reads.
    pub(crate) fn go_path(&self, own: Option<&Path>) -> (OsString, OsString) {
        let first = self.folder.path_of("go").into_os_string();
        let parts = [Some(first.as_os_str()), own.map(Path::as_os_str)];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        ("GOPATH".into(), parts.join(OsStr::new(":")))
    }

    /// Makes `config` the settings of cargo in the redirected `CARGO_HOME`.
    pub(crate) fn link_cargo_config(&self, config: &Path) -> io::Result<()> {
        let caches = self.folder.open().map_err(io::Error::other)?;
        match rustix::fs::mkdirat(&caches, CARGO_HOME, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let home = rustix::fs::openat(&caches, CARGO_HOME, flags, Mode::empty())?;
        let stands = rustix::fs::readlinkat(&home, CARGO_CONFIG, Vec::new());
        if stands.is_ok_and(|stands| stands.as_bytes() == config.as_os_str().as_bytes()) {
            return Ok(());
        }
        let name = random_name()?;
        rustix::fs::symlinkat(config, &home, name.as_str())?;
        replace(&home, &name, CARGO_CONFIG)
    }

    /// Saves the settings of npm, and returns their path.
    pub(crate) fn save_npmrc(&self, text: &[u8]) -> io::Result<PathBuf> {
        let caches = self.folder.open().map_err(io::Error::other)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let stands = rustix::fs::openat(&caches, NPMRC, flags, Mode::empty());
        let mut known = Vec::new();
        if let Ok(file) = stands {
            let most = text.len() as u64 + 1;
            let read = io::Read::take(fs::File::from(file), most);
            let _ = io::Read::read_to_end(&mut { read }, &mut known);
        }
        if known != text {
            replace_file(&caches, NPMRC, text)?;
        }
        Ok(self.folder.path_of(NPMRC))
    }
}

/// Writes a whole file, whatever had its name before.
fn replace_file(folder: &OwnedFd, name: &str, text: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let new = random_name()?;
    let file = rustix::fs::openat(folder, new.as_str(), flags, Mode::RUSR | Mode::WUSR)?;
    io::Write::write_all(&mut fs::File::from(file), text)?;
    replace(folder, &new, name)
}

fn replace(folder: &OwnedFd, new: &str, name: &str) -> io::Result<()> {
    let renamed = rustix::fs::renameat(folder, new, folder, name);
    if renamed.is_err() {
        let _ = rustix::fs::unlinkat(folder, new, AtFlags::empty());
    }
    Ok(renamed?)
}
