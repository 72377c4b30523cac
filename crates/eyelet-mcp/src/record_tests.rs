use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use eyelet::Facts;
use serde_json::json;
use testkit::TempTree;

use super::*;

fn line(session: u64) -> CallRecord {
    CallRecord { session, tool: "read".to_owned(), ..CallRecord::default() }
}

fn sessions(path: &Path) -> Vec<u64> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str::<CallRecord>(line).unwrap().session).collect()
}

#[test]
fn a_full_record_is_renamed() {
    let tree = TempTree::new("");
    let (path, older) = (tree.path().join("calls"), tree.path().join("calls.1"));
    let bytes = serde_json::to_vec(&line(1)).unwrap().len() as u64 + 1;
    let record = Record { path: path.clone(), max_bytes: 3 * bytes };
    for session in 1..=3 {
        record.append(&line(session)).unwrap();
    }
    assert_eq!(sessions(&path), [1, 2, 3]);
    assert!(!older.exists());
    for session in 4..=8 {
        record.append(&line(session)).unwrap();
    }
    assert_eq!((sessions(&older), sessions(&path)), (vec![4, 5, 6], vec![7, 8]));
    for file in [path, older] {
        assert_eq!(fs::metadata(file).unwrap().mode() & 0o777, 0o600);
    }
}

#[test]
fn servers_that_share_a_record_lose_no_line() {
    let tree = TempTree::new("");
    let path = tree.path().join("calls");
    let bytes = serde_json::to_vec(&line(100)).unwrap().len() as u64;
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            // Each has a file of its own open, like processes.
            let record = Arc::new(Record { path: path.clone(), max_bytes: 100 * bytes });
            std::thread::spawn(move || {
                for call in 0..40 {
                    record.append(&line(100 + thread * 40 + call)).unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let mut all = [sessions(&tree.path().join("calls.1")), sessions(&path)].concat();
    all.sort_unstable();
    assert_eq!(all, (100..260).collect::<Vec<_>>());
}

#[test]
fn a_record_must_be_a_private_regular_file() {
    let tree = TempTree::new("");
    let file = tree.file("open", "");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let refused = |path: &Path| Record::open(path).unwrap_err().to_string();
    assert!(refused(&file).contains("chmod 600"));
    let pipe = tree.path().join("pipe");
    tree.fifos(["pipe"]);
    for path in [Path::new("/dev/null"), &pipe] {
        assert_eq!(refused(path), "it is not a regular file");
    }
    refused(tree.path());
    refused(&tree.path().join("none/calls"));
    std::os::unix::fs::symlink(tree.path().join("target"), tree.path().join("link")).unwrap();
    assert_eq!(refused(&tree.path().join("link")), "it is a symlink; use the path of its target");
    assert!(!tree.path().join("target").exists());
}

#[test]
fn a_record_names_the_path_or_the_command() {
    let cwd = Path::new("/project");
    let target = |arguments: &str, parameter: &str| {
        let target = Target::new(arguments, &json!({"properties": {parameter: {}}}), cwd);
        (target.path.unwrap_or_default(), target.command.unwrap_or_default())
    };
    let is = |path: &str, command: &str| (path.to_owned(), command.to_owned());
    assert_eq!(target(r#"{"path":"a.txt"}"#, "path"), is("/project/a.txt", ""));
    assert_eq!(target(r#"{"file_path":"/etc/x"}"#, "path"), is("/etc/x", ""));
    assert_eq!(target(r#"{"pattern":"secret"}"#, "path"), is("/project", ""));
    assert_eq!(target(r#"{"command":"make","cwd":"sub"}"#, "cwd"), is("/project/sub", "make"));
    assert_eq!(target(r#"{"job":3}"#, "job"), is("", ""));
    assert_eq!(target("{", "path"), is("/project", ""));
    let long = format!(r#"{{"command":"{}é"}}"#, "x".repeat(MAX_TARGET_BYTES - 1));
    assert_eq!(target(&long, "cwd").1.len(), MAX_TARGET_BYTES - 1);
}

#[test]
fn a_line_has_the_documented_fields() {
    let mut facts = Facts::page(3, 10).with_found(10);
    facts.pixels = Some(751);
    facts.exit_code = Some(1);
    facts.refusals = vec!["sandbox blocked: write ~/x".to_owned()];
    let reply = ReplyNumbers { shown: 9, withheld: 7, error: Some("timed_out"), facts };
    let time = std::time::Duration::from_micros(1999);
    let call = CallSummary { session: 2, tool: "bash", time, reply: &reply };
    let target = Target { path: Some("/p".to_owned()), command: Some("c".to_owned()) };
    let record = CallRecord::new(&call, DateTime::UNIX_EPOCH, &target);
    let text = serde_json::to_string(&record).unwrap();
    let expected = json!({
        "time": "1970-01-01T00:00:00.000Z", "server": process::id(), "session": 2, "tool": "bash",
        "path": "/p", "command": "c", "range": [3, 12], "found": 10, "shown": 9, "withheld": 7,
        "tokens": 3 + 2, "ms": 1, "exit_code": 1, "error": "timed_out",
        "refusals": ["sandbox blocked: write ~/x"]
    });
    assert_eq!(text, expected.to_string());
    assert_eq!(serde_json::from_str::<CallRecord>(&text).unwrap(), record);
    // Every field is documented.
    let documentation = include_str!("../../../docs/records.md");
    for field in expected.as_object().unwrap().keys() {
        assert!(documentation.contains(&format!("| `{field}` |")), "{field}");
    }
}
