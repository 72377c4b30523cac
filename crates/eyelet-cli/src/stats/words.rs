//! Numbers, times and calls in words, for the text and for the page.

use chrono::{DateTime, Utc};
use eyelet::{escape_name, grouped, rounded_size};
use eyelet_mcp::CallRecord;

use super::ledger::Totals;
use super::report::{ContextReport, lines_read};

const SECOND_MS: u64 = 1000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_SECS: i64 = 24 * 60 * 60;
const NO_PATH: &str = "(no path)";

/// The titles of the parts of the report.
pub(super) const TOOLS: &str = "By tool";
pub(super) const PATHS: &str = "By path";
pub(super) const COSTLIEST: &str = "Costliest calls";
pub(super) const REPEATED: &str = "Repeated reads of the same range";
pub(super) const EMPTY: &str = "Searches that found nothing";
pub(super) const ERRORS: &str = "Errors";
pub(super) const REFUSALS: &str = "Sandbox refusals";

/// The columns of `Totals`.
pub(super) const TOTALS: [&str; 7] =
    ["calls", "tokens", "shown", "withheld", "time", "errors", "refusals"];

pub(super) fn totals(totals: &Totals) -> [String; 7] {
    [
        grouped(totals.calls),
        grouped(totals.tokens),
        rounded_size(totals.shown),
        rounded_size(totals.withheld),
        duration(totals.ms),
        grouped(totals.errors),
        grouped(totals.refusals),
    ]
}

/// Such as `12 ms`, `6.1 s`, `12 min 5 s` or `1 h 2 min`.
pub(super) fn duration(ms: u64) -> String {
    match ms {
        0..SECOND_MS => format!("{ms} ms"),
        SECOND_MS..MINUTE_MS => format!("{}.{} s", ms / SECOND_MS, ms % SECOND_MS / 100),
        MINUTE_MS..HOUR_MS => format!("{} min {} s", ms / MINUTE_MS, ms % MINUTE_MS / SECOND_MS),
        HOUR_MS.. => format!("{} h {} min", grouped(ms / HOUR_MS), ms % HOUR_MS / MINUTE_MS),
    }
}

/// The length of a bar of the timeline: `10 s`, `5 min`, `3 h`, `7 d`.
pub(super) fn interval(seconds: i64) -> String {
    let units = [(DAY_SECS, "d"), (60 * 60, "h"), (60, "min")];
    let unit = units.into_iter().find(|(length, _)| seconds % length == 0);
    let (length, name) = unit.unwrap_or((1, "s"));
    format!("{} {name}", seconds / length)
}

/// A number and its noun.
pub(super) fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A share in words, such as `12 %`. The result is 0 or 100 only if the share is exactly that.
pub(super) fn percent(part: u64, whole: u64) -> String {
    let share = 100.0 * part as f64 / whole.max(1) as f64;
    match share {
        _ if part == 0 => "0 %".to_owned(),
        ..1.0 => "under 1 %".to_owned(),
        99.0.. if part < whole => "over 99 %".to_owned(),
        _ => format!("{share:.0} %"),
    }
}

/// When the calls began.
pub(super) fn period(report: &ContextReport) -> Option<String> {
    let (first, last) = (time(report.first.as_deref()?)?, time(report.last.as_deref()?)?);
    let start = first.format("%Y-%m-%d %H:%M");
    Some(if first.date_naive() == last.date_naive() {
        format!("{start} to {} UTC", last.format("%H:%M"))
    } else {
        format!("{start} to {} UTC", last.format("%Y-%m-%d %H:%M"))
    })
}

/// A point in time, as precise as a timeline needs it.
pub(super) fn axis_time(text: &str, bar_secs: i64, days: i64) -> String {
    let format = match (bar_secs, days) {
        (DAY_SECS.., _) => "%Y-%m-%d",
        (_, 1..) => "%b %e, %H:%M",
        (60.., _) => "%H:%M",
        _ => "%H:%M:%S",
    };
    time(text).map(|time| time.format(format).to_string()).unwrap_or_default()
}

/// How many midnights lie between two times.
pub(super) fn days_between(first: &str, last: &str) -> i64 {
    let day = |text| time(text).map_or(0, |time| time.timestamp().div_euclid(DAY_SECS));
    day(last) - day(first)
}

/// A point in time for a table.
pub(super) fn table_time(text: &str) -> String {
    time(text).map(|time| time.format("%Y-%m-%d %H:%M:%S").to_string()).unwrap_or_default()
}

fn time(text: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.to_utc())
}

pub(super) fn path(path: Option<&str>) -> String {
    path.map_or_else(|| NO_PATH.to_owned(), name)
}

/// Text of the record on one line, without control characters.
pub(super) fn name(text: &str) -> String {
    escape_name(text.as_ref()).into_owned()
}

pub(super) fn range((first, last): (u64, u64)) -> String {
    format!("{first}-{last}")
}

/// The subject of a call: its command, or its path and lines.
pub(super) fn target(call: &CallRecord) -> String {
    if let Some(command) = &call.command {
        return name(command);
    }
    let path = path(call.path.as_deref());
    match lines_read(call) {
        Some(lines) => format!("{path}:{}", range(lines)),
        None => path,
    }
}

/// How a call ended, if not well.
pub(super) fn outcome(call: &CallRecord) -> String {
    match (&call.error, call.exit_code) {
        (Some(error), _) => name(error),
        (None, Some(code)) if code != 0 => format!("exit {code}"),
        (None, _) => String::new(),
    }
}

/// Why there is nothing to report.
pub(super) fn no_calls(report: &ContextReport) -> String {
    let files: Vec<_> = report.files.iter().map(|file| name(file)).collect();
    let files = files.join(", ");
    match report.unreadable_lines {
        0 => format!("No calls in {files}: the record is empty."),
        1 => format!("No calls in {files}: its only line is not a recorded call."),
        lines => {
            format!("No calls in {files}: none of {} lines is a recorded call.", grouped(lines))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units_at_most() {
        for (ms, shown) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_999, "1.9 s"),
            (59_999, "59.9 s"),
            (60_000, "1 min 0 s"),
            (3_599_999, "59 min 59 s"),
            (3_720_000, "1 h 2 min"),
            (4_000_000_000, "1,111 h 6 min"),
        ] {
            assert_eq!(duration(ms), shown);
        }
    }

    #[test]
    fn lengths_of_bars_have_one_unit() {
        let lengths = [1, 30, 300, 10_800, 43_200, 86_400, 28 * DAY_SECS];
        assert_eq!(lengths.map(interval).join(", "), "1 s, 30 s, 5 min, 3 h, 12 h, 1 d, 28 d");
    }

    #[test]
    fn percentages_are_never_rounded_to_nothing_or_all() {
        let shown = [(0, 7), (1, 1_000), (1, 8), (999, 1_000), (7, 7), (0, 0)];
        let shown = shown.map(|(part, whole)| percent(part, whole)).join(", ");
        assert_eq!(shown, "0 %, under 1 %, 12 %, over 99 %, 100 %, 0 %");
    }
}
