//! The package for Debian and Ubuntu, built and checked with their own tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::documents::{SHELLS, man_page};
use super::files::{at, copy, fill, fresh, output, write};
use super::release::{AUTHORS, DEB_ARCHITECTURE, REPOSITORY, VERSION, deb_version};
use super::{APPARMOR, Dist, Kind, third_party};
use crate::test::needs::LINTIAN;

const PROGRAM: &str = "usr/bin/eyelet";
const DOCUMENTS: &str = "usr/share/doc/eyelet";

/// Where Debian's shells look for completions, in the order of `SHELLS`.
const COMPLETIONS: [&str; 3] = [
    "usr/share/bash-completion/completions/eyelet",
    "usr/share/zsh/vendor-completions/_eyelet",
    "usr/share/fish/vendor_completions.d/eyelet.fish",
];

/// Complaints about the program of a rehearsal: it is not static, and so has dependencies that the package does not declare.
const OF_REHEARSALS: &str = "undeclared-elf-prerequisites,mismatched-override";

pub(super) fn build(dist: &mut Dist<'_>) -> Result<(), String> {
    let tree = dist.scratch.join("deb");
    fresh(&tree)?;
    add_files(dist, &tree)?;
    add_control(dist, &tree)?;
    output(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&tree))?;
    let version = deb_version(dist.program.target);
    let name = format!("eyelet_{version}_{DEB_ARCHITECTURE}.deb");
    let package = dist.out.join(name);
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "--build"]).arg(&tree).arg(&package);
    output(build.env("SOURCE_DATE_EPOCH", &dist.epoch))?;
    check_content(&package, &version)?;
    check_installation(dist, &package)?;
    if dist.has(Some(&LINTIAN)) {
        let mut lintian = Command::new("lintian");
        lintian.args(["--fail-on=error,warning", "--allow-root", "--tag-display-limit=0"]);
        if dist.kind == Kind::Rehearsal {
            lintian.arg("--suppress-tags").arg(OF_REHEARSALS);
        }
        output(lintian.arg(&package))?;
    }
    Ok(())
}

fn add_files(dist: &Dist<'_>, tree: &Path) -> Result<(), String> {
    let root = &dist.workspace.root;
    copy(&dist.program.path, &tree.join(PROGRAM), 0o755)?;
    copy(&root.join(APPARMOR), &tree.join("usr/share/eyelet/apparmor/eyelet"), 0o644)?;
    for (shell, file) in SHELLS.iter().zip(COMPLETIONS) {
        copy(&dist.out.join(shell.file), &tree.join(file), 0o644)?;
    }
    let documents = tree.join(DOCUMENTS);
    let page = tree.join("usr/share/man/man1/eyelet.1");
    let changelog = documents.join("changelog");
    let debian_changelog = documents.join("changelog.Debian");
    let licences = documents.join("THIRD-PARTY-LICENSES.txt");
    copy(&man_page(dist), &page, 0o644)?;
    copy(&root.join("CHANGELOG.md"), &changelog, 0o644)?;
    copy(&third_party::file(dist), &licences, 0o644)?;
    let written = date(dist, "--rfc-email")?;
    let values = [
        ("VERSION", VERSION),
        ("DEB_VERSION", &deb_version(dist.program.target)),
        ("AUTHORS", AUTHORS),
        ("DATE", &written),
    ];
    write(&debian_changelog, fill(&template(dist, "changelog")?, &values)?)?;
    output(Command::new("gzip").arg("-9n").args([page, changelog, debian_changelog, licences]))?;
    let licence = dist.workspace.read("LICENSE-MIT")?;
    let licence: Vec<_> = licence.trim().lines().map(in_field).collect();
    let values = [
        ("REPOSITORY", REPOSITORY),
        ("YEAR", &date(dist, "+%Y")?),
        ("LICENSE_MIT", &licence.join("\n")),
    ];
    write(&documents.join("copyright"), fill(&template(dist, "copyright")?, &values)?)?;
    let overrides = template(dist, "lintian-overrides")?;
    write(&tree.join("usr/share/lintian/overrides/eyelet"), overrides)
}

/// The time of the release, in a format of the program `date`.
fn date(dist: &Dist<'_>, format: &str) -> Result<String, String> {
    let time = format!("--date=@{}", dist.epoch);
    let date = output(Command::new("date").env("LC_ALL", "C").args(["--utc", &time, format]))?;
    Ok(date.trim().to_owned())
}

