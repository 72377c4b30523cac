//! The report as text: tables, and on a terminal sparklines.

use clap::builder::styling::{AnsiColor, Style};
use eyelet::{grouped, rounded_size};

use super::ledger::Totals;
use super::report::{ContextReport, Rows};
use super::text_table::{Keep, Table};
use super::timeline::Bar;
use super::words;
use crate::print::Colours;

const HEADING: Style = Style::new().bold();
const SPARKLINE: Style = AnsiColor::Cyan.on_default();
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The columns that a sparkline leaves for the name of the tool.
const SPARKLINE_NAME: usize = 16;

/// The terminal, pipe or file to which the text is printed.
#[derive(Clone, Copy)]
pub(crate) struct Screen {
    /// The columns of the terminal; none for a pipe or a file.
    pub(crate) width: Option<usize>,
    pub(crate) colours: Colours,
}

/// The report as text that ends with a newline.
pub(crate) fn text(report: &ContextReport, screen: Screen) -> String {
    if report.total.calls == 0 {
        return words::no_calls(report) + "\n";
    }
    let mut lines = summary(report, screen);
    lines.extend(sparklines(report, screen));
    let named = |title: &str, mut table: Table, others: &Totals| {
        if others.calls > 0 {
            table.add(words::totals(others), "(others)".to_owned(), Keep::Start);
        }
        section(title, &table, screen)
    };
    lines.extend(named(words::TOOLS, tools(report), &report.tools.others));
    lines.extend(named(words::PATHS, paths(report), &report.paths.others));
    lines.extend(section(words::COSTLIEST, &costliest_calls(report), screen));
    lines.extend(section(words::REPEATED, &repeated_reads(report), screen));
    lines.extend(section(words::EMPTY, &empty_searches(report), screen));
    let errors = counts(&report.errors, "error", |key| &key.error);
    lines.extend(section(words::ERRORS, &errors, screen));
    let refusals = counts(&report.refusals, "refusal", |key| &key.refusal);
    lines.extend(section(words::REFUSALS, &refusals, screen));
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn summary(report: &ContextReport, screen: Screen) -> Vec<String> {
    let total = &report.total;
    let calls = words::counted(total.calls, "call");
    let period = words::period(report).unwrap_or_default();
    let mut numbers = vec![
        ("tokens shown", format!("{} (estimate)", grouped(total.tokens))),
        ("bytes shown", rounded_size(total.shown)),
        ("bytes withheld", rounded_size(total.withheld)),
        ("time", words::duration(total.ms)),
        ("errors", grouped(total.errors)),
        ("refusals", grouped(total.refusals)),
    ];
    if report.repeated_reads.repeats > 0 {
        let repeats = &report.repeated_reads;
        let text = format!("{} ({} tokens)", grouped(repeats.repeats), grouped(repeats.tokens));
        numbers.push(("repeated reads", text));
    }
    if report.unreadable_lines > 0 {
        numbers
            .push(("skipped lines", format!("{} (not calls)", grouped(report.unreadable_lines))));
    }
    let heading = format!("{calls}, {period}");
    let mut lines = vec![screen.colours.paint(HEADING, &heading), String::new()];
    lines.extend(numbers.iter().map(|(name, number)| format!("{name:16}{number}")));
    lines
}

/// A line for all calls and one for each tool, all with the same scale; only on a terminal.
fn sparklines(report: &ContextReport, screen: Screen) -> Vec<String> {
    let bars = &report.timeline.bars;
    let (Some(width), Some(first), Some(last)) = (screen.width, bars.first(), bars.last()) else {
        return Vec::new();
    };
    // Bars are joined if the terminal is narrow.
    let joined = bars.len().div_ceil(width.saturating_sub(SPARKLINE_NAME).max(1));
    let bar_secs = report.timeline.bar_secs * joined as i64;
    let days = words::days_between(&first.time, &last.time);
    let bars: Vec<_> = bars.chunks(joined).map(join).collect();
    let start = words::axis_time(&first.time, bar_secs, days);
    let title =
        format!("Tokens over time, from {start}; each character is {}", words::interval(bar_secs));
    let mut lines = vec![String::new(), screen.colours.paint(HEADING, &title)];
    let highest = bars.iter().map(|bar| bar.tokens).max().unwrap_or_default();
    let mut add = |name: &str, tokens: &dyn Fn(&Bar) -> u64| {
        let levels: String = bars.iter().map(|bar| level(tokens(bar), highest)).collect();
        lines.push(format!("{}  {name}", screen.colours.paint(SPARKLINE, &levels)));
    };
    add("all", &|bar| bar.tokens);
    if report.tools.rows.len() > 1 {
        for row in &report.tools.rows {
            let tokens = |bar: &Bar| bar.tokens_by_tool.get(&row.key.tool).copied();
            add(&words::name(&row.key.tool), &|bar| tokens(bar).unwrap_or_default());
        }
    }
    lines
}

fn join(bars: &[Bar]) -> Bar {
    let mut joined = Bar::default();
    bars.iter().for_each(|bar| joined.add(bar));
    joined
}

/// A block as high as the number; a space only for zero.
fn level(tokens: u64, highest: u64) -> char {
    if tokens == 0 {
        return ' ';
    }
    let highest = u128::from(highest.max(1));
    let level = u128::from(tokens) * LEVELS.len() as u128 / highest;
    let level = usize::try_from(level).unwrap_or_default().min(LEVELS.len() - 1);
    LEVELS.get(level).copied().unwrap_or(' ')
}

/// A blank line, the title and the table; nothing if the table has no rows.
fn section(title: &str, table: &Table, screen: Screen) -> Vec<String> {
    if table.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), screen.colours.paint(HEADING, title)];
    lines.extend(table.lines(screen.width));
    lines
}

