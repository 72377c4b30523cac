//! `list_dir`: a page of a tree, compared with programs that walk the whole tree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use eyelet::tools::{ListDir, ListDirArgs, ListDirReport};
use eyelet::{Report as _, SandboxPolicy, Tool as _, ToolInvocation, ToolRouter, TurnContext};
use serde_json::{Value, json};

use crate::Result;
use crate::benches::{Bench, NeedsCorpus, Setup, equal};
use crate::contender::{Contender, Side, output};
use crate::fixtures::MANY;
use crate::memory::this_program;
use crate::runner::{Check, Task, Unit};
use crate::target::Target;

pub(crate) const BENCH: Bench = Bench {
    name: "list",
    programs: &["find"],
    peers: &[],
    needs_corpus: NeedsCorpus::Yes,
    notes: &[
        "A page has 25 entries. `find -maxdepth` prints all entries, unsorted and without pages.",
        "`collect-all` gets the same page with a simple method: it walks the whole tree breadth \
         first, sorts each directory, then takes the page. `collect-all` is part of this benchmark \
         and uses only the standard library of Rust.",
        "`eyelet library` makes the same call through the library's router and renders text \
         instead of JSON. This call reuses memory of earlier rounds, and its time does not include \
         the start of a process.",
        "eyelet sorts the entries by name. To find the first page of one directory, eyelet must \
         read all names in this directory.",
        "The full listing is a single reply. The largest reply that eyelet returns has 32 MiB.",
    ],
    tasks,
};

const PROGRAM: &str = "eyelet call list_dir";
const LIBRARY: &str = "eyelet library";
const COLLECT_ALL: &str = "collect-all";
const PAGE: u64 = 25;

/// A request for a page of a directory.
#[derive(Clone)]
struct PageRequest {
    directory: String,
    depth: u64,
    offset: u64,
    limit: u64,
}

fn tasks(setup: &Setup) -> Result<Vec<Task>> {
    let tree = utf8(setup.fixtures.tree()?)?;
    let flat = utf8(setup.fixtures.flat()?)?;
    let corpus = setup.corpus.as_ref().ok_or("no corpus; use --corpus DIR")?;
    let corpus = utf8(corpus.path.clone())?;
    let eyelet = &setup.eyelet;
    let both = |times| {
        [FIND_2, COLLECT_ALL].map(|than| Target::Faster { than, times }).into_iter().collect()
    };
    let page = |directory: &str, offset| PageRequest {
        directory: directory.to_owned(),
        depth: 2,
        offset,
        limit: PAGE,
    };
    let mut first = page_task(
        "first page, depth 2, tree of 1,000,000 entries",
        eyelet,
        page(&tree, 1),
        both(200.0),
    )?;
    first.targets.push(Target::Within { who: LIBRARY, most: 1.0 });
    let memory = || vec![Target::Memory { who: PROGRAM, mebibytes: 16.0 }];
    Ok(vec![
        first,
        page_task(
            "page at offset 10,000, depth 2, tree of 1,000,000 entries",
            eyelet,
            page(&tree, 10_000),
            both(50.0),
        )?,
        page_task(
            "first page, one directory of 1,000,000 files",
            eyelet,
            page(&flat, 1),
            memory(),
        )?,
        page_task(
            "page at offset 10,000, one directory of 1,000,000 files",
            eyelet,
            page(&flat, 10_000),
            memory(),
        )?,
        full_task(eyelet, &corpus)?,
    ])
}

const FIND_2: &str = "find -maxdepth 2";
const FIND_6: &str = "find -maxdepth 6";

fn page_task(name: &str, eyelet: &str, request: PageRequest, targets: Vec<Target>) -> Result<Task> {
    let this = this_program()?;
    let collect_all = request.collect_all(&this);
    let check: Check = {
        let (program, request, collect_all) =
            (eyelet.to_owned(), request.clone(), collect_all.clone());
        Box::new(move || {
            let page = request.content(&program)? + "\n";
            equal("the page", &page.into_bytes(), &output(&collect_all)?)?;
            let whole = PageRequest { offset: 1, limit: 2 * MANY as u64, ..request.clone() };
            let count = whole.same_as_find()?;
            Ok(format!(
                "the page equals that of collect-all; all {count} paths equal those of find"
            ))
        })
    };
    Ok(Task {
        name: name.into(),
        check,
        unit: Unit::Milliseconds,
        contenders: vec![
            Contender::process(PROGRAM, Side::Ours, request.program(eyelet)),
            in_process(&request)?,
            Contender::process(FIND_2, Side::Peer, request.find()),
            Contender::process(COLLECT_ALL, Side::Peer, collect_all),
        ],
        targets,
    })
}

