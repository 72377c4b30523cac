//! Whether two file names are similar, so that one may be a misspelling of the other.

use std::path::Path;

/// Of longer names, only the case and the extension may differ: comparing them is slow.
const MAX_COMPARED_CHARS: usize = 64;

/// How different `name` is from the name that was `wanted`: a small number, or none if they are not similar.
/// Case does not matter.
pub(crate) fn difference(wanted: &str, name: &str) -> Option<usize> {
    let (wanted, name) = (wanted.to_lowercase(), name.to_lowercase());
    if wanted == name {
        return Some(0);
    }
    // `README` for `README.md`, `a.yml` for `a.yaml`.
    let is_other_extension = Path::new(&wanted).file_stem() == Path::new(&name).file_stem();
    let edits = edits(&wanted, &name);
    if is_other_extension { Some(edits.unwrap_or(usize::MAX)) } else { edits }
}

/// How many characters have to be inserted, removed, replaced or swapped, if they are few.
fn edits(wanted: &str, name: &str) -> Option<usize> {
    let (length, other) = (wanted.chars().count(), name.chars().count());
    let most = (length / 3).min(4);
    if length > MAX_COMPARED_CHARS || length.abs_diff(other) > most {
        return None;
    }
    Some(strsim::osa_distance(wanted, name)).filter(|edits| *edits <= most)
}

#[cfg(test)]
#[path = "similar_name_tests.rs"]
mod tests;