/// A line of text in a field of a control file.
fn in_field(line: &str) -> String {
    if line.is_empty() { " .".to_owned() } else { format!(" {line}") }
}

fn template(dist: &Dist<'_>, name: &str) -> Result<String, String> {
    dist.workspace.read(Path::new("packaging/debian").join(name))
}

fn add_control(dist: &Dist<'_>, tree: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    let bytes = list(tree, Path::new(""), &mut files)?;
    let sums = output(Command::new("md5sum").args(&files).current_dir(tree))?;
    let values = [
        ("DEB_VERSION", deb_version(dist.program.target)),
        ("DEB_ARCHITECTURE", DEB_ARCHITECTURE.to_owned()),
        ("AUTHORS", AUTHORS.to_owned()),
        ("REPOSITORY", REPOSITORY.to_owned()),
        ("INSTALLED_KIB", bytes.div_ceil(1024).to_string()),
    ];
    let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
    let control = tree.join("DEBIAN");
    write(&control.join("control"), fill(&template(dist, "control")?, &values)?)?;
    write(&control.join("md5sums"), sums)?;
    for script in ["postinst", "prerm"] {
        let source = dist.workspace.root.join("packaging/debian").join(script);
        copy(&source, &control.join(script), 0o755)?;
    }
    Ok(())
}

/// Adds the files below a directory in order, and returns their size.
fn list(tree: &Path, directory: &Path, files: &mut Vec<PathBuf>) -> Result<u64, String> {
    let path = tree.join(directory);
    let entries = fs::read_dir(&path).map_err(at(&path))?;
    let mut names: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.file_name()).collect();
    names.sort();
    let mut bytes = 0;
    for name in names {
        let below = directory.join(name);
        let path = tree.join(&below);
        let metadata = fs::symlink_metadata(&path).map_err(at(&path))?;
        if metadata.is_dir() {
            bytes += list(tree, &below, files)?;
        } else {
            bytes += metadata.len();
            files.push(below);
        }
    }
    Ok(bytes)
}

fn check_content(package: &Path, version: &str) -> Result<(), String> {
    let info = output(Command::new("dpkg-deb").arg("--info").arg(package))?;
    let contents = output(Command::new("dpkg-deb").arg("--contents").arg(package))?;
    let version = format!(" Version: {version}\n");
    for (text, part) in [(&info, version.as_str()), (&info, "postinst"), (&contents, PROGRAM)] {
        if !text.contains(part) {
            return Err(format!("{}: no `{}` in:\n{text}", package.display(), part.trim()));
        }
    }
    match contents.lines().find(|line| !line.contains(" root/root ")) {
        Some(line) => {
            Err(format!("{}: an entry does not belong to root: {line}", package.display()))
        }
        None => Ok(()),
    }
}

/// Installs the package below a scratch directory, runs the program there, and removes the package again.
fn check_installation(dist: &Dist<'_>, package: &Path) -> Result<(), String> {
    let root = dist.scratch.join("installed");
    fresh(&root)?;
    for file in ["status", "available"] {
        write(&root.join("var/lib/dpkg").join(file), "")?;
    }
    for directory in ["info", "updates", "triggers"] {
        let path = root.join("var/lib/dpkg").join(directory);
        fs::create_dir_all(&path).map_err(at(&path))?;
    }
    let dpkg = || {
        let mut dpkg = Command::new("dpkg");
        // The scripts of the package run outside the directory, and find it in DPKG_ROOT.
        dpkg.args(["--force-script-chrootless", "--force-not-root", "--force-bad-path"])
            .args(["--log=/dev/null", "--root"])
            .arg(&root);
        dpkg
    };
    output(dpkg().arg("--install").arg(package))?;
    let version = output(Command::new(root.join(PROGRAM)).arg("--version"))?;
    if version.trim() != format!("eyelet {VERSION}") {
        let version = version.trim();
        return Err(format!(
            "the program in the package prints `{version}`; expected `eyelet {VERSION}`"
        ));
    }
    output(dpkg().args(["--purge", "eyelet"]))?;
    let mut left = Vec::new();
    list(&root, Path::new(""), &mut left)?;
    left.retain(|file| !file.starts_with("var/lib/dpkg"));
    if left.is_empty() {
        Ok(())
    } else {
        Err(format!("after removing the package, {left:?} remain"))
    }
}
