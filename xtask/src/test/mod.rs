//! `cargo xtask test`: every step that has to pass, in order, with its time.

mod agents;
mod built;
mod conformance;
mod import_cycles;
mod mcp_clients;
pub(crate) mod needs;
mod pytest;
mod ripgrep;
mod second_user;
mod skipped;
mod spec_rules;
mod steps;

pub(crate) use built::{built, target};
pub(crate) use needs::is_root;

use std::time::{Duration, Instant};

use crate::workspace::Workspace;
use needs::Need;
use skipped::Skipped;
use steps::{STEPS, Set, Step};

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request<'w> {
    is_extended: bool,
    /// What this machine is known to have: a step or test that is skipped for want of it fails the run.
    required: Vec<&'w str>,
    names: Vec<&'w str>,
}

/// The end of one step.
enum Outcome {
    Passed(Duration),
    Skipped(String),
}

pub(crate) fn run(workspace: &Workspace, words: &[&str]) -> Result<(), String> {
    if words == ["--list"] {
        print_list();
        return Ok(());
    }
    let request = parse(words)?;
    let steps = chosen(&request)?;
    needs::check_required()?;
    let skipped = Skipped::new(workspace)?;
    let start = Instant::now();
    let mut outcomes = Vec::new();
    for step in steps {
        let outcome = run_step(workspace, step, &request.required)?;
        outcomes.push((step.name, outcome));
    }
    print_summary(&outcomes, &skipped.lines()?, start.elapsed());
    skipped.check(&request.required)
}

fn parse<'w>(words: &[&'w str]) -> Result<Request<'w>, String> {
    let mut request = Request::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--extended" => request.is_extended = true,
            "--require" => {
                let names = words.next().ok_or("--require needs a list of names")?;
                request.required.extend(names.split(',').filter(|name| !name.is_empty()));
            }
            flag if flag.starts_with('-') => return Err(format!("unknown flag {flag}")),
            name => request.names.push(name),
        }
    }
    let known = |name: &&&str| needs::names().any(|known| known == **name);
    if let Some(unknown) = request.required.iter().find(|name| !known(name)) {
        let known: Vec<_> = needs::names().collect();
        return Err(format!("--require: unknown name `{unknown}`; known: {}", known.join(", ")));
    }
    Ok(request)
}

/// The steps to run, in the order of the list. Named steps bring the steps that they build on.
fn chosen(request: &Request<'_>) -> Result<Vec<&'static Step>, String> {
    if request.names.is_empty() {
        let set = if request.is_extended { Set::Extended } else { Set::Basic };
        let direct: Vec<_> = STEPS.iter().filter(|step| step.set == set).collect();
        return Ok(with_earlier(direct));
    }
    let mut direct = Vec::new();
    for name in &request.names {
        let step = STEPS.iter().find(|step| step.name == *name);
        let unknown = format!("no step `{name}`; `cargo xtask test --list` lists the steps");
        direct.push(step.ok_or(unknown)?);
    }
    Ok(with_earlier(direct))
}

fn with_earlier(mut steps: Vec<&'static Step>) -> Vec<&'static Step> {
    let mut index = 0;
    while let Some(step) = steps.get(index) {
        for name in step.after {
            let earlier = STEPS.iter().find(|step| step.name == *name);
            if let Some(earlier) = earlier
                && !steps.iter().any(|step| step.name == earlier.name)
            {
                steps.push(earlier);
            }
        }
        index += 1;
    }
    let is_chosen = |step: &&Step| steps.iter().any(|chosen| chosen.name == step.name);
    STEPS.iter().filter(is_chosen).collect()
}

fn run_step(workspace: &Workspace, step: &Step, required: &[&str]) -> Result<Outcome, String> {
    println!("== {}", step.name);
    let missing = step.needs.iter().find_map(|need| need.missing().map(|reason| (need, reason)));
    if let Some((need, reason)) = missing {
        if required.contains(&need.name) {
            return Err(format!(
                "== {} skipped, but {} is required: {reason}",
                step.name, need.name
            ));
        }
        println!("== {} skipped: {reason}", step.name);
        return Ok(Outcome::Skipped(reason));
    }
    let start = Instant::now();
    (step.run)(workspace).map_err(|message| {
        format!("== {} failed after {} s: {message}", step.name, start.elapsed().as_secs())
    })?;
    println!("== {} passed in {} s", step.name, start.elapsed().as_secs());
    Ok(Outcome::Passed(start.elapsed()))
}

fn print_list() {
    for (set, title) in
        [(Set::Basic, "cargo xtask test"), (Set::Extended, "cargo xtask test --extended")]
    {
        println!("{title}");
        for step in STEPS.iter().filter(|step| step.set == set) {
            let needs: Vec<_> = step.needs.iter().map(|need: &Need| need.name).collect();
            let needs = if needs.is_empty() {
                String::new()
            } else {
                format!(" (needs {})", needs.join(", "))
            };
            println!("  {:18} {}{needs}", step.name, step.about);
        }
    }
}

fn print_summary(outcomes: &[(&str, Outcome)], tests: &[String], time: Duration) {
    println!("\n== steps");
    let (mut passed, mut skipped) = (0, 0);
    for (name, outcome) in outcomes {
        match outcome {
            Outcome::Passed(time) => {
                passed += 1;
                println!("passed   {name:18} {:5} s", time.as_secs());
            }
            Outcome::Skipped(reason) => {
                skipped += 1;
                println!("skipped  {name:18} {reason}");
            }
        }
    }
    if !tests.is_empty() {
        println!("\n== tests skipped inside these steps");
        tests.iter().for_each(|line| println!("skipped  {line}"));
    }
    println!("\n== steps: {passed} passed, {skipped} skipped, in {} s", time.as_secs());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_steps_are_parsed() {
        let request = parse(&["--extended", "--require", "root,npm", "clippy"]).unwrap();
        assert!(request.is_extended);
        assert_eq!((request.required, request.names), (vec!["root", "npm"], vec!["clippy"]));
        for wrong in [&["--fast"][..], &["--require"], &["--require", "magic"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_named_step_brings_the_steps_it_builds_on() {
        let named = |names: &[&'static str]| -> Vec<_> {
            let request = Request { names: names.to_vec(), ..Request::default() };
            chosen(&request).unwrap().iter().map(|step| step.name).collect()
        };
        assert_eq!(named(&["format"]), ["format"]);
        assert_eq!(named(&["tests"]), ["ripgrep", "tests"]);
        assert!(chosen(&Request { names: vec!["nothing"], ..Request::default() }).is_err());
    }

    #[test]
    fn every_step_has_its_own_name_and_builds_on_earlier_ones() {
        for (index, step) in STEPS.iter().enumerate() {
            let earlier: Vec<_> = STEPS.iter().take(index).map(|step| step.name).collect();
            assert!(!earlier.contains(&step.name), "{} is listed twice", step.name);
            assert!(step.after.iter().all(|name| earlier.contains(name)), "{}", step.name);
        }
    }
}
