use std::process::Command;

use super::*;

#[test]
fn restriction_is_a_number_other_than_zero() {
    assert!(is_restricted("1\n") && is_restricted("2\n"));
    assert!(!is_restricted("0\n") && !is_restricted("") && !is_restricted("x"));
}

#[test]
fn advice_has_the_two_commands_and_the_directory() {
    for program in ["/usr/bin/eyelet", "/usr/local/bin/eyelet"] {
        assert_eq!(advice(Path::new(program)).len(), 1, "{program}");
    }
    let advice = advice(Path::new("/home/me/.cargo/bin/eyelet"));
    let [copy, install] = advice.as_slice() else { panic!("{advice:?}") };
    assert!(copy.contains("`sudo install '/home/me/.cargo/bin/eyelet' /usr/local/bin/eyelet`"));
    assert!(install.contains("| sudo tee /etc/apparmor.d/eyelet`"), "{install}");
    assert!(install.contains("`sudo apparmor_parser -r /etc/apparmor.d/eyelet`"), "{install}");
}

/// The text that the first command of the advice writes.
fn printed_profile() -> String {
    let advice = advice(Path::new("/usr/bin/eyelet")).concat();
    let command = advice.split('`').nth(1).unwrap().split(" | ").next().unwrap().to_owned();
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn first_command_writes_the_profile() {
    let lines = PROFILE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    assert_eq!(printed_profile(), lines);
    assert!(lines.contains("\n  userns,\n"), "{lines}");
}

#[test]
fn apparmor_parser_accepts_the_profile() {
    if testkit::lacks("apparmor_parser") {
        return;
    }
    let version = Command::new("apparmor_parser").arg("--version").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    let number = version.lines().next().and_then(|line| line.rsplit(' ').next());
    let major = number.and_then(|number| number.split('.').next()?.parse::<u32>().ok());
    if major.is_none_or(|major| major < 4) {
        return testkit::skip(&format!("apparmor_parser does not know userns: {version}"));
    }
    for profile in [PROFILE.to_owned(), printed_profile()] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("eyelet");
        let parse = |profile: &str| {
            fs::write(&file, profile).unwrap();
            let flags = ["--skip-kernel-load", "--skip-cache"];
            Command::new("apparmor_parser").args(flags).arg(&file).output().unwrap()
        };
        let output = parse(&profile);
        assert!(output.status.success(), "{output:?}");
        assert!(!parse(&profile.replace("userns,", "users,")).status.success());
    }
}
