//! The tables of a report, as Markdown.

use std::fmt::Write as _;

use crate::corpus::About;
use crate::machine::Machine;
use crate::report::Report;
use crate::target::{MEBIBYTE, number};

/// The whole report.
pub(crate) fn markdown(report: &Report) -> String {
    let mut text = format!("# Benchmark `{}`, {}\n\n", report.bench, report.date);
    let heading = |name| format!("\n## {name}\n\n");
    text += &conditions(report);
    text += &heading("Results");
    text += &results(report);
    text += &heading("Ratios");
    text += &ratios(report);
    text += &heading("Targets");
    text += &targets(report);
    text += &heading("Checks before timing");
    text += &checks(report);
    text
}

/// The machine, the versions and the notes, as a list.
pub(crate) fn conditions(report: &Report) -> String {
    let Machine { processor, cores, memory_gib, kernel, file_system, load } = &report.machine;
    let mut text = format!(
        "- {}, commit {}; {} rounds; warm page cache\n",
        report.date, report.commit, report.rounds
    );
    let _ = writeln!(
        text,
        "- {processor}, {cores} cores, {memory_gib} GiB of memory, {kernel}, {file_system}; \
         load average {load} at the start"
    );
    let _ = writeln!(text, "- {}", report.versions.join("; "));
    if let Some(About { name, files, bytes }) = &report.corpus {
        let _ = writeln!(text, "- Corpus: {name}, {files} files, {bytes} bytes");
    }
    for missing in &report.missing {
        let _ = writeln!(text, "- Missing: {}: {}", missing.peer, missing.reason);
    }
    for note in &report.notes {
        let _ = writeln!(text, "- {note}");
    }
    text
}

pub(crate) fn results(report: &Report) -> String {
    let mut text =
        String::from("| task | program | unit | median | p99 | min | max | peak MiB |\n");
    text += "|---|---|---|---:|---:|---:|---:|---:|\n";
    for measured in &report.tasks {
        for summary in &measured.contenders {
            let peak = summary
                .peak_memory_bytes
                .map_or("–".into(), |bytes| format!("{:.1}", bytes as f64 / MEBIBYTE));
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} | {peak} |",
                measured.task,
                summary.name,
                measured.unit,
                number(summary.median),
                summary.p99.map_or("–".into(), number),
                number(summary.min),
                number(summary.max)
            );
        }
    }
    text
}

pub(crate) fn ratios(report: &Report) -> String {
    let mut text = String::from("| task | eyelet | peer | medians | minimums |\n");
    text += "|---|---|---|---:|---:|\n";
    for measured in &report.tasks {
        for ratio in &measured.ratios {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {:.2} | {:.2} |",
                measured.task, ratio.ours, ratio.peer, ratio.medians, ratio.minimums
            );
        }
        for not_compared in &measured.not_compared {
            let _ = writeln!(
                text,
                "| {} | – | {} | not compared: {} | |",
                measured.task, not_compared.peer, not_compared.reason
            );
        }
    }
    text
}

pub(crate) fn targets(report: &Report) -> String {
    let mut text = String::from("| task | metric | measured | target | met |\n");
    text += "|---|---|---:|---:|---|\n";
    for measured in &report.tasks {
        for verdict in &measured.verdicts {
            let met = if verdict.reached { "yes" } else { "NO" };
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {met} |",
                measured.task, verdict.what, verdict.measured, verdict.target
            );
        }
    }
    text
}

pub(crate) fn checks(report: &Report) -> String {
    let mut text = String::new();
    for measured in &report.tasks {
        let _ = writeln!(text, "- {}: {}", measured.task, measured.checked);
    }
    text
}

/// The start of a text from another program, so that it fits into a table.
pub(crate) fn one_line(text: &str) -> String {
    const LONGEST: usize = 200;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    if words.chars().count() <= LONGEST {
        return words;
    }
    words.chars().take(LONGEST).chain(['…']).collect()
}
