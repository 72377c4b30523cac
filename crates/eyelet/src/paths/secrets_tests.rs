use super::*;

fn found(home: &str, variables: &[(&str, &str)]) -> BTreeSet<PathBuf> {
    paths(&[home.into()], &variables.iter().copied().collect())
}

fn has(found: &BTreeSet<PathBuf>, path: &str) -> bool {
    found.contains(Path::new(path))
}

#[test]
fn variables_move_secrets_and_the_defaults_stay_denied() {
    for (variable, value, moved, default) in [
        ("XDG_CONFIG_HOME", "/x", "/x/gh", "/h/.config/gh"),
        ("XDG_CONFIG_HOME", "/x", "/x/git/credentials", "/h/.config/git/credentials"),
        ("XDG_DATA_HOME", "/x", "/x/keyrings", "/h/.local/share/keyrings"),
        ("GNUPGHOME", "/x", "/x", "/h/.gnupg"),
        ("CARGO_HOME", "/x", "/x/credentials.toml", "/h/.cargo/credentials.toml"),
        ("CLAUDE_CONFIG_DIR", "/x", "/x", "/h/.claude"),
        ("CODEX_HOME", "/x", "/x", "/h/.codex"),
        ("GH_CONFIG_DIR", "/x", "/x", "/h/.config/gh"),
        ("HF_HOME", "/x", "/x/token", "/h/.cache/huggingface/token"),
        ("XDG_CACHE_HOME", "/x", "/x/huggingface/token", "/h/.cache/huggingface/token"),
        ("DOCKER_CONFIG", "/x", "/x/config.json", "/h/.docker/config.json"),
        ("KUBECONFIG", "/x/a:/x/b", "/x/b", "/h/.kube"),
        ("KUBECONFIG", "/x/a:b", "/x/a:b", "/h/.kube"),
        ("PGPASSFILE", "/x", "/x", "/h/.pgpass"),
    ] {
        let found = found("/h", &[(variable, value)]);
        assert!(has(&found, moved), "{variable}={value}: {moved}");
        assert!(has(&found, default), "{variable}={value}: {default}");
    }
}

#[test]
fn variables_do_not_hide_the_home_or_shared_directories() {
    for value in ["/", "/h", "/h/user", "/tmp", "/etc", "/dev/null", "", "relative", "~"] {
        let found = found("/h/user", &[("CODEX_HOME", value), ("HISTFILE", value)]);
        assert!(!has(&found, value), "{value}");
    }
}

#[test]
fn every_path_of_the_table_is_well_formed_and_unique() {
    let all: Vec<_> = SECRETS.iter().flat_map(|secret| secret.paths()).collect();
    for path in &all {
        assert!(path.starts_with(['~', '$', '/']) && path.trim() == *path, "`{path}`");
        assert!(!path.ends_with('/') && *path != "~" && !path.contains(','), "`{path}`");
    }
    let unique: BTreeSet<_> = all.iter().collect();
    assert_eq!(unique.len(), all.len());
    // A path in a denied directory would say nothing new.
    let found = found("/h", &[]);
    for path in &found {
        let outer = path.ancestors().skip(1).find(|outer| found.contains(*outer));
        assert_eq!(outer, None, "{path:?}");
    }
}
