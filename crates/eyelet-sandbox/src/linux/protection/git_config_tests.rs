use super::differs_harmlessly;

const CORE: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
const ORIGIN: &str = "[remote \"origin\"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";
const MAIN: &str = "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";

fn is_accepted(recorded: &str, now: &str) -> bool {
    differs_harmlessly(recorded.as_bytes(), now.as_bytes())
}

#[test]
fn remotes_branches_and_the_users_name_are_harmless() {
    for added in [
        ORIGIN,
        "[remote \"a/b\"]\n\turl = git@example.org:a/b\n",
        "[remote \"b\"]\n\turl = ssh://git@example.org:22/b\n\n",
        "[branch \"topic\"]\n\tremote = .\n\tmerge = refs/heads/main\n\trebase = true\n",
        "[user]\n\tname = Zoë O'Neill <z>\n\temail = a@b\n",
        "[branch \"empty\"]\n",
    ] {
        assert!(is_accepted(CORE, &format!("{CORE}{added}")), "{added}");
        assert!(is_accepted(&format!("{added}{CORE}"), CORE), "{added}");
    }
    let all = format!("{CORE}{ORIGIN}{MAIN}");
    assert!(is_accepted(&all, CORE));
    assert!(is_accepted(&all, &all.replace("example.org", "example.com")));
    // The old version refers to a remote that is missing.
    assert!(is_accepted(&format!("{CORE}{MAIN}"), &all));
    let custom = format!("{CORE}{ORIGIN}\tproxy = http://localhost\n");
    assert!(is_accepted(&custom, &format!("{custom}{MAIN}")));
}

#[test]
fn settings_that_may_start_programs_are_not_harmless() {
    for added in [
        "[core]\n\tfsmonitor = evil\n",
        "\tfsmonitor = evil\n",
        "[include]\n\tpath = evil\n",
        "[remote \"x\"] uploadpack = evil\n\turl = https://a/b\n",
        "[remote \"x\"]\n\turl = https://a/b\n\tuploadpack = evil\n",
        "[remote \"x\"]\n\turl = https://a/b\n[core] fsmonitor = evil\n",
        "[remote \"x\"]\n\turl = https://a/b\n\t[core] fsmonitor = evil\n",
        "[remote \"x\"]\n\turl = https://a/b [core]\n\tfsmonitor = evil\n",
        "[remote \"x\"]\n\turl = https://a/b\\\n[core]\n\tfsmonitor = evil\n",
        "[remote \"x\"]\n\turl = https://a/b\r[core]\r\tfsmonitor = evil\n",
        "[remote \"x\"]\n\tfetch = +refs/heads/*:refs/remotes/x/*\n",
        "[remote \"x\"]\n\turl = https://a/b\n\tfetch = x\n",
        "[remote \"x\"]\n\turl\n",
        "[remote \"-x\"]\n\turl = https://a/b\n",
        "[remote \"x\\\"]\n\turl = https://a/b\n",
        "[remote.x]\n\turl = https://a/b\n",
        "[branch \"main\"]\n\tremote = missing\n",
        "[branch \"main\"]\n\tremote = ../evil\n",
        "[branch \"main\"]\n\tmerge = main\n",
        "[branch \"main\"]\n\tpushRemote = .\n",
        "[user]\n\tsigningKey = x\n",
        "[user]\n\tname = \"a\n",
        "[user \"x\"]\n\tname = a\n",
        "[user]\n\tname = a # b\n",
    ] {
        assert!(!is_accepted(CORE, &format!("{CORE}{added}")), "{added}");
    }
    assert!(!is_accepted(CORE, ""));
    assert!(!differs_harmlessly(CORE.as_bytes(), b"\xff"));
}

#[test]
fn only_addresses_of_other_machines_are_harmless() {
    for (url, is_harmless) in [
        ("https://example.org/a", true),
        ("http://localhost:8080/a", true),
        ("git://example.org/a", true),
        ("ssh://git@example.org/~a/b", true),
        ("example.org:a", true),
        ("ext::sh -c evil", false),
        ("ext::evil", false),
        ("https::evil", false),
        ("file:///evil", false),
        ("/evil", false),
        ("../evil", false),
        ("./a:b", false),
        ("evil", false),
        ("-oProxyCommand=evil:x", false),
        ("a@-oProxyCommand=evil:x", false),
        ("ssh://-oProxyCommand=evil/x", false),
        ("ssh://a@-oProxyCommand=evil/x", false),
        ("ssh:///x", false),
        ("example.org:-x", false),
        ("\"https://example.org/a\"", false),
        ("https://example.org/a;b", false),
    ] {
        let now = format!("{CORE}[remote \"x\"]\n\turl = {url}\n");
        assert_eq!(is_accepted(CORE, &now), is_harmless, "{url}");
    }
}

#[test]
fn a_remote_that_is_still_in_use_cannot_be_removed() {
    let custom = "[branch \"b\"]\n\tremote = origin\n\tdescription = x\n";
    let push = "[remote]\n\tpushDefault = origin\n";
    for other in [MAIN, custom, push] {
        let recorded = format!("{CORE}{other}{ORIGIN}");
        assert!(!is_accepted(&recorded, &format!("{CORE}{other}")), "{other}");
        assert!(is_accepted(&recorded, &format!("{recorded}[user]\n\tname = a\n")), "{other}");
    }
}
