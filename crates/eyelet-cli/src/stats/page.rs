//! The report as one HTML page without scripts, images or fonts. Its Content-Security-Policy forbids all of them,
//! and all connections.
//!
//! `html!` escapes all text, and `words::name` escapes control characters.

use eyelet::{grouped, rounded_size};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::report::ContextReport;
use super::{page_charts, page_tables, words};

const STYLE: &str = include_str!("page.css");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// The whole page.
pub(crate) fn page(report: &ContextReport) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { "Context report" }
                // Without it, browsers ask the server for an icon.
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    (header(report))
                    @if report.total.calls > 0 {
                        (tiles(report))
                        (page_charts::charts(report))
                        (page_tables::tables(report))
                    }
                }
                footer { p { (footer(report)) } }
            }
        }
    };
    page.into_string()
}

fn header(report: &ContextReport) -> Markup {
    let total = &report.total;
    let files: Vec<_> = report.files.iter().map(|file| words::name(file)).collect();
    let all = total.shown.saturating_add(total.withheld);
    html! {
        header {
            p.brand { "eyelet" }
            h1 { "Context report" }
            @if let Some(period) = words::period(report) {
                p.lead {
                    (words::counted(total.calls, "call")) " put about "
                    strong { (words::counted(total.tokens, "token")) }
                    " into the contexts of models. "
                    @if total.withheld > 0 {
                        "eyelet withheld " strong { (rounded_size(total.withheld)) } ", "
                        (words::percent(total.withheld, all)) " of all output."
                    }
                }
                p.source { (period) " · " (files.join(", ")) }
            } @else {
                p.lead { (words::no_calls(report)) }
            }
        }
    }
}

fn tiles(report: &ContextReport) -> Markup {
    let total = &report.total;
    let all = total.shown.saturating_add(total.withheld);
    let repeats = &report.repeated_reads;
    let per_call = format!("{} per call", words::duration(total.ms / total.calls.max(1)));
    let tiles = [
        (
            "Calls",
            grouped(total.calls),
            words::counted(total.tokens / total.calls.max(1), "token") + " per call",
        ),
        ("Tokens shown", grouped(total.tokens), format!("estimate; {}", rounded_size(total.shown))),
        (
            "Bytes withheld",
            rounded_size(total.withheld),
            format!("{} of {}", words::percent(total.withheld, all), rounded_size(all)),
        ),
        ("Time", words::duration(total.ms), per_call),
        ("Errors", grouped(total.errors), words::counted(total.refusals, "sandbox refusal")),
        ("Repeated reads", grouped(repeats.repeats), words::counted(repeats.tokens, "token")),
    ];
    html! {
        section.tiles aria-label="Totals" {
            @for (name, number, note) in tiles {
                div.tile { p.label { (name) } p.number { (number) } p.note { (note) } }
            }
        }
    }
}

fn footer(report: &ContextReport) -> String {
    let skipped = match report.unreadable_lines {
        0 => String::new(),
        lines => format!("{} of the record could not be read. ", words::counted(lines, "line")),
    };
    format!(
        "{skipped}Tokens are an estimate: one per 4 bytes of text, and one per 750 pixels of an image. Times are UTC. \
         Made by eyelet {}.",
        env!("CARGO_PKG_VERSION")
    )
}
