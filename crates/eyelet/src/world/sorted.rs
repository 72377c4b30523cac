//! The names in directories, sorted, one directory after the other: read by this thread, or, where
//! very many are wanted, by another one that is a little ahead.

use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::bound::tree::Name;
use crate::call::Watch;

use super::dir::Directory;

/// From so many names on a second thread pays.
const AHEAD_FROM: usize = 4096;
/// How many directories are open at most, waiting for their turn. So many may have been read in vain
/// when the page is certain.
const AHEAD: usize = 32;
/// How many directories' names wait at most. A directory may have a million.
const READ: usize = 2;

/// Reads directories in the order in which they are handed over.
pub(crate) struct Reader<'t> {
    top: &'t Directory,
    watch: &'t Watch,
    ahead: Option<Ahead>,
    next: Option<Handed>,
}

/// A directory whose turn comes.
struct Handed {
    /// None is the top.
    directory: io::Result<Option<Directory>>,
    wanted: usize,
}

struct Ahead {
    handed: SyncSender<Handed>,
    read: Receiver<io::Result<Vec<Name>>>,
}

impl<'t> Reader<'t> {
    /// Runs `walk` with a reader for `wanted` names in all.
    pub(crate) fn run<T>(
        top: &'t Directory,
        watch: &'t Watch,
        wanted: usize,
        walk: impl FnOnce(Reader<'t>) -> T,
    ) -> T {
        let here = Reader { top, watch, ahead: None, next: None };
        if wanted < AHEAD_FROM {
            return walk(here);
        }
        thread::scope(|scope| {
            let (handed, waiting) = sync_channel::<Handed>(AHEAD);
            let (done, read) = sync_channel(READ);
            let second = move || {
                for handed in waiting {
                    if done.send(handed.names(top, watch)).is_err() {
                        break;
                    }
                }
            };
            // Where there can be no thread, this one does it all.
            let started = thread::Builder::new().spawn_scoped(scope, second).is_ok();
            walk(Reader { ahead: started.then_some(Ahead { handed, read }), ..here })
        })
    }

    /// How many directories can be handed over before the first of them has to be read.
    pub(crate) fn room(&self) -> usize {
        self.ahead.as_ref().map_or(1, |_| AHEAD)
    }

    /// Hands over a directory of which `wanted` names are wanted at most.
    pub(crate) fn hand(&mut self, directory: io::Result<Option<Directory>>, wanted: usize) {
        let handed = Handed { directory, wanted };
        match &self.ahead {
            // It fails where the other thread is gone, and then so does `read`.
            Some(ahead) => drop(ahead.handed.send(handed)),
            None => self.next = Some(handed),
        }
    }

    /// The smallest names of the first directory that was handed over and not read yet.
    pub(crate) fn read(&mut self) -> io::Result<Vec<Name>> {
        let gone = || io::Error::other("the directory was not read");
        match &self.ahead {
            Some(ahead) => ahead.read.recv().map_err(|_| gone())?,
            None => self.next.take().ok_or_else(gone)?.names(self.top, self.watch),
        }
    }
}

impl Handed {
    /// The smallest `wanted` names, sorted. More are never held than twice that.
    fn names(self, top: &Directory, watch: &Watch) -> io::Result<Vec<Name>> {
        let opened = self.directory?;
        let directory = opened.as_ref().unwrap_or(top);
        let mut names: Vec<Name> = Vec::new();
        let mut count = 0_usize;
        // Where the largest name that can still matter stands, once some were dropped.
        let mut largest = None;
        directory.each(|name, kind| {
            count += 1;
            // A stop is told by the caller, which asks the watch again.
            if count % 4096 == 0 && watch.check().is_err() {
                return ControlFlow::Break(());
            }
            let largest_name = largest.and_then(|at: usize| names.get(at));
            if largest_name.is_some_and(|largest| largest.is_before(name)) {
                return ControlFlow::Continue(());
            }
            names.push(Name::new(name.to_owned(), kind));
            if names.len() / 2 >= self.wanted {
                let last = self.wanted.saturating_sub(1);
                names.select_nth_unstable_by(last, Name::order);
                names.truncate(self.wanted);
                largest = Some(last);
            }
            ControlFlow::Continue(())
        })?;
        names.sort_unstable_by(Name::order);
        Ok(names)
    }
}
