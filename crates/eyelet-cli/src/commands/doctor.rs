//! `eyelet doctor`: prints what this machine can enforce, and which gaps remain.

use std::process::ExitCode;

use eyelet_sandbox::{MAX_LOOKED_AT, MAX_REPOSITORIES, Machine, Supervisor, Tier};
use serde_json::json;

use crate::failure::{FAILED, Failure};
use crate::print;

/// Gaps in both tiers and on every machine.
const ALWAYS: &[&str] = &[
    "without --strict a command reads everything that you can read, but for the folders of secrets: \
     --root confines list_dir, grep_files and read, and where a command writes",
    "--deny hides from commands what it matches when the first one runs; files made later, and hard \
     links, are not hidden",
    "a repository that a command makes is its own: git run in it, or in one that has it as a submodule, \
     executes what its settings say; so does git with hooks or settings that lie among the project's \
     files (core.hooksPath, include.path), and `git rebase --continue` with an `exec` line",
    "under --sandbox full, the default of call and bash at the command line, nothing is sandboxed",
];

pub(crate) enum DoctorForm {
    Text,
    Json,
}

pub(crate) fn run(form: DoctorForm) -> Result<ExitCode, Failure> {
    let machine = Supervisor::this_program().machine().map_err(|reason| Failure {
        message: format!("this machine could not be examined: {reason}"),
        exit: FAILED,
    })?;
    let text = match form {
        DoctorForm::Text => text(&machine),
        DoctorForm::Json => format!("{:#}", json(&machine)),
    };
    print::lines(&text)?;
    Ok(if machine.tier().is_some() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

fn always() -> Vec<String> {
    let repositories = format!(
        "of repositories below the roots the settings and hooks are protected where they are found: up to \
         {MAX_REPOSITORIES}, among the {MAX_LOOKED_AT} entries nearest to the roots, before the first \
         command"
    );
    ALWAYS.iter().map(|text| (*text).to_owned()).chain([repositories]).collect()
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
        format!("process limit  {}", yes_or_no(machine.has_own_pid_limit || !machine.is_root)),
        String::new(),
    ];
    match machine.tier() {
        None => lines.push(
            "Commands do not run under --sandbox read-only or workspace-write: this machine cannot \
             enforce them."
                .to_owned(),
        ),
        Some(tier) => {
            let means = match tier {
                Tier::Namespaces => "namespaces, Landlock, seccomp, no capabilities",
                Tier::Landlock => "Landlock, seccomp, no capabilities",
            };
            lines.push(format!(
                "Commands under --sandbox read-only and workspace-write run in the {} tier: {means}.",
                name(tier)
            ));
            lines.push(String::new());
            lines.push("Not protected:".to_owned());
            for gap in machine.gaps(tier) {
                let refused = if gap.is_refused_by_strict { " (--strict refuses to run)" } else { "" };
                lines.push(format!("- {}{refused}", gap.what));
            }
            lines.extend(always().iter().map(|always| format!("- {always}")));
        }
    }
    let advice = machine.advice();
    if !advice.is_empty() {
        lines.push(String::new());
        lines.push("What would help:".to_owned());
        lines.extend(advice.iter().map(|advice| format!("- {advice}")));
    }
    lines.join("\n")
}

fn json(machine: &Machine) -> serde_json::Value {
    let tier = machine.tier();
    json!({
        "machine": machine,
        "tier": tier,
        "gaps": tier.map(|tier| machine.gaps(tier)).unwrap_or_default(),
        "always": always(),
        "advice": machine.advice(),
    })
}
