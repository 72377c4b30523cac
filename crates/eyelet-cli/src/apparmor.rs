//! eyelet's AppArmor profile, and how to install it.

use std::fs;
use std::path::Path;

/// The profile.
const PROFILE: &str = include_str!("../apparmor/eyelet");

/// Says whether AppArmor restricts user namespaces; missing on kernels that cannot.
const RESTRICTION: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";

/// The directories of the program for which the profile allows namespaces.
const DIRECTORIES: [&str; 2] = ["/usr/bin", "/usr/local/bin"];

/// Whether AppArmor restricts user namespaces on this machine.
pub(crate) fn restricts_namespaces() -> bool {
    fs::read_to_string(RESTRICTION).is_ok_and(|value| is_restricted(&value))
}

fn is_restricted(value: &str) -> bool {
    value.trim().parse::<u32>().is_ok_and(|value| value != 0)
}

/// How to install the profile for the program at this path.
pub(crate) fn advice(program: &Path) -> Vec<String> {
    let is_covered =
        DIRECTORIES.iter().any(|directory| program.parent() == Some(Path::new(directory)));
    let program = program.display();
    let copy = format!(
        "AppArmor restricts user namespaces. The AppArmor profile for eyelet applies only to a program in /usr/bin \
         or /usr/local/bin, so install eyelet there: `sudo install '{program}' /usr/local/bin/eyelet`. Then run \
         `eyelet setup CLIENT --write` again for each of your clients."
    );
    let lines = PROFILE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines: Vec<_> = lines.map(|line| format!("'{line}'")).collect();
    let install = format!(
        "To install the AppArmor profile that allows user namespaces for eyelet, run `printf '%s\\n' {} | sudo \
         tee /etc/apparmor.d/eyelet` and `sudo apparmor_parser -r /etc/apparmor.d/eyelet`.",
        lines.join(" ")
    );
    let copy = (!is_covered).then_some(copy);
    copy.into_iter().chain([install]).collect()
}

#[cfg(test)]
#[path = "apparmor_tests.rs"]
mod tests;
