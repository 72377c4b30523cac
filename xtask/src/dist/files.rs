//! Files, directories and the output of programs, with errors that name them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Creates an empty directory, in place of whatever is there.
pub(super) fn fresh(directory: &Path) -> Result<(), String> {
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(at(directory))?;
    }
    fs::create_dir_all(directory).map_err(at(directory))
}

/// Writes a file and the directories above it.
pub(super) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    above(path)?;
    fs::write(path, content).map_err(at(path))?;
    set_mode(path, 0o644)
}

/// Copies a file, which gets this mode: that of a clone depends on the umask.
pub(super) fn copy(from: &Path, to: &Path, mode: u32) -> Result<(), String> {
    above(to)?;
    fs::copy(from, to).map_err(at(from))?;
    set_mode(to, mode)
}

fn above(path: &Path) -> Result<(), String> {
    path.parent().map_or(Ok(()), |parent| fs::create_dir_all(parent).map_err(at(parent)))
}

fn set_mode(path: &Path, mode: u32) -> Result<(), String> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(at(path))
}

pub(super) fn at(path: &Path) -> impl Fn(std::io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

/// The stdout of a program that has to exit 0.
pub(super) fn output(command: &mut Command) -> Result<String, String> {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let words = words.join(" ");
    let output = command.output().map_err(|error| format!("cannot start `{words}`: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let said = text(&[output.stdout, output.stderr].concat());
    Err(format!("`{words}`: {}\n{said}", output.status))
}

/// Replaces each `@NAME@` of a template. Every name has to be in the template, and none may remain.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> Result<String, String> {
    let mut text = template.to_owned();
    for (name, value) in values {
        let mark = format!("@{name}@");
        if !text.contains(&mark) {
            return Err(format!("the template has no {mark}"));
        }
        text = text.replace(&mark, value);
    }
    let is_name = |word: &&str| {
        word.len() > 1 && word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
    };
    match template.split('@').find(|word| is_name(word) && text.contains(&format!("@{word}@"))) {
        Some(name) => Err(format!("the template has @{name}@, which has no value")),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_and_its_values_have_the_same_names() {
        let template = "a @ONE@ b@c.example @TWO@ @ONE@";
        let filled = fill(template, &[("ONE", "1"), ("TWO", "2")]);
        assert_eq!(filled.unwrap(), "a 1 b@c.example 2 1");
        assert!(fill(template, &[("ONE", "1")]).unwrap_err().contains("@TWO@"));
        assert!(fill(template, &[("THREE", "3")]).unwrap_err().contains("@THREE@"));
    }
}
