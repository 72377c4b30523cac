//! The charts in `docs/benchmarks`, and which results each of them shows.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::options::io_error;
use crate::report::Report;
use crate::runner::Measured;
use crate::svg::{Bar, Drawing, Group};
use crate::target::short_number;

/// A chart of ratios.
pub(crate) struct Chart {
    /// The name of the file without `.svg`.
    pub(crate) file: &'static str,
    title: &'static str,
    subtitle: &'static str,
    directions: [&'static str; 2],
    rows: &'static [Row],
}

/// A task of a report, and the contender of eyelet that the peers are compared with.
struct Row {
    bench: &'static str,
    task: &'static str,
    ours: &'static str,
}

const fn row(bench: &'static str, task: &'static str, ours: &'static str) -> Row {
    Row { bench, task, ours }
}

const FASTER: [&str; 2] = ["eyelet is slower", "eyelet is faster"];
const SMALLER: [&str; 2] = ["eyelet uses more", "eyelet uses fewer"];
const TIMES: &str = "Time of each program divided by the time of eyelet. Longer bars to the right are \
     better for eyelet.";

const GREP: &str = "eyelet call grep_files";
const LINES: &str = "eyelet call grep_files, lines";
const MCP: &str = "eyelet mcp";
const LIST: &str = "eyelet call list_dir";
const READ: &str = "eyelet call read";
const LIST_TOKENS: &str = "eyelet mcp, list_dir";
const SANDBOXED: &str = "eyelet call bash, sandboxed";
const SANDBOXED_MCP: &str = "eyelet mcp, sandboxed";

/// All charts, in the order of the page.
pub(crate) const CHARTS: &[Chart] = &[
    Chart {
        file: "search",
        title: "Search in the Linux source tree",
        subtitle: TIMES,
        directions: FASTER,
        rows: &[
            row("search", "files, no match", GREP),
            row("search", "files, common pattern, limit 100", GREP),
            row("search", "lines, rare pattern", LINES),
            row("search", "lines, common pattern, limit 100", LINES),
            row("search", "find_files `**/*.c`, limit 100", "eyelet call find_files"),
            row("search", "over MCP: lines, rare pattern", MCP),
        ],
    },
    Chart {
        file: "search-patterns",
        title: "Files that match a pattern",
        subtitle: TIMES,
        directions: FASTER,
        rows: &[
            row("search", "files, rare pattern", GREP),
            row("search", "files, common pattern, limit 2000", GREP),
            row("search", "files, 40 hexadecimal digits", GREP),
            row("search", "files, Greek letters", GREP),
            row("search", "files, long words", GREP),
            row("search", "files, word in any case", GREP),
            row("search", "files, acpi in drivers, limit 2000", GREP),
            row("search", "files, project of 50 files", GREP),
            row("search", "files, project of 50 files, no match", GREP),
            row("search", "over MCP: find files by name", MCP),
        ],
    },
    Chart {
        file: "context",
        title: "Context cost",
        subtitle: "Tokens that the model receives from each peer, divided by those from eyelet.",
        directions: SMALLER,
        rows: &[
            row("search", "tokens to locate the uses of 20 symbols", "eyelet grep_files, lines"),
            row("calls", "tool definitions", MCP),
            row("calls", "list ten trees, page size 1000", LIST_TOKENS),
            row("calls", "read source files larger than 2 KiB", MCP),
        ],
    },
    Chart {
        file: "calls",
        title: "Small calls over MCP",
        subtitle: "Time until the reply has arrived, divided by the time of eyelet. Longer bars to the \
             right are better for eyelet.",
        directions: FASTER,
        rows: &[row("calls", "list 20 entries", MCP), row("calls", "read 2 KiB", MCP)],
    },
    Chart {
        file: "starts",
        title: "Start and memory of MCP servers",
        subtitle: "Time or memory of each server, divided by that of eyelet. Longer bars to the right are \
             better for eyelet.",
        directions: ["eyelet needs more", "eyelet needs less"],
        rows: &[
            row("calls", "start to `initialize` reply", MCP),
            row("calls", "start to `tools/list` reply", MCP),
            row("calls", "memory of an idle server", MCP),
        ],
    },
    Chart {
        file: "list",
        title: "Pages of large directories",
        subtitle: TIMES,
        directions: FASTER,
        rows: &[
            row("list", "first page, depth 2, tree of 1,000,000 entries", LIST),
            row("list", "page at offset 10,000, depth 2, tree of 1,000,000 entries", LIST),
            row("list", "first page, one directory of 1,000,000 files", LIST),
            row("list", "page at offset 10,000, one directory of 1,000,000 files", LIST),
            row("list", "full listing, depth 6, corpus", LIST),
        ],
    },
    Chart {
        file: "read",
        title: "Pages of large files",
        subtitle: TIMES,
        directions: FASTER,
        rows: &[
            row("read", "1 GiB of log lines, page at the start", READ),
            row("read", "1 GiB of log lines, page in the middle", READ),
            row("read", "1 GiB of log lines, page at the end", READ),
            row("read", "one line of 1 GiB, column 1", READ),
            row("read", "one line of 1 GiB, column 900,000,000", READ),
            row("read", "sparse file of 1 TiB", READ),
        ],
    },
    Chart {
        file: "bash",
        title: "Commands and their output",
        subtitle: TIMES,
        directions: FASTER,
        rows: &[
            row("bash", "print 4 GiB of zeroes", SANDBOXED),
            row("bash", "print 4 GiB of short lines", SANDBOXED),
            row("bash", "print 4 GiB of zeroes, over MCP", SANDBOXED_MCP),
            row("bash", "print 4 GiB of short lines, over MCP", SANDBOXED_MCP),
            row("bash", "save 200 MiB of output to a file", SANDBOXED),
            row("bash", "run `true`", SANDBOXED_MCP),
            row("bash", "run `true`, including the start of eyelet", SANDBOXED),
        ],
    },
];

/// Writes all charts into `folder`.
pub(crate) fn write(reports: &[Report], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(io_error)?;
    for chart in CHARTS {
        if let Some(drawn) = chart.draw(reports)? {
            fs::write(folder.join(format!("{}.svg", chart.file)), drawn).map_err(io_error)?;
        }
    }
    Ok(())
}

impl Chart {
    /// The benchmark that has most of the results.
    pub(crate) fn bench(&self) -> &'static str {
        self.rows.last().map_or("", |row| row.bench)
    }

