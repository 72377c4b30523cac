//! SPEC.md keeps its word: every rule names a test, and every test it names is there.

const SPEC: &str = include_str!("../../../../SPEC.md");

/// The sources that hold the tests, by the name that SPEC.md calls them.
const SOURCES: &[(&str, &str)] = &[
    ("arguments", include_str!("arguments.rs")),
    ("bash", include_str!("bash.rs")),
    ("bash_arguments", include_str!("bash_arguments.rs")),
    ("bash_processes", include_str!("bash_processes.rs")),
    ("budget", include_str!("budget.rs")),
    ("bash_spill", include_str!("bash_spill.rs")),
    ("cli::bash", include_str!("../../../eyelet-cli/tests/it/bash.rs")),
    ("cli::call", include_str!("../../../eyelet-cli/tests/it/call.rs")),
    ("cli::doctor", include_str!("../../../eyelet-cli/tests/it/doctor.rs")),
    ("cli::config", include_str!("../../../eyelet-cli/tests/it/config.rs")),
    ("cli::flags", include_str!("../../../eyelet-cli/tests/it/flags.rs")),
    ("cli::grep_files", include_str!("../../../eyelet-cli/tests/it/grep_files.rs")),
    ("cli::list_dir", include_str!("../../../eyelet-cli/tests/it/list_dir.rs")),
    ("cli::pages", include_str!("../../../eyelet-cli/tests/it/pages.rs")),
    ("cli::read", include_str!("../../../eyelet-cli/tests/it/read.rs")),
    ("cli::setup", include_str!("../../../eyelet-cli/tests/it/setup.rs")),
    ("cli::setup_check", include_str!("../../../eyelet-cli/tests/it/setup_check.rs")),
    ("cli::setup_styles", include_str!("../../../eyelet-cli/tests/it/setup_styles.rs")),
    ("cli::setup_write", include_str!("../../../eyelet-cli/tests/it/setup_write.rs")),
    ("cli::terminal", include_str!("../../../eyelet-cli/tests/it/terminal.rs")),
    ("cli::usage", include_str!("../../../eyelet-cli/tests/it/usage.rs")),
    ("cli::writing", include_str!("../../../eyelet-cli/tests/it/writing.rs")),
    ("grep_differential", include_str!("grep_differential.rs")),
    ("grep_files", include_str!("grep_files.rs")),
    ("grep_hostile", include_str!("grep_hostile.rs")),
    ("grep_rules", include_str!("grep_rules.rs")),
    ("hidden", include_str!("hidden.rs")),
    ("hostile_files", include_str!("hostile_files.rs")),
    ("hostile_paths", include_str!("hostile_paths.rs")),
    ("list_dir", include_str!("list_dir.rs")),
    ("mcp::http", include_str!("../../../eyelet-mcp/tests/it/http.rs")),
    ("mcp::progress", include_str!("../../../eyelet-mcp/tests/it/progress.rs")),
    ("mcp::session", include_str!("../../../eyelet-mcp/tests/it/session.rs")),
    ("mcp::stdio", include_str!("../../../eyelet-mcp/tests/it/stdio.rs")),
    (
        "sandbox::developer_tools",
        include_str!("../../../eyelet-sandbox/tests/it/developer_tools.rs"),
    ),
    ("sandbox::environment", include_str!("../../../eyelet-sandbox/tests/it/environment.rs")),
    ("sandbox::files", include_str!("../../../eyelet-sandbox/tests/it/files.rs")),
    ("sandbox::git", include_str!("../../../eyelet-sandbox/tests/it/git.rs")),
    ("sandbox::load", include_str!("../../../eyelet-sandbox/tests/it/load.rs")),
    ("sandbox::network", include_str!("../../../eyelet-sandbox/tests/it/network.rs")),
    ("sandbox::processes", include_str!("../../../eyelet-sandbox/tests/it/processes.rs")),
    ("sandbox::restore", include_str!("../../../eyelet-sandbox/tests/it/restore.rs")),
    ("sandbox::supervision", include_str!("../../../eyelet-sandbox/tests/it/supervision.rs")),
    ("models", include_str!("models.rs")),
    ("paths", include_str!("paths.rs")),
    ("properties", include_str!("properties.rs")),
    ("races", include_str!("races.rs")),
    ("read", include_str!("read.rs")),
    ("router", include_str!("router.rs")),
    ("schemas", include_str!("schemas.rs")),
    ("unit", include_str!("../../../eyelet-mcp/src/message_tests.rs")),
    ("unit", include_str!("../../../eyelet-mcp/src/thread_pool_tests.rs")),
    ("unit", include_str!("../../../eyelet-mcp/src/roots_tests.rs")),
    ("unit", include_str!("../../../eyelet-mcp/src/line_codec_tests.rs")),
    ("unit", include_str!("../../../eyelet-sandbox/src/linux/resolve_tests.rs")),
    ("unit", include_str!("../../src/bound/budget_tests.rs")),
    ("unit", include_str!("../../src/bound/lines_tests.rs")),
    ("unit", include_str!("../../src/bound/capture_tests.rs")),
    ("unit", include_str!("../../src/bound/stream_text_tests.rs")),
    ("unit", include_str!("../../src/world/git_config_tests.rs")),
    ("unit", include_str!("../../src/world/scan_tests.rs")),
];

/// The rules: a number, and the text up to the next one.
fn rules() -> Vec<(&'static str, &'static str)> {
    let rules: Vec<_> = SPEC
        .split("\n- **")
        .skip(1)
        .map(|rule| rule.split_once("** ").expect("a number, then the text"))
        .map(|(number, text)| (number, text.split("\n\n").next().unwrap_or(text)))
        .collect();
    assert!(rules.len() > 80, "only {} rules were found", rules.len());
    rules
}

#[test]
fn every_rule_names_a_test_and_every_named_test_is_there() {
    for (number, text) in rules() {
        let tests: Vec<_> =
            text.split('`').filter(|name| name.contains("::") && !name.contains(' ')).collect();
        assert!(!tests.is_empty(), "{number} names no test");
        for test in tests {
            let (module, name) = test.rsplit_once("::").expect("it has one");
            let function = format!("\nfn {name}(");
            let found =
                SOURCES.iter().any(|(source, text)| *source == module && text.contains(&function));
            assert!(found, "{number} names {test}, which is not there");
        }
    }
}

#[test]
fn no_number_stands_twice() {
    let mut numbers: Vec<_> = rules().iter().map(|(number, _)| *number).collect();
    let all = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), all);
}
