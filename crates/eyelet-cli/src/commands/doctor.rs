//! `eyelet doctor`: prints what this machine can enforce, and which gaps remain.

use std::process::ExitCode;

use eyelet_sandbox::{MAX_LOOKED_AT, MAX_REPOSITORIES, Machine, Supervisor, Tier};
use serde_json::json;

use crate::failure::{FAILED, Failure};
use crate::print;

/// Limits of both tiers on every machine.
const ALWAYS: &[&str] = &[
    "Without --strict, commands can read every file that you can read, except secrets such as ~/.ssh. \
     --root limits which files list_dir, grep_files and read can access and where commands can write, \
     but not what commands can read.",
    "--deny hides a file from commands only if the file exists when the first command runs. It does not \
     hide other hard links to the same file.",
    "Repositories created by a command are not protected: running git in them, or in a repository that \
     has them as submodules, can execute their hooks and config.",
    "Commands can change git hooks and config files that core.hooksPath or include.path place inside the \
     project, and the `exec` lines that `git rebase --continue` runs.",
    "--sandbox full, the default of `eyelet call` and `eyelet bash`, runs commands without a sandbox.",
];

pub(crate) fn run(as_json: bool) -> Result<ExitCode, Failure> {
    let machine = Supervisor::this_program()
        .machine()
        .map_err(|reason| Failure::new(format!("cannot examine this machine: {reason}")))?;
    print::lines(&if as_json { format!("{:#}", json(&machine)) } else { text(&machine) })?;
    Ok(if machine.tier().is_some() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

fn always() -> Vec<String> {
    let repositories = format!(
        "Before the first command, eyelet searches the roots for git repositories and protects their config \
         and hooks. The search stops after {MAX_LOOKED_AT} directory entries or {MAX_REPOSITORIES} \
         repositories; repositories beyond that are not protected."
    );
    ALWAYS.iter().map(|text| (*text).to_owned()).chain([repositories]).collect()
}

/// What to do about each finding; empty if there is nothing to do.
fn advice(machine: &Machine) -> Vec<String> {
    let mut advice = machine.advice();
    let until_then = match machine.tier() {
        None => Some(
            "Until then, only --sandbox full runs commands, without a sandbox. Use it only for commands \
             that you trust.",
        ),
        Some(tier) => machine
            .gaps(tier)
            .iter()
            .any(|gap| gap.is_refused_by_strict)
            .then_some("Until then, use --strict to refuse commands on this machine."),
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

fn text(machine: &Machine) -> String {
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
                Tier::Namespaces => "namespaces, Landlock, seccomp, no capabilities",
                Tier::Landlock => "Landlock, seccomp, no capabilities",
            };
            lines.push(format!(
                "--sandbox read-only and workspace-write run commands in the {} tier: {means}.",
                name(tier)
            ));
            let gaps = machine.gaps(tier).into_iter().map(|gap| {
                let strict = if gap.is_refused_by_strict { " (refused by --strict)" } else { "" };
                format!("{}{strict}", gap.what)
            });
            lines.extend(section("Not protected on this machine:", gaps));
        }
    }
    lines.extend(section("Limits on every machine:", always()));
    let advice = advice(machine);
    match advice.is_empty() {
        true => lines.extend([String::new(), "Nothing to do.".to_owned()]),
        false => lines.extend(section("What to do:", advice)),
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

fn json(machine: &Machine) -> serde_json::Value {
    let tier = machine.tier();
    json!({
        "machine": machine,
        "tier": tier,
        "gaps": tier.map(|tier| machine.gaps(tier)).unwrap_or_default(),
        "always": always(),
        "advice": advice(machine),
    })
}

#[cfg(test)]
#[path = "doctor_tests.rs"]
mod tests;