    pub(crate) fn title(&self) -> &'static str {
        self.title
    }

    /// The image, or `None` if no report has one of the tasks.
    pub(crate) fn draw(&self, reports: &[Report]) -> Result<Option<String>> {
        let mut shown: Vec<&Report> = Vec::new();
        let mut groups = Vec::new();
        for row in self.rows {
            let report = reports.iter().find(|report| report.bench == row.bench);
            let measured = report
                .and_then(|report| report.tasks.iter().find(|measured| measured.task == row.task));
            let (Some(report), Some(measured)) = (report, measured) else {
                println!("== {}.svg: no result of `{}`", self.file, row.task);
                continue;
            };
            groups.push(group(measured, row.ours)?);
            if !shown.iter().any(|other| other.bench == report.bench) {
                shown.push(report);
            }
        }
        if groups.is_empty() {
            return Ok(None);
        }
        let mut footer: Vec<_> = shown.into_iter().map(footer).collect();
        footer.dedup();
        let drawing = Drawing {
            title: self.title.into(),
            subtitle: self.subtitle.into(),
            directions: self.directions,
            groups,
            footer,
        };
        Ok(Some(drawing.svg()))
    }
}

fn group(measured: &Measured, ours: &str) -> Result<Group> {
    let times = measured.contenders.iter().find(|contender| contender.name == ours);
    let times = times.ok_or_else(|| format!("{}: no results of `{ours}`", measured.task))?;
    // A long unit stands only beside the number of eyelet.
    let unit = measured.unit.split(' ').next().unwrap_or_default();
    let compared = measured.ratios.iter().filter(|ratio| ratio.ours == ours).map(|ratio| {
        let peer = measured.contenders.iter().find(|contender| contender.name == ratio.peer);
        let number = peer.map_or(String::new(), |peer| in_unit(peer.median, unit));
        Bar { label: ratio.peer.clone(), ratio: Some(ratio.medians), number }
    });
    let wrong = measured.not_compared.iter().map(|peer| Bar {
        label: peer.peer.clone(),
        ratio: None,
        number: "no comparable answer".into(),
    });
    Ok(Group {
        heading: measured.task.replace('`', ""),
        ours: format!("eyelet: {}", in_unit(times.median, &measured.unit)),
        bars: compared.chain(wrong).collect(),
    })
}

/// The machine and the date of a report.
fn footer(report: &Report) -> String {
    let machine = &report.machine;
    let kernel: Vec<_> = machine.kernel.splitn(3, '.').take(2).collect();
    let missing = match report.missing.len() {
        0 => String::new(),
        _ => {
            let names: Vec<_> =
                report.missing.iter().map(|missing| missing.peer.as_str()).collect();
            format!(" Missing: {}.", names.join(", "))
        }
    };
    format!(
        "Medians of {} rounds, {}, {} with {} cores, {} GiB, {}, load average {}. Logarithmic axis.{missing}",
        report.rounds,
        report.date,
        machine.processor,
        machine.cores,
        machine.memory_gib,
        kernel.join("."),
        machine.load
    )
}

fn in_unit(value: f64, unit: &str) -> String {
    match unit {
        "ms" if value >= 1000.0 => format!("{} s", short_number(value / 1000.0)),
        _ => format!("{} {unit}", short_number(value)),
    }
}
