use std::path::Path;

use eyelet::PROTECTED_PATHS;

use super::*;

#[test]
fn project_files_of_clients_are_protected() {
    for file in CLIENTS.iter().flat_map(|client| client.project) {
        let is_protected = PROTECTED_PATHS.iter().any(|path| Path::new(file).starts_with(path));
        assert!(is_protected, "{file}");
    }
}
