use super::*;

fn best() -> Machine {
    Machine {
        kernel: "6.14.0".to_owned(),
        is_root: true,
        namespaces_refused: None,
        landlock_abi: 6,
        has_seccomp: true,
        has_own_pid_limit: true,
    }
}

/// Machines with gaps in the first tier, in the second tier, and without a tier.
fn with_findings() -> [Machine; 4] {
    let refused = Some("Operation not permitted".to_owned());
    [
        Machine { landlock_abi: 0, has_own_pid_limit: false, ..best() },
        Machine { namespaces_refused: refused.clone(), landlock_abi: 4, ..best() },
        Machine { namespaces_refused: refused, landlock_abi: 2, is_root: false, ..best() },
        Machine { has_seccomp: false, ..best() },
    ]
}

fn last_section(text: &str) -> Vec<&str> {
    text.split("\n\n").last().unwrap().lines().collect()
}

#[test]
fn the_last_section_has_advice_for_every_finding() {
    for machine in with_findings() {
        let all = advice(&machine, &[]);
        let (text, json) = (text(&machine, &all), json(&machine, &all));
        let (title, advice) =
            last_section(&text).split_first().map(|(title, rest)| (*title, rest.to_vec())).unwrap();
        assert_eq!(title, "What to do:", "{text}");
        for gap in json["gaps"].as_array().unwrap() {
            assert!(text.contains(gap["what"].as_str().unwrap()), "{text}");
            let line = format!("- {}", gap["advice"].as_str().unwrap());
            assert!(advice.contains(&line.as_str()), "{line}\n{text}");
        }
        let lines = json["advice"].as_array().unwrap().iter();
        let lines: Vec<_> = lines.map(|line| format!("- {}", line.as_str().unwrap())).collect();
        assert_eq!(advice, lines);
        assert!(advice.last().unwrap().starts_with("- Until then, "), "{text}");
    }
}

#[test]
fn without_findings_there_is_nothing_to_do() {
    let none = advice(&best(), &[]);
    let text = text(&best(), &none);
    assert_eq!(last_section(&text), ["Nothing to do."], "{text}");
    assert!(text.contains("\nLimits on every machine:\n- "), "{text}");
    assert!(!text.contains("Not protected"), "{text}");
    assert_eq!(json(&best(), &none)["advice"], json!([]));
}

#[test]
fn each_tier_says_how_blocked_actions_are_found() {
    let [_, second, ..] = with_findings();
    for (machine, expected) in
        [(best(), "The kernel counts refused connections"), (second, "the kernel counts nothing")]
    {
        let (text, json) = (text(&machine, &[]), json(&machine, &[]));
        assert!(text.contains(expected), "{text}");
        assert!(json["blocked_by"].as_str().unwrap().contains(expected), "{json}");
    }
}

#[test]
fn profile_comes_first_and_only_if_namespaces_are_refused() {
    let [_, machine, ..] = with_findings();
    let all = advice(&machine, &["install the profile".to_owned()]);
    let text = text(&machine, &all);
    assert_eq!(last_section(&text)[1], "- install the profile", "{text}");
    assert_eq!(profile_advice(&best()).unwrap(), Vec::<String>::new());
}
