//! `eyelet doctor`: prints what this machine can enforce, and which gaps remain.

use std::process::ExitCode;

use eyelet_sandbox::{Machine, Supervisor, Tier};
use serde_json::json;

use crate::clients::Executable;
use crate::failure::{FAILED, Failure};
use crate::{apparmor, print};

/// Limits of both tiers on every machine.
const ALWAYS: &[&str] = &[
    "Without --strict, commands can read every file that you can read, except secrets such as ~/.ssh \
     (the list is in docs/secrets.md). \
     --root limits which files list_dir, find_files, grep_files and read can access and where commands can write, \
     but not what commands can read.",
    "--network allows only IP connections, including connections to services that listen on this machine. \
     The sandbox always blocks Unix sockets, so commands cannot use Docker, D-Bus, ssh-agent or X11.",
    "--deny hides a file from commands only if the file exists when the first command of a session runs. --deny and \
     the list of secrets hide paths, but not other hard links or other mounts of the same file.",
    "In each session, eyelet protects only the git repositories that exist when the first command starts. In a \
     repository created later, a command can write git hooks and git config. git runs their commands with your rights \
     when you use git in this repository, or in a repository that contains it as a submodule. All HTTP requests \
     without a session count as one session.",
    "If core.hooksPath, include.path or symlinks in .git/hooks place git hooks or config files inside the project, \
     commands can change these files. Commands can also change the `exec` lines that `git rebase --continue` runs.",
    "eyelet checks --memory four times a second, so a command can exceed the limit for a moment. Memory that no \
     process maps, such as the content of an unmapped memfd, does not count toward the limit.",
    "--sandbox full, the default of `eyelet call` and `eyelet bash`, runs commands without a sandbox.",
];

pub(crate) fn run(as_json: bool) -> Result<ExitCode, Failure> {
    let machine = Supervisor::this_program()
        .machine()
        .map_err(|reason| Failure::new(format!("cannot examine this machine: {reason}")))?;
    let advice = advice(&machine, &profile_advice(&machine)?);
    let report =
        if as_json { format!("{:#}", json(&machine, &advice)) } else { text(&machine, &advice) };
    print::lines(&report)?;
    Ok(if machine.tier().is_some() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// How to install the AppArmor profile, if AppArmor may be the reason for missing namespaces.
fn profile_advice(machine: &Machine) -> Result<Vec<String>, Failure> {
    if machine.namespaces_refused.is_none() || !apparmor::restricts_namespaces() {
        return Ok(Vec::new());
    }
    Ok(apparmor::advice(&Executable::this()?.path))
}

/// What to do about each finding; empty if there is nothing to do.
fn advice(machine: &Machine, profile: &[String]) -> Vec<String> {
    let mut advice = [profile, &machine.advice()].concat();
    let until_then = match machine.tier() {
        None => Some(
            "Until then, eyelet runs commands only with --sandbox full, which means without a sandbox. Use \
             --sandbox full only for commands that you trust.",
        ),
        Some(tier) => machine
            .gaps(tier)
            .iter()
            .any(|gap| gap.is_refused_by_strict)
            .then_some(
                "Until then, eyelet runs commands despite these gaps; to refuse commands instead, add --strict.",
            ),
    };
    advice.extend(until_then.map(str::to_owned));
    advice
}

fn name(tier: Tier) -> &'static str {
    match tier {
        Tier::Namespaces => "first",
        Tier::Landlock => "second",
    }
}

/// How a reply finds out what the sandbox blocked.
fn blocked_mechanism(tier: Tier) -> &'static str {
    match tier {
        Tier::Namespaces => {
            "If a command fails, the reply says what the sandbox blocked. The kernel counts refused connections; \
             eyelet guesses refused writes from the command's stderr."
        }
        Tier::Landlock => {
            "If a command fails, the reply says what the sandbox probably blocked. eyelet guesses this from the \
             command's stderr, because in the second tier the kernel counts nothing."
        }
    }
}

fn text(machine: &Machine, advice: &[String]) -> String {
    let yes_or_no = |yes: bool| if yes { "yes" } else { "no" };
    let namespaces = match &machine.namespaces_refused {
        None => "yes".to_owned(),
        Some(reason) => format!("no: {reason}"),
    };
    let landlock = match machine.landlock_abi {
        0 => "no".to_owned(),
        version => format!("version {version}"),
    };
    let mut lines = vec![
        format!("kernel         Linux {}", machine.kernel),
        format!("runs as        {}", if machine.is_root { "root" } else { "an ordinary user" }),
        format!("namespaces     {namespaces}"),
        format!("Landlock       {landlock}"),
        format!("seccomp        {}", yes_or_no(machine.has_seccomp)),
        format!("process limit  {}", yes_or_no(machine.limits_processes())),
        String::new(),
    ];
    match machine.tier() {
        None => lines.push(
            "--sandbox read-only and workspace-write refuse commands: this machine cannot enforce them."
                .to_owned(),
        ),
        Some(tier) => {
            let means = match tier {
                Tier::Namespaces => "namespaces, Landlock, seccomp, all capabilities dropped",
                Tier::Landlock => "Landlock, seccomp, all capabilities dropped",
            };
            lines.push(format!(
                "--sandbox read-only and workspace-write run commands in the {} tier of the sandbox: {means}.",
                name(tier)
            ));
            lines.push(blocked_mechanism(tier).to_owned());
            let gaps = machine.gaps(tier).into_iter().map(|gap| {
                let strict = if gap.is_refused_by_strict { " (refused by --strict)" } else { "" };
                format!("{}{strict}", gap.what)
            });
            lines.extend(section("Not protected on this machine:", gaps));
        }
    }
    lines.extend(section("Limits on every machine:", ALWAYS.iter().map(ToString::to_string)));
    match advice.is_empty() {
        true => lines.extend([String::new(), "Nothing to do.".to_owned()]),
        false => lines.extend(section("What to do:", advice.iter().cloned())),
    }
    lines.join("\n")
}

/// A blank line, the title and the items; nothing if there are no items.
fn section(title: &str, items: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<_> = items.into_iter().map(|item| format!("- {item}")).collect();
    if !lines.is_empty() {
        lines.splice(0..0, [String::new(), title.to_owned()]);
    }
    lines
}

fn json(machine: &Machine, advice: &[String]) -> serde_json::Value {
    let tier = machine.tier();
    json!({
        "machine": machine,
        "tier": tier,
        "blocked_by": tier.map(blocked_mechanism),
        "gaps": tier.map(|tier| machine.gaps(tier)).unwrap_or_default(),
        "always": ALWAYS,
        "advice": advice,
    })
}

#[cfg(test)]
#[path = "doctor_tests.rs"]
mod tests;
