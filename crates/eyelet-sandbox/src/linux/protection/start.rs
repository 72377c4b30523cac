//! Before a command starts: restores what others have left, records the protected paths, and marks the command as running.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use super::marks::{Mark, MarkFile};
use super::moved::Search;
use super::places;
use super::recorder::{Mounts, Recorder};
use super::recover::{Recovered, recover};
use super::replaced::ReplacedFiles;
use super::reverted_list::RevertedList;
use super::store::Store;
use super::watch::Watch;
use super::{CHECK_INTERVAL, MAX_SEARCHES, Protection, SEARCH_TIMEOUT, moves_again};
use crate::request::{RawPath, SandboxRequest, Tier};

/// How long another command may take to be rid of its changes before this one is refused.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);
const SETTLE_INTERVAL: Duration = Duration::from_millis(5);

impl Protection {
    /// Records the protected paths, and marks this command as running.
    ///
    /// `inotify` is the caller's instance, if there is one.
    pub(in crate::linux) fn start(
        request: &SandboxRequest,
        tier: Tier,
        inotify: Option<&OwnedFd>,
    ) -> io::Result<Self> {
        let store = Store::open()?;
        let until = Instant::now() + SETTLE_TIMEOUT;
        let mut reverted = Vec::new();
        let mut mark = Mark {
            roots: request.tops(tier).map(|top| RawPath::from(&top.path)).collect(),
            identities: request.tops(tier).map(|top| top.identity).collect(),
            elsewhere: request
                .private_temp
                .iter()
                .chain(&request.caches)
                .map(|place| (&place.path).into())
                .collect(),
            tier,
            places: Vec::new(),
            mounted: Vec::new(),
            replaced: Vec::new(),
        };
        let mut search = Search::default();
        let mut searches = 0;
        let search_until = Instant::now() + SEARCH_TIMEOUT;
        loop {
            let lock = store.lock()?;
            let Recovered { marks, tops } =
                recover(&store, &lock, &mark, &mut reverted, &mut search)?;
            if !search.is_complete() {
                drop(lock);
                searches += 1;
                if searches > MAX_SEARCHES {
                    return Err(moves_again());
                }
                search.search_once(&tops, search_until);
                continue;
            }
            let mut recorder = Recorder {
                store: &store,
                lock: &lock,
                marks: &marks,
                tier,
                mounts: Mounts::default(),
                unsettled: None,
            };
            let known = recorder.known_repositories(request)?;
            let mut places = places::of(request, tier, &known)?;
            places::add(&mut places, recorder.removed_places(request, &known)?);
            places.sort_by_key(|place| place.path.0.components().count());
            for place in &places {
                recorder.record(place, &places)?;
            }
            if let Some(path) = recorder.unsettled {
                // The supervisor of the other command restores it.
                drop(lock);
                if Instant::now() >= until {
                    let path = path.display();
                    return Err(io::Error::other(format!(
                        "{path}: another running command has changed this path; run the command \
                         again when the other command has ended"
                    )));
                }
                std::thread::sleep(SETTLE_INTERVAL);
                continue;
            }
            let mounts = recorder.mounts;
            mark.places = places;
            if tier == Tier::Namespaces {
                let mounted = mounts.read_only.iter();
                mark.mounted = mounted.map(|(path, id)| (path.into(), *id)).collect();
                mark.replaced = mounts.writable.iter().map(RawPath::from).collect();
            }
            let is_unreported = tier == Tier::Landlock || !mark.replaced.is_empty();
            if marks.iter().any(|other| mark.writable_of(other).next().is_some()) {
                store.note_writable(&lock, &mark)?;
            }
            let file = store.create_mark(&lock, &mark)?;
            drop(lock);
            let watch = watch(&file, &mark, inotify).inspect_err(|_| {
                let _ = file.remove();
            })?;
            let mut protection = Protection {
                store,
                mark,
                file,
                watch,
                reverted: RevertedList::new(reverted),
                mounts,
                events: Vec::new(),
                replaced: ReplacedFiles::default(),
                search: Search::default(),
                tops: Vec::new(),
                check_at: is_unreported.then(|| Instant::now() + CHECK_INTERVAL),
            };
            protection.check_if_incomplete();
            return Ok(protection);
        }
    }
}

fn watch(file: &MarkFile, mark: &Mark, inotify: Option<&OwnedFd>) -> io::Result<Watch> {
    let mut watch = Watch::new(&file.path, inotify)?;
    for place in &mark.places {
        watch.add(place)?;
    }
    Ok(watch)
}
