//! `list_dir`: a page of a tree, beside those who walk all of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use eyelet::tools::{ListDir, ListDirArgs, ListDirReport};
use eyelet::{Report as _, SandboxPolicy, Tool as _, ToolInvocation, ToolRouter, TurnContext};
use serde_json::json;

use crate::Result;
use crate::benches::{Bench, NeedsCorpus, Surroundings, equal};
use crate::contender::{Contender, Side, output};
use crate::fixtures::MANY;
use crate::memory::this_program;
use crate::race::{Check, Unit, Work};
use crate::target::Target;

pub(crate) const BENCH: Bench = Bench {
    name: "list",
    peers: &["find"],
    needs_corpus: NeedsCorpus::Yes,
    notes: &[
        "`find -maxdepth` prints every entry, unsorted; it has no pages",
        "`collect-all` is the plain way to the same page: the whole walk, breadth first, each \
         directory sorted, then the cut; a process of this bench, the standard library alone",
        "`eyelet, in process` is the same call through the library's router, answered as text and not as \
         JSON, on a heap that earlier rounds have warmed; neither the start of a process is in it nor \
         its end",
        "in one flat directory the first page by name is known only when every name was seen: \
         there no page can cost less than reading the directory",
        "a whole listing has to stay within the answer's 32 MiB",
    ],
    works,
};

const PROGRAM: &str = "eyelet call list_dir";
const LIBRARY: &str = "eyelet, in process";
const COLLECT_ALL: &str = "collect-all";
const PAGE: u64 = 25;

/// A page of a directory.
#[derive(Clone)]
struct Asked {
    directory: String,
    depth: u64,
    offset: u64,
    limit: u64,
}

fn works(surroundings: &Surroundings) -> Result<Vec<Work>> {
    let tree = utf8(surroundings.fixtures.tree()?)?;
    let flat = utf8(surroundings.fixtures.flat()?)?;
    let corpus = surroundings.corpus.as_ref().ok_or("no corpus")?;
    let corpus = utf8(corpus.path.clone())?;
    let eyelet = &surroundings.eyelet;
    let both = |times| {
        [FIND_2, COLLECT_ALL].map(|than| Target::Faster { than, times }).into_iter().collect()
    };
    let page = |directory: &str, offset| Asked {
        directory: directory.to_owned(),
        depth: 2,
        offset,
        limit: PAGE,
    };
    let mut first =
        page_work("first page, depth 2, tree of 1,000,000", eyelet, page(&tree, 1), both(200.0))?;
    first.targets.push(Target::Within { who: LIBRARY, most: 1.0 });
    let memory = || vec![Target::Memory { who: PROGRAM, mebibytes: 16.0 }];
    Ok(vec![
        first,
        page_work(
            "page at 10,000, depth 2, tree of 1,000,000",
            eyelet,
            page(&tree, 10_000),
            both(50.0),
        )?,
        page_work("first page, one directory of 1,000,000", eyelet, page(&flat, 1), memory())?,
        page_work(
            "page at 10,000, one directory of 1,000,000",
            eyelet,
            page(&flat, 10_000),
            memory(),
        )?,
        whole_work(eyelet, &corpus)?,
    ])
}

const FIND_2: &str = "find -maxdepth 2";
const FIND_6: &str = "find -maxdepth 6";

fn page_work(name: &str, eyelet: &str, asked: Asked, targets: Vec<Target>) -> Result<Work> {
    let this = this_program()?;
    let collect_all = asked.collect_all(&this);
    let check: Check = {
        let (program, asked, collect_all) = (eyelet.to_owned(), asked.clone(), collect_all.clone());
        Box::new(move || {
            let page = output(&asked.program_as_text(&program))?;
            equal("the page", &page, &output(&collect_all)?)?;
            let whole = Asked { offset: 1, limit: 2 * MANY as u64, ..asked.clone() };
            let count = whole.same_as_find()?;
            Ok(format!("the page as by collect-all, all {count} paths as by find"))
        })
    };
    Ok(Work {
        name: name.into(),
        check,
        unit: Unit::Milliseconds,
        contenders: vec![
            Contender::process(PROGRAM, Side::Ours, asked.program(eyelet)),
            in_process(&asked)?,
            Contender::process(FIND_2, Side::Peer, asked.find()),
            Contender::process(COLLECT_ALL, Side::Peer, collect_all),
        ],
        targets,
    })
}

fn whole_work(eyelet: &str, corpus: &str) -> Result<Work> {
    let asked = Asked { directory: corpus.to_owned(), depth: 6, offset: 1, limit: 2 * MANY as u64 };
    let check: Check = {
        let (program, asked) = (eyelet.to_owned(), asked.clone());
        Box::new(move || {
            let count = asked.same_as_find()?;
            let lines = output(&asked.program_as_text(&program))?;
            equal("the listing", &lines, &(asked.listed()?.content() + "\n").into_bytes())?;
            Ok(format!("all {count} paths as by find"))
        })
    };
    Ok(Work {
        name: "whole listing, depth 6, corpus".into(),
        check,
        unit: Unit::Milliseconds,
        contenders: vec![
            Contender::process(PROGRAM, Side::Ours, asked.program(eyelet)),
            in_process(&asked)?,
            Contender::process(FIND_6, Side::Peer, asked.find()),
            Contender::process(COLLECT_ALL, Side::Peer, asked.collect_all(&this_program()?)),
        ],
        targets: vec![Target::Faster { than: FIND_6, times: 1.0 }],
    })
}

/// The call as a host makes it, from the JSON of the arguments to the text of the answer.
fn in_process(asked: &Asked) -> Result<Contender> {
    let (router, turn, arguments) = (ToolRouter::new(), turn()?, asked.arguments());
    Ok(Contender::call(LIBRARY, move || {
        let call = ToolInvocation::new("list_dir", arguments.clone(), &turn);
        let output = router.call(&call).map_err(|error| format!("{error:?}"))?;
        let answer = output.function().map_err(|error| format!("{error:?}"))?;
        std::hint::black_box(answer);
        Ok(())
    }))
}

impl Asked {
    fn arguments(&self) -> String {
        let Asked { directory, depth, offset, limit } = self;
        json!({ "dir_path": directory, "depth": depth, "offset": offset, "limit": limit })
            .to_string()
    }

    fn program(&self, eyelet: &str) -> Vec<String> {
        vec![eyelet.into(), "call".into(), "list_dir".into(), self.arguments()]
    }

    fn program_as_text(&self, eyelet: &str) -> Vec<String> {
        self.program(eyelet).into_iter().chain(["--text".into()]).collect()
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

    /// That the whole listing has exactly the paths that `find` prints. Returns how many.
    fn same_as_find(&self) -> Result<usize> {
        let said = output(&self.find())?;
        let said = String::from_utf8(said).map_err(|error| error.to_string())?;
        let find: BTreeSet<&Path> = said
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
                return Err("a path of the listing is not among find's".into());
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
    path.into_os_string().into_string().map_err(|_| "a path is not UTF-8".into())
}
