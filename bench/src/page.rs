//! `docs/benchmarks.md`: the part below a mark is made from the reports.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::Result;
use crate::charts::CHARTS;
use crate::options::io_error;
use crate::report::Report;
use crate::runner::Summary;
use crate::tables;
use crate::target::number;

const MARK: &str = "<!-- `cargo xtask bench --charts` writes everything below this line. -->\n";

/// Replaces what follows the mark.
pub(crate) fn write(reports: &[Report], page: &Path) -> Result<()> {
    let text = fs::read_to_string(page).map_err(|error| format!("{}: {error}", page.display()))?;
    fs::write(page, replaced(&text, reports)?).map_err(io_error)
}

fn replaced(page: &str, reports: &[Report]) -> Result<String> {
    let missing = "docs/benchmarks.md: the comment that starts the generated part is missing";
    let (written, _) = page.split_once(MARK).ok_or(missing)?;
    Ok(format!("{written}{MARK}\n{}", results(reports)))
}

fn results(reports: &[Report]) -> String {
    let mut text = behind(reports);
    for report in reports {
        let _ = write!(text, "\n## Benchmark `{}`\n\n{}", report.bench, tables::conditions(report));
        for chart in CHARTS.iter().filter(|chart| chart.bench() == report.bench) {
            let _ = write!(text, "\n![{}](benchmarks/{}.svg)\n", chart.title(), chart.file);
        }
        let _ = write!(text, "\n### `{}`: numbers\n\n{}", report.bench, tables::results(report));
        let _ = write!(
            text,
            "\n### `{}`: ratios\n\nEach ratio is the peer's number divided by eyelet's number. If \
             a ratio is above 1, eyelet is faster or uses less.\n\n{}",
            report.bench,
            tables::ratios(report)
        );
        let _ = write!(text, "\n### `{}`: targets\n\n{}", report.bench, tables::targets(report));
        let _ = write!(
            text,
            "\n### `{}`: checks before timing\n\n{}",
            report.bench,
            tables::checks(report)
        );
    }
    text
}

/// Each result in which a peer is better than eyelet, and each missed target.
fn behind(reports: &[Report]) -> String {
    let mut text = String::from(
        "## Where eyelet is not ahead\n\nIn each of these results, the median of the peer is \
         better than the median of eyelet. The ratio is the peer's number divided by eyelet's \
         number; the worst ratio comes first.\n\n\
         | benchmark | task | eyelet | peer | ratio |\n|---|---|---|---|---:|\n",
    );
    let mut rows = Vec::new();
    for report in reports {
        for measured in &report.tasks {
            let shown = |name: &str| {
                let found = measured.contenders.iter().find(|times| times.name == name);
                let median = found.map_or("–".into(), |times: &Summary| number(times.median));
                format!("{name}: {median} {}", measured.unit)
            };
            for ratio in measured.ratios.iter().filter(|ratio| ratio.medians < 1.0) {
                let row = [&report.bench, &measured.task].map(String::as_str).join(" | ");
                let row = format!("| {row} | {} | {} |", shown(&ratio.ours), shown(&ratio.peer));
                rows.push((ratio.medians, row));
            }
        }
    }
    rows.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    for (ratio, row) in rows {
        let _ = writeln!(text, "{row} {ratio:.2} |");
    }
    text += "\nMissed targets:\n\n| benchmark | task | metric | measured | target |\n";
    text += "|---|---|---|---:|---:|\n";
    for report in reports {
        for measured in &report.tasks {
            for verdict in measured.verdicts.iter().filter(|verdict| !verdict.reached) {
                let _ = writeln!(
                    text,
                    "| {} | {} | {} | {} | {} |",
                    report.bench, measured.task, verdict.what, verdict.measured, verdict.target
                );
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benches;

    /// The files of the repository, which the tests compare with what the reports give.
    fn project() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    fn reports() -> Vec<Report> {
        let newest = |name| Report::newest(&project().join("bench/runs"), name).unwrap();
        benches::names().into_iter().map(|name| newest(name).expect(name)).collect()
    }

    #[test]
    fn the_page_shows_the_newest_reports() {
        let page = fs::read_to_string(project().join("docs/benchmarks.md")).unwrap();
        assert!(replaced(&page, &reports()).unwrap() == page, "run `cargo xtask bench --charts`");
    }

    #[test]
    fn the_charts_show_the_newest_reports() {
        for chart in CHARTS {
            let path = project().join("docs/benchmarks").join(format!("{}.svg", chart.file));
            let drawn = fs::read_to_string(path).unwrap();
            let again = chart.draw(&reports()).unwrap();
            assert!(again.as_ref() == Some(&drawn), "run `cargo xtask bench --charts`");
        }
    }
}