fn tools(report: &ContextReport) -> Table {
    let mut table = Table::new(&words::TOTALS, "tool");
    for row in &report.tools.rows {
        table.add(words::totals(&row.totals), words::name(&row.key.tool), Keep::Start);
    }
    table
}

fn paths(report: &ContextReport) -> Table {
    let mut table = Table::new(&words::TOTALS, "path");
    for row in &report.paths.rows {
        table.add(words::totals(&row.totals), words::path(row.key.path.as_deref()), Keep::End);
    }
    table
}

fn costliest_calls(report: &ContextReport) -> Table {
    let columns = ["tokens", "shown", "withheld", "time", "tool", "outcome"];
    let mut table = Table::new(&columns, "path or command");
    for call in &report.costliest_calls {
        let cells = [
            grouped(call.tokens),
            rounded_size(call.shown),
            rounded_size(call.withheld),
            words::duration(call.ms),
            words::name(&call.tool),
            words::outcome(call),
        ];
        let keep = if call.command.is_some() { Keep::Start } else { Keep::End };
        table.add(cells, words::target(call), keep);
    }
    table
}

fn repeated_reads(report: &ContextReport) -> Table {
    let mut table = Table::new(&["reads", "repeats", "tokens", "lines"], "path");
    for row in &report.repeated_reads.rows {
        let numbers = [row.reads, row.repeats, row.tokens].map(grouped);
        let cells = [numbers.as_slice(), &[words::range(row.range)]].concat();
        table.add(cells, words::name(&row.path), Keep::End);
    }
    table
}

fn empty_searches(report: &ContextReport) -> Table {
    let mut table = Table::new(&["searches", "tokens", "time", "tool"], "path");
    for row in &report.empty_searches.rows {
        let totals = &row.totals;
        let cells = [
            grouped(totals.calls),
            grouped(totals.tokens),
            words::duration(totals.ms),
            words::name(&row.key.tool),
        ];
        table.add(cells, words::path(row.key.path.as_deref()), Keep::End);
    }
    table
}

fn counts<K>(rows: &Rows<K>, name: &'static str, text: impl Fn(&K) -> &String) -> Table {
    let mut table = Table::new(&["calls"], name);
    for row in &rows.rows {
        table.add([grouped(row.totals.calls)], words::name(text(&row.key)), Keep::Start);
    }
    table
}
