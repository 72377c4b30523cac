use super::*;

/// Every combination of features that changes a finding.
fn machines() -> Vec<Machine> {
    let mut machines = Vec::new();
    for bits in 0..16 {
        let has = |bit: u32| bits & (1 << bit) != 0;
        for landlock_abi in [0, 2, MIN_LANDLOCK, SCOPED_LANDLOCK] {
            machines.push(Machine {
                kernel: "6.8.0".to_owned(),
                is_root: has(0),
                namespaces_refused: has(1).then(|| "refused".to_owned()),
                landlock_abi,
                has_seccomp: has(2),
                has_own_pid_limit: has(3),
            });
        }
    }
    machines
}

#[test]
fn every_gap_of_both_tiers_has_advice() {
    let mut tiers = Vec::new();
    for machine in machines() {
        for tier in [Tier::Namespaces, Tier::Landlock] {
            assert!(machine.gaps(tier).iter().all(|gap| !gap.advice.is_empty()), "{machine:?}");
        }
        let Some(tier) = machine.tier() else { continue };
        let (gaps, advice) = (machine.gaps(tier), machine.advice());
        assert!(gaps.iter().all(|gap| advice.contains(&gap.advice)), "{machine:?} {advice:?}");
        assert_eq!(gaps.is_empty(), advice.is_empty(), "{machine:?} {advice:?}");
        tiers.push((tier, gaps.is_empty()));
    }
    for expected in [(Tier::Namespaces, true), (Tier::Namespaces, false), (Tier::Landlock, false)] {
        assert!(tiers.contains(&expected), "{expected:?}");
    }
}

#[test]
fn without_a_tier_every_missing_feature_has_advice() {
    for machine in machines().iter().filter(|machine| machine.tier().is_none()) {
        let advice = machine.advice();
        let has = |line: &str| advice.iter().any(|advice| advice == line);
        assert_eq!(has(ENABLE_SECCOMP), !machine.has_seccomp, "{machine:?}");
        assert_eq!(has(ALLOW_NAMESPACES), machine.namespaces_refused.is_some(), "{machine:?}");
        assert_eq!(has(ENABLE_LANDLOCK), machine.landlock_abi == 0, "{machine:?}");
        assert!(!advice.is_empty(), "{machine:?}");
    }
}

#[test]
fn advice_is_not_repeated() {
    for machine in machines() {
        let advice = machine.advice();
        let unique: BTreeSet<_> = advice.iter().collect();
        assert_eq!(unique.len(), advice.len(), "{advice:?}");
    }
}
