//! `cargo xtask dist`: builds everything that a release consists of, and checks each part with its own tool.

mod archive;
mod bundle;
mod deb;
mod documents;
mod files;
mod program;
mod release;
mod sbom;
mod server_json;
mod third_party;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::packages;
use crate::test::needs::{DPKG, NPM, Need, PYTHON};
use crate::workspace::Workspace;
use files::{at, copy, fresh, output, write};
use program::Program;

pub(crate) use program::check;

const APPARMOR: &str = "crates/eyelet-cli/apparmor/eyelet";

/// Whether the parts are for others, or only show that they can be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Release,
    /// With the program of the tests: no release build, and no libraries linked statically.
    Rehearsal,
}

/// What is being built.
struct Dist<'w> {
    workspace: &'w Workspace,
    kind: Kind,
    program: Program,
    /// The time of the release, in seconds since 1970.
    epoch: String,
    /// The directory of the release.
    out: PathBuf,
    /// Trees that are packed, and packages that are unpacked again.
    scratch: PathBuf,
    /// What was not built or not checked.
    skipped: Vec<String>,
}

/// One part of a release.
struct Part {
    name: &'static str,
    needs: &'static [&'static Need],
    build: fn(&mut Dist<'_>) -> Result<(), String>,
}

/// In the order of building: later parts use files of earlier ones.
const PARTS: &[Part] = &[
    Part { name: "man page and completions", needs: &[], build: documents::build },
    Part { name: "archive", needs: &[], build: archive::build },
    Part { name: "Debian package", needs: &[&DPKG], build: deb::build },
    Part { name: "SBOM", needs: &[&PYTHON], build: sbom::build },
    Part { name: "MCP bundle", needs: &[&NPM], build: bundle::build },
    Part { name: "registry entry", needs: &[&NPM, &PYTHON], build: server_json::build },
];

/// Builds the release into `target/dist`.
pub(crate) fn build(workspace: &Workspace, words: &[&str]) -> Result<(), String> {
    if !words.is_empty() {
        return Err("usage: cargo xtask dist".to_owned());
    }
    let program = program::build(workspace)?;
    let mut dist = Dist::new(workspace, Kind::Release, program, "dist")?;
    // `deploy/Containerfile` copies it.
    copy(&dist.program.path, &dist.out.join("eyelet"), 0o755)?;
    let is_complete = dist.build_parts()?;
    dist.write_checksums()?;
    dist.print_summary()?;
    match is_complete {
        true => Ok(()),
        false => Err("the release is not complete; install the missing programs".to_owned()),
    }
}

/// Builds and checks the parts with the program of the tests. Returns what was skipped.
pub(crate) fn rehearse(workspace: &Workspace, eyelet: &Path) -> Result<Vec<String>, String> {
    let stripped = workspace.root.join("target/dist-rehearsal-program");
    output(Command::new("strip").arg("-o").arg(&stripped).arg(eyelet))?;
    let program = program::of_tests(stripped);
    let mut dist = Dist::new(workspace, Kind::Rehearsal, program, "dist-rehearsal")?;
    dist.build_parts()?;
    dist.write_checksums()?;
    Ok(dist.skipped.iter().map(|reason| format!("dist: {reason}")).collect())
}

impl<'w> Dist<'w> {
    fn new(
        workspace: &'w Workspace,
        kind: Kind,
        program: Program,
        name: &str,
    ) -> Result<Self, String> {
        let target = workspace.root.join("target");
        let (out, scratch) = (target.join(name), target.join(format!("{name}-scratch")));
        fresh(&out)?;
        fresh(&scratch)?;
        let epoch = release::epoch(workspace)?;
        Ok(Dist { workspace, kind, program, epoch, out, scratch, skipped: Vec::new() })
    }

    /// Returns whether all parts were built. A part that can be built but is wrong ends the task.
    fn build_parts(&mut self) -> Result<bool, String> {
        let mut is_complete = true;
        for part in PARTS {
            println!("== {}", part.name);
            if let Some(reason) = part.needs.iter().find_map(|need| need.missing()) {
                self.skipped.push(format!("{}: {reason}", part.name));
                is_complete = false;
                continue;
            }
            (part.build)(self).map_err(|error| format!("{}: {error}", part.name))?;
        }
        Ok(is_complete)
    }

    /// Whether a check can be run. A missing program is noted.
    fn has(&mut self, need: Option<&Need>) -> bool {
        let Some(reason) = need.and_then(Need::missing) else { return true };
        self.skipped.push(format!("one of the checks: {reason}"));
        false
    }

    /// The Python with the packages that check the JSON files.
    fn python(&self) -> Result<PathBuf, String> {
        let directory = self.workspace.tools().join("packaging-python");
        packages::install_python(self.workspace, "packaging/requirements.txt", &directory)
    }

    /// The files of the release, in order.
    fn files(&self) -> Result<Vec<PathBuf>, String> {
        let mut files = Vec::new();
        for directory in ["", "completions"] {
            let path = self.out.join(directory);
            let entries = fs::read_dir(&path).map_err(at(&path))?.filter_map(Result::ok);
            let entries = entries.filter(|entry| entry.path().is_file());
            files.extend(entries.map(|entry| Path::new(directory).join(entry.file_name())));
        }
        files.sort();
        Ok(files)
    }

    /// Writes `SHA256SUMS` and reads it again.
    fn write_checksums(&self) -> Result<(), String> {
        let sha256sum = || {
            let mut command = Command::new("sha256sum");
            command.current_dir(&self.out);
            command
        };
        let sums = output(sha256sum().args(self.files()?))?;
        write(&self.out.join("SHA256SUMS"), sums)?;
        output(sha256sum().args(["--check", "--strict", "SHA256SUMS"])).map(|_| ())
    }

    fn print_summary(&self) -> Result<(), String> {
        println!("\n== {}", self.out.display());
        for file in self.files()? {
            let path = self.out.join(&file);
            let bytes = fs::metadata(&path).map_err(at(&path))?.len();
            println!("{bytes:10}  {}", file.display());
        }
        let note = self.program.note.iter().map(|note| format!("note: {note}"));
        let skipped = self.skipped.iter().map(|reason| format!("skipped: {reason}"));
        note.chain(skipped).for_each(|line| println!("{line}"));
        Ok(())
    }
}
