//! The archive for all distributions, in the layout that `crates/eyelet-cli/Cargo.toml` describes to `cargo binstall`.

use std::path::PathBuf;
use std::process::Command;

use super::documents::{MAN_PAGE, SHELLS, man_page};
use super::files::{copy, fresh, output};
use super::release::{VERSION, stem};
use super::{APPARMOR, Dist, third_party};

pub(super) fn build(dist: &mut Dist<'_>) -> Result<(), String> {
    third_party::build(dist)?;
    let stem = stem(dist.program.target);
    let tree = dist.scratch.join("archive");
    let top = tree.join(&stem);
    fresh(&tree)?;
    copy(&dist.program.path, &top.join("eyelet"), 0o755)?;
    for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&dist.workspace.root.join(name), &top.join(name), 0o644)?;
    }
    copy(&third_party::file(dist), &top.join("THIRD-PARTY-LICENSES.txt"), 0o644)?;
    copy(&dist.workspace.root.join(APPARMOR), &top.join("apparmor/eyelet"), 0o644)?;
    copy(&man_page(dist), &top.join(MAN_PAGE), 0o644)?;
    for shell in SHELLS {
        copy(&dist.out.join(shell.file), &top.join(shell.file), 0o644)?;
    }
    let archive = dist.out.join(format!("{stem}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--format=gnu", "--mode=u=rwX,go=rX"])
        .args(["--owner=0", "--group=0", "--numeric-owner", "--use-compress-program=gzip -9n"])
        .arg(format!("--mtime=@{}", dist.epoch))
        .arg("--file")
        .arg(&archive)
        .arg("--directory")
        .arg(&tree)
        .arg(&stem);
    output(&mut tar)?;
    check(dist, archive, &stem)
}

/// Unpacks the archive and starts the program where `cargo binstall` looks for it.
fn check(dist: &Dist<'_>, archive: PathBuf, stem: &str) -> Result<(), String> {
    let listing = output(Command::new("tar").args(["--numeric-owner", "-tvf"]).arg(&archive))?;
    if let Some(line) = listing.lines().find(|line| !line.contains(" 0/0 ")) {
        return Err(format!("{}: an entry does not belong to root: {line}", archive.display()));
    }
    let unpacked = dist.scratch.join("unpacked");
    fresh(&unpacked)?;
    output(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&unpacked))?;
    let version = output(Command::new(unpacked.join(stem).join("eyelet")).arg("--version"))?;
    if version.trim() != format!("eyelet {VERSION}") {
        let version = version.trim();
        return Err(format!(
            "the program in the archive prints `{version}`; expected `eyelet {VERSION}`"
        ));
    }
    Ok(())
}
