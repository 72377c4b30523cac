//! The tables of the page.

use eyelet::{grouped, rounded_size};
use maud::{Markup, html};

use super::ledger::Totals;
use super::page_charts::{colour, path};
use super::report::{ContextReport, Rows, lines_read};
use super::words;

pub(super) fn tables(report: &ContextReport) -> Markup {
    html! {
        (costliest_calls(report))
        (totals_table("Tools", "tool", &report.tools, |key| tool(report, &key.tool)))
        (totals_table("Paths", "path", &report.paths, |key| path(key.path.as_deref())))
        (repeated_reads(report))
        (empty_searches(report))
        div.pair {
            (counts(words::ERRORS, "error", &report.errors, |key| &key.error))
            (counts(words::REFUSALS, "refusal", &report.refusals, |key| &key.refusal))
        }
    }
}

fn tool(report: &ContextReport, name: &str) -> Markup {
    html! { span.tool { i class=(colour(report, name)) {} (words::name(name)) } }
}

/// A table whose first column is text and whose other columns are numbers.
fn table(title: &str, about: &str, columns: &[&str], rows: &[(Markup, Vec<String>)]) -> Markup {
    html! {
        section.card {
            h2 { (title) }
            @if !about.is_empty() { p.about { (about) } }
            @if rows.is_empty() {
                p.none { "None." }
            } @else {
                div.scroll {
                    table {
                        thead { tr { @for column in columns { th scope="col" { (column) } } } }
                        tbody {
                            @for (name, cells) in rows {
                                tr { td { (name) } @for cell in cells { td { (cell) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn totals_table<K>(title: &str, name: &str, rows: &Rows<K>, cell: impl Fn(&K) -> Markup) -> Markup {
    let columns = [&[name], words::TOTALS.as_slice()].concat();
    let line = |name: Markup, totals: &Totals| (name, words::totals(totals).to_vec());
    let mut lines: Vec<_> = rows.rows.iter().map(|row| line(cell(&row.key), &row.totals)).collect();
    if rows.others.calls > 0 {
        lines.push(line(html! { "others" }, &rows.others));
    }
    table(title, "", &columns, &lines)
}

fn costliest_calls(report: &ContextReport) -> Markup {
    let columns =
        ["path or command", "tool", "tokens", "shown", "withheld", "time", "outcome", "began"];
    let lines = report.costliest_calls.iter().map(|call| {
        let name = match &call.command {
            Some(command) => html! { code { (words::name(command)) } },
            None => html! {
                (path(call.path.as_deref()))
                @if let Some(lines) = lines_read(call) { span.range { ":" (words::range(lines)) } }
            },
        };
        let cells = vec![
            words::name(&call.tool),
            grouped(call.tokens),
            rounded_size(call.shown),
            rounded_size(call.withheld),
            words::duration(call.ms),
            words::outcome(call),
            words::table_time(&call.time),
        ];
        (name, cells)
    });
    table(words::COSTLIEST, "The calls with the most tokens", &columns, &lines.collect::<Vec<_>>())
}

fn repeated_reads(report: &ContextReport) -> Markup {
    let rows = report.repeated_reads.rows.iter().map(|row| {
        let numbers = [row.reads, row.repeats, row.tokens].map(grouped);
        let cells = [&[words::range(row.range)], numbers.as_slice()].concat();
        (path(Some(&row.path)), cells)
    });
    let about = "Lines that a session read more than once. The repeats and tokens do not include the first \
                 read of each session.";
    let columns = ["path", "lines", "reads", "repeats", "tokens"];
    table(words::REPEATED, about, &columns, &rows.collect::<Vec<_>>())
}

fn empty_searches(report: &ContextReport) -> Markup {
    let rows = report.empty_searches.rows.iter().map(|row| {
        let totals = &row.totals;
        let cells = vec![
            words::name(&row.key.tool),
            grouped(totals.calls),
            grouped(totals.tokens),
            words::duration(totals.ms),
        ];
        (path(row.key.path.as_deref()), cells)
    });
    let columns = ["path", "tool", "searches", "tokens", "time"];
    table(words::EMPTY, "", &columns, &rows.collect::<Vec<_>>())
}

fn counts<K>(title: &str, name: &str, rows: &Rows<K>, text: impl Fn(&K) -> &String) -> Markup {
    let lines = rows
        .rows
        .iter()
        .map(|row| (html! { (words::name(text(&row.key))) }, vec![grouped(row.totals.calls)]));
    table(title, "", &[name, "calls"], &lines.collect::<Vec<_>>())
}
