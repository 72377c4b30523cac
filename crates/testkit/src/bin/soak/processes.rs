//! What the system knows of the servers: memory, descriptors, children and files.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};

/// A process as `/proc` shows it.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) is_zombie: bool,
    parent: u32,
}

/// Makes this process the parent of every orphan below it, so that none is overlooked.
pub(crate) fn adopt_orphans() -> Result<(), String> {
    set_child_subreaper(Some(getpid()))
        .map_err(|error| format!("cannot become the parent of orphans: {error}"))
}

/// The processes that `ancestor` started, directly or not.
pub(crate) fn descendants(ancestor: u32) -> Vec<Process> {
    let all: HashMap<u32, Process> = all().into_iter().map(|one| (one.id, one)).collect();
    let is_below = |process: &&Process| {
        let parents = std::iter::successors(Some(process.parent), |id| {
            all.get(id).map(|process| process.parent)
        });
        parents.take(all.len()).any(|id| id == ancestor)
    };
    all.values().filter(is_below).cloned().collect()
}

/// The processes below this one.
pub(crate) fn own_descendants() -> Vec<Process> {
    descendants(std::process::id())
}

/// The servers whose clients collect their exit codes.
static SERVERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Says that a client collects the exit code of this server.
pub(crate) fn add_server(id: u32) {
    servers().insert(id);
}

/// Says that a client has collected the exit code of this server.
pub(crate) fn remove_server(id: u32) {
    servers().remove(&id);
}

/// Whether a client collects the exit code of this process.
pub(crate) fn is_server(id: u32) -> bool {
    servers().contains(&id)
}

fn servers() -> MutexGuard<'static, BTreeSet<u32>> {
    SERVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Collects the exit codes of those that have ended, if they are orphans that this process adopted.
pub(crate) fn reap(ids: impl Iterator<Item = u32>) {
    for id in ids.filter_map(|id| Pid::from_raw(id.try_into().ok()?)) {
        // It fails for the child of another process.
        let _ = waitpid(Some(id), WaitOptions::NOHANG);
    }
}

fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let stats = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        path.file_name()?.to_str()?.parse::<u32>().ok()?;
        fs::read_to_string(path.join("stat")).ok()
    });
    stats.filter_map(|stat| parse(&stat)).collect()
}

/// `ID (NAME) STATE PARENT …`, where a name may contain anything.
fn parse(stat: &str) -> Option<Process> {
    let (id, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    Some(Process {
        id: id.parse().ok()?,
        name: name.to_owned(),
        is_zombie: fields.next()? == "Z",
        parent: fields.next()?.parse().ok()?,
    })
}

/// What a server uses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) resident_mib: f64,
    pub(crate) peak_mib: f64,
    pub(crate) threads: usize,
    /// `None` if this user may not count them.
    pub(crate) descriptors: Option<usize>,
    pub(crate) children: usize,
}

impl Usage {
    pub(crate) fn of(id: u32) -> Result<Usage, String> {
        let path = format!("/proc/{id}/status");
        let status = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let value = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok())
                .ok_or_else(|| format!("{path}: no {key}"))
        };
        Ok(Usage {
            resident_mib: value("VmRSS:")? / 1024.0,
            peak_mib: value("VmHWM:")? / 1024.0,
            threads: value("Threads:")? as usize,
            descriptors: fs::read_dir(format!("/proc/{id}/fd")).ok().map(Iterator::count),
            children: descendants(id).len(),
        })
    }
}

/// The files that a process has open.
pub(crate) fn open_files(id: u32) -> String {
    let Ok(entries) = fs::read_dir(format!("/proc/{id}/fd")) else { return String::new() };
    let files = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let mut files: Vec<_> = files.map(|file| file.display().to_string()).collect();
    files.sort_unstable();
    files.join(", ")
}

/// The sum of the sizes of the files below a directory.
pub(crate) fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let sizes = entries.filter_map(Result::ok).map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size_of(&entry.path()),
        Ok(_) => entry.metadata().map_or(0, |metadata| metadata.len()),
        // It was just removed.
        Err(_) => 0,
    });
    sizes.sum()
}

/// The directories of servers in a temp directory: saved output and private temp directories.
pub(crate) fn server_directories(temp: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(temp) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with("eyelet-")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_have_any_name() {
        let process = parse("42 (a) b (c) Z 7 42 42 0").unwrap();
        assert_eq!((process.id, process.name.as_str()), (42, "a) b (c"));
        assert!(process.is_zombie && process.parent == 7);
    }

    #[test]
    fn a_child_is_a_descendant_until_it_is_collected() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let is_there = || own_descendants().iter().any(|process| process.id == child.id());
        assert!(is_there());
        assert!(Usage::of(child.id()).unwrap().resident_mib > 0.0);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!own_descendants().iter().any(|process| process.id == child.id()));
    }
}
