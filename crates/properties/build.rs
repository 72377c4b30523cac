//! Lists the files in `fuzz/seeds` and `fuzz/replay`, so that the tests contain them.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").canonicalize()?;
    let mut list = String::new();
    for kind in ["seeds", "replay"] {
        let directory = fuzz.join(kind);
        println!("cargo::rerun-if-changed={}", directory.display());
        for target in sorted(&directory)?.iter().filter(|path| path.is_dir()) {
            for file in sorted(target)? {
                let target = target.file_name().unwrap_or_default();
                list += &format!("({target:?}, {file:?}, include_bytes!({file:?})),\n");
            }
        }
    }
    let output = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(output.join("inputs.rs"), format!("&[\n{list}]\n"))
}

fn sorted(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
