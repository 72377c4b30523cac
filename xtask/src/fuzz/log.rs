//! Reads what libFuzzer and the target printed.

/// What one target did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) target: String,
    /// How long it ran.
    pub(super) seconds: u64,
    pub(super) executions: u64,
    /// How many edges of the program ran.
    pub(super) covered: u64,
    /// How many edges the program has, those of all crates included.
    pub(super) edges: u64,
    /// How long the slowest input took, in microseconds.
    pub(super) slowest: u64,
    pub(super) peak_mib: u64,
    /// The reason and the file of the input, if one crashed, hung or used too much memory.
    pub(super) failure: Option<String>,
}

impl Run {
    pub(super) fn parse(target: &str, log: &str, succeeded: bool) -> Run {
        let mut run = Run { target: target.to_owned(), ..Run::default() };
        let (mut reason, mut file) = (None, None);
        for line in log.lines() {
            if let Some(number) = number_after(line, "stat::number_of_executed_units:") {
                run.executions = number;
            } else if let Some(number) = number_after(line, "stat::peak_rss_mb:") {
                run.peak_mib = number;
            } else if let Some(number) = number_after(line, "slowest:") {
                run.slowest = run.slowest.max(number);
            } else if line.starts_with("INFO: Loaded ") && line.contains("inline 8-bit counters") {
                run.edges = number_after(line, "modules   (").unwrap_or_default();
            } else if let Some(number) = number_after(line, " cov:") {
                run.covered = number;
            } else if let Some((_, error)) = line.split_once("ERROR: libFuzzer: ") {
                reason.get_or_insert(error.to_owned());
            } else if let Some((_, written)) = line.split_once("Test unit written to ") {
                file = written.rsplit('/').next();
            }
        }
        if !succeeded {
            let reason = reason.unwrap_or_else(|| "ended early".to_owned());
            run.failure = Some(match file {
                Some(file) => format!("{reason}: {file}"),
                None => reason,
            });
        }
        run
    }

    pub(super) fn summary(&self) -> String {
        let Run { target, executions, covered, .. } = self;
        match &self.failure {
            None => format!("   {target}: {executions} executions, {covered} edges"),
            Some(failure) => {
                format!("   {target}: FAILED after {executions} executions: {failure}")
            }
        }
    }
}

fn number_after(line: &str, label: &str) -> Option<u64> {
    let (_, rest) = line.split_once(label)?;
    let rest = rest.trim_start();
    let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
INFO: Loaded 1 modules   (157 inline 8-bit counters): 157 [0x55a237e36da8, 0x55a237e36e45),
slowest: 300 us
#2	INITED cov: 9 ft: 10 corp: 1/1b exec/s: 0 rss: 27Mb
slowest: 1700 us
#18020637	DONE   cov: 10 ft: 11 corp: 2/6b lim: 4096 exec/s: 1638239 rss: 27Mb
";

    #[test]
    fn the_numbers_of_a_run_are_found() {
        let log = format!(
            "{LOG}stat::number_of_executed_units: 18020637\nstat::peak_rss_mb:              27\n"
        );
        let expected = Run {
            target: "a".to_owned(),
            seconds: 0,
            executions: 18_020_637,
            covered: 10,
            edges: 157,
            slowest: 1700,
            peak_mib: 27,
            failure: None,
        };
        assert_eq!(Run::parse("a", &log, true), expected);
    }

    #[test]
    fn a_failure_has_its_reason_and_its_input() {
        let log = format!(
            "{LOG}==7== ERROR: libFuzzer: timeout after 6 seconds\nartifact_prefix='x/'; Test unit written to x/timeout-1\n"
        );
        let failure = Run::parse("a", &log, false).failure;
        assert_eq!(failure.as_deref(), Some("timeout after 6 seconds: timeout-1"));
        assert_eq!(Run::parse("a", "", false).failure.as_deref(), Some("ended early"));
    }
}
