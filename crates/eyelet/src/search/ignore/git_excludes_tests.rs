use std::path::{Path, PathBuf};

use crate::environment::Environment;

use super::excludes_path;

fn excludes(variables: &[(&str, &str)], files: &[(&str, &str)]) -> Option<PathBuf> {
    let environment: Environment = variables.iter().copied().collect();
    excludes_path(&environment, |path, _| {
        let file = files.iter().find(|(name, _)| Path::new(name) == path);
        file.map(|(_, content)| content.as_bytes().to_vec())
    })
}

#[test]
fn the_default_path_applies_without_a_configuration() {
    assert_eq!(excludes(&[], &[]), None);
    assert_eq!(excludes(&[("HOME", "/h")], &[]), Some("/h/.config/git/ignore".into()));
    let both = [("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")];
    assert_eq!(excludes(&both, &[]), Some("/x/git/ignore".into()));
}

#[test]
fn the_users_configuration_precedes_the_systems() {
    let home = [("HOME", "/h")];
    let own = ("/h/.gitconfig", "[core]\n\texcludesFile = ~/own\n");
    let system = ("/etc/gitconfig", "excludesfile=/system");
    assert_eq!(excludes(&home, &[system, own]), Some("/h/own".into()));
    assert_eq!(excludes(&home, &[system]), Some("/system".into()));
    let named = [("HOME", "/h"), ("GIT_CONFIG_GLOBAL", "/g")];
    let global = ("/g", "  EXCLUDESFILE = \" /quoted \"  ");
    assert_eq!(excludes(&named, &[own, global]), Some("/quoted".into()));
}