fn full_task(eyelet: &str, corpus: &str) -> Result<Task> {
    let request =
        PageRequest { directory: corpus.to_owned(), depth: 6, offset: 1, limit: 2 * MANY as u64 };
    let check: Check = {
        let (program, request) = (eyelet.to_owned(), request.clone());
        Box::new(move || {
            let count = request.same_as_find()?;
            equal("the listing", &request.content(&program)?, &request.listed()?.content())?;
            Ok(format!("all {count} paths equal those of find"))
        })
    };
    Ok(Task {
        name: "full listing, depth 6, corpus".into(),
        check,
        unit: Unit::Milliseconds,
        contenders: vec![
            Contender::process(PROGRAM, Side::Ours, request.program(eyelet)),
            in_process(&request)?,
            Contender::process(FIND_6, Side::Peer, request.find()),
            Contender::process(COLLECT_ALL, Side::Peer, request.collect_all(&this_program()?)),
        ],
        targets: vec![Target::Faster { than: FIND_6, times: 1.0 }],
    })
}

/// The call of a host, from JSON arguments to the text of the reply.
fn in_process(request: &PageRequest) -> Result<Contender> {
    let (router, turn, arguments) = (ToolRouter::new(), turn()?, request.arguments());
    Ok(Contender::call(LIBRARY, move || {
        let call = ToolInvocation::new("list_dir", arguments.clone(), &turn);
        let output = router.call(&call).map_err(|error| format!("{error:?}"))?;
        let answer = output.function().map_err(|error| format!("{error:?}"))?;
        std::hint::black_box(answer);
        Ok(())
    }))
}

impl PageRequest {
    fn arguments(&self) -> String {
        let PageRequest { directory, depth, offset, limit } = self;
        json!({ "dir_path": directory, "depth": depth, "offset": offset, "limit": limit })
            .to_string()
    }

    fn program(&self, eyelet: &str) -> Vec<String> {
        vec![eyelet.into(), "call".into(), "list_dir".into(), self.arguments()]
    }

    /// The listing that the program prints.
    fn content(&self, eyelet: &str) -> Result<String> {
        let printed = output(&self.program(eyelet))?;
        let answer: Value = serde_json::from_slice(&printed).map_err(|error| error.to_string())?;
        let content = answer.pointer("/data/content").and_then(Value::as_str);
        Ok(content.ok_or("the program prints no listing")?.to_owned())
    }

    fn collect_all(&self, this: &str) -> Vec<String> {
        let numbers = [self.depth, self.offset, self.limit].map(|number| number.to_string());
        [this, COLLECT_ALL, &self.directory].map(str::to_owned).into_iter().chain(numbers).collect()
    }

    fn find(&self) -> Vec<String> {
        ["find", &self.directory, "-maxdepth", &self.depth.to_string()].map(str::to_owned).into()
    }

    fn listed(&self) -> Result<ListDirReport> {
        let args = ListDirArgs {
            offset: Some(self.offset),
            limit: Some(self.limit),
            depth: Some(self.depth),
            ..ListDirArgs::new(&self.directory)
        };
        ListDir.run(args, &turn()?).map_err(|error| error.to_string())
    }

    /// Checks that the full listing has exactly the paths that `find` prints. Returns their number.
    fn same_as_find(&self) -> Result<usize> {
        let printed = output(&self.find())?;
        let printed = String::from_utf8(printed).map_err(|error| error.to_string())?;
        let find: BTreeSet<&Path> = printed
            .lines()
            .filter_map(|line| Path::new(line).strip_prefix(&self.directory).ok())
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
        let report = self.listed()?;
        let mut here = PathBuf::new();
        let mut level = 0;
        for entry in &report.entries {
            while level > entry.depth {
                here.pop();
                level -= 1;
            }
            here.push(&entry.name);
            level += 1;
            if !find.contains(here.as_path()) {
                return Err("the listing has a path that find does not print".into());
            }
        }
        equal("the number of entries", &report.entries.len(), &find.len())?;
        Ok(find.len())
    }
}

fn turn() -> Result<TurnContext> {
    TurnContext::new("/", SandboxPolicy::Off).map_err(|error| error.to_string())
}

fn utf8(path: PathBuf) -> Result<String> {
    path.into_os_string().into_string().map_err(|_| "path is not UTF-8".into())
}
