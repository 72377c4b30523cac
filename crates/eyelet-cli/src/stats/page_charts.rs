//! The charts of the page, made of boxes whose sizes are percentages: they fit every width without scripts.

use eyelet::{grouped, rounded_size};
use maud::{Markup, html};

use super::ledger::Totals;
use super::report::ContextReport;
use super::timeline::Bar;
use super::words;

/// How many tools have a colour of their own. The others are grey.
const COLOURS: usize = 7;
/// How many times are written below the timeline.
const TICKS: usize = 4;

pub(super) fn charts(report: &ContextReport) -> Markup {
    html! {
        (timeline(report))
        div.pair {
            div {
                (tokens_by_tool(report))
                (bytes_by_tool(report))
            }
            (tokens_by_path(report))
        }
    }
}

/// The CSS class with the colour of a tool, which depends on the row of the tool.
pub(super) fn colour(report: &ContextReport, tool: &str) -> String {
    let row = report.tools.rows.iter().position(|row| row.key.tool == tool);
    match row {
        Some(row) if row < COLOURS => format!("c{}", row + 1),
        _ => "c0".to_owned(),
    }
}

fn timeline(report: &ContextReport) -> Markup {
    let (bars, secs) = (&report.timeline.bars, report.timeline.bar_secs);
    let (Some(first), Some(last)) = (bars.first(), bars.last()) else { return html! {} };
    let days = words::days_between(&first.time, &last.time);
    let highest = bars.iter().map(|bar| bar.tokens).max().unwrap_or_default();
    let top = scale_top(highest);
    let step = bars.len().div_ceil(TICKS);
    html! {
        section.card {
            h2 { "Tokens over time" }
            p.about { "One column per " (words::interval(secs)) ", by tool" }
            p.legend {
                @for row in &report.tools.rows {
                    span { i class=(colour(report, &row.key.tool)) {} (words::name(&row.key.tool)) }
                }
                @if report.tools.others.calls > 0 { span { i.c0 {} "others" } }
            }
            div.plot {
                div.scale aria-hidden="true" {
                    span { (compact(top)) } span { (compact(top / 2)) } span { "0" }
                }
                div.columns {
                    @for (place, bar) in bars.iter().enumerate() {
                        div.column.late[place * 2 > bars.len()] {
                            @for (class, tokens) in segments(report, bar) {
                                div class={ "segment " (class) } style=(size("height", tokens, top)) {}
                            }
                            @if bar.calls > 0 { (tip(report, bar, secs, days)) }
                            @if place % step == 0 {
                                span.tick.minor[place / step % 2 == 1] {
                                    (words::axis_time(&bar.time, secs, days))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The parts of a column in the order of the legend, from below. Tools without a row are one part.
fn segments(report: &ContextReport, bar: &Bar) -> Vec<(String, u64)> {
    let listed = report.tools.rows.iter().map(|row| {
        let tool = &row.key.tool;
        (colour(report, tool), bar.tokens_by_tool.get(tool).copied().unwrap_or_default())
    });
    let mut parts: Vec<_> = listed.collect();
    let sum = parts.iter().fold(0, |sum: u64, (_, tokens)| sum.saturating_add(*tokens));
    parts.push(("c0".to_owned(), bar.tokens.saturating_sub(sum)));
    parts.retain(|(_, tokens)| *tokens > 0);
    parts
}

/// The tooltip of a column.
fn tip(report: &ContextReport, bar: &Bar, secs: i64, days: i64) -> Markup {
    let tools = report.tools.rows.iter().filter_map(|row| {
        let tokens = bar.tokens_by_tool.get(&row.key.tool)?;
        Some((&row.key.tool, tokens))
    });
    html! {
        div.tip {
            b { (words::axis_time(&bar.time, secs, days)) }
            span { (words::counted(bar.tokens, "token")) ", " (words::counted(bar.calls, "call")) }
            @for (tool, tokens) in tools {
                span { i class=(colour(report, tool)) {} (words::name(tool)) " " (grouped(*tokens)) }
            }
        }
    }
}

fn tokens_by_tool(report: &ContextReport) -> Markup {
    let total = report.total.tokens;
    let most = report.tools.rows.iter().map(|row| row.totals.tokens).max().unwrap_or_default();
    html! {
        section.card {
            h2 { (words::TOOLS) }
            p.about { "Tokens shown, and their share of all tokens" }
            @for row in &report.tools.rows {
                (bar(
                    html! { (words::name(&row.key.tool)) },
                    &share(row.totals.tokens, total),
                    &[(colour(report, &row.key.tool), row.totals.tokens)],
                    most,
                ))
            }
            (others(&report.tools.others, total, most))
        }
    }
}

fn bytes_by_tool(report: &ContextReport) -> Markup {
    let all = |totals: &Totals| totals.shown.saturating_add(totals.withheld);
    let most = report.tools.rows.iter().map(|row| all(&row.totals)).max().unwrap_or_default();
    html! {
        section.card {
            h2 { "Shown and withheld" }
            p.legend { span { i.c1 {} "bytes shown" } span { i.withheld {} "bytes withheld" } }
            @for row in &report.tools.rows {
                @let Totals { shown, withheld, .. } = row.totals;
                (bar(
                    html! { (words::name(&row.key.tool)) },
                    &format!("{} / {}", rounded_size(shown), rounded_size(withheld)),
                    &[("c1".to_owned(), shown), ("withheld".to_owned(), withheld)],
                    most,
                ))
            }
        }
    }
}

fn tokens_by_path(report: &ContextReport) -> Markup {
    let total = report.total.tokens;
    let most = report.paths.rows.iter().map(|row| row.totals.tokens).max().unwrap_or_default();
    html! {
        section.card {
            h2 { (words::PATHS) }
            p.about {
                "Tokens shown, and their share of all tokens; a command counts toward its working directory"
            }
            @for row in &report.paths.rows {
                (bar(
                    path(row.key.path.as_deref()),
                    &share(row.totals.tokens, total),
                    &[("c1".to_owned(), row.totals.tokens)],
                    most,
                ))
            }
            (others(&report.paths.others, total, most))
        }
    }
}

/// A path whose last component stands out. Lines break after a slash.
pub(super) fn path(text: Option<&str>) -> Markup {
    let text = words::path(text);
    let mut components: Vec<_> = text.split_inclusive('/').collect();
    let name = components.pop().unwrap_or_default();
    html! {
        span.path {
            span.directory { @for component in components { (component) wbr; } }
            (name)
        }
    }
}

fn others(others: &Totals, total: u64, most: u64) -> Markup {
    html! {
        @if others.calls > 0 {
            (bar(html! { "others" }, &share(others.tokens, total), &[("c0".to_owned(), others.tokens)], most))
        }
    }
}

fn share(tokens: u64, total: u64) -> String {
    format!("{} · {}", grouped(tokens), words::percent(tokens, total))
}

/// A horizontal bar below its name and number.
fn bar(name: Markup, number: &str, parts: &[(String, u64)], most: u64) -> Markup {
    html! {
        div.bar {
            div.name { (name) }
            div.value { (number) }
            div.track {
                @for (class, part) in parts {
                    @if *part > 0 { div class=(class) style=(size("width", *part, most)) {} }
                }
            }
        }
    }
}

/// A size in percent as a CSS declaration.
fn size(property: &str, part: u64, whole: u64) -> String {
    let percent = 100.0 * part as f64 / whole.max(1) as f64;
    format!("{property}:{:.2}%", percent.min(100.0))
}

/// The top of the scale: a round number whose half is round, too.
fn scale_top(highest: u64) -> u64 {
    let unit = 10u64.pow(highest.max(10).ilog10());
    let steps = [1, 2, 3, 4, 5, 6, 8, 10].into_iter().map(|step| unit.saturating_mul(step));
    steps.into_iter().find(|top| *top >= highest).unwrap_or(u64::MAX)
}

/// A round number in few characters: `500`, `1.5k`, `40k`, `2M`.
fn compact(number: u64) -> String {
    let units = [
        (1_000_000_000_000_000_000, "E"),
        (1_000_000_000_000_000, "P"),
        (1_000_000_000_000, "T"),
        (1_000_000_000, "G"),
        (1_000_000, "M"),
        (1_000, "k"),
    ];
    match units.into_iter().find(|(size, _)| number >= *size) {
        None => number.to_string(),
        Some((size, name)) if number.is_multiple_of(size) => format!("{}{name}", number / size),
        Some((size, name)) => format!("{:.1}{name}", number as f64 / size as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_ends_at_a_round_number() {
        let tops = [0, 7, 10, 11, 2_000, 4_001, 99_999, u64::MAX].map(scale_top);
        assert_eq!(tops, [10, 10, 10, 20, 2_000, 5_000, 100_000, u64::MAX]);
        let labels = [10, 500, 1_500, 40_000, 2_000_000].map(compact);
        assert_eq!(labels, ["10", "500", "1.5k", "40k", "2M"]);
    }

    #[test]
    fn sizes_never_exceed_their_box() {
        assert_eq!(size("width", 1, 3), "width:33.33%");
        assert_eq!(size("width", 5, 3), "width:100.00%");
        assert_eq!(size("width", 0, 0), "width:0.00%");
    }
}
