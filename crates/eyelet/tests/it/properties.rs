//! Properties of every tool and of saved output; the crate `properties` has those for any input.

use eyelet::{ToolDefinition, ToolRouter};
use serde_json::json;
use testkit::TempTree;

use crate::ask::{data, turn};

fn definitions() -> Vec<ToolDefinition> {
    ToolRouter::new().definitions()
}

#[test]
fn descriptions_are_short_and_name_the_default_limits() {
    for tool in definitions() {
        let told = tool.description.clone() + &tool.input_schema.to_string();
        assert!(told.len() < 2500, "{}: {} bytes", tool.name, told.len());
        for limit in &tool.limits {
            if ["entries", "levels", "lines", "characters", "files", "seconds"]
                .contains(&limit.unit)
            {
                assert!(
                    told.contains(&limit.value.to_string()),
                    "{} does not tell its {} {} ({})",
                    tool.name,
                    limit.value,
                    limit.unit,
                    limit.what
                );
            }
        }
    }
}

#[test]
fn pages_of_a_kept_stream_join_to_the_stream() {
    let tree = TempTree::new("");
    let spill = std::sync::Arc::new(eyelet::OutputStore::session(tree.beside()));
    let turn =
        turn(tree.path()).with_environment(std::env::vars_os().collect()).with_output_store(spill);
    let command = "seq 1 30000; printf 'x%.0s' $(seq 1 1300)";
    let answer = data(&turn, "bash", &json!({ "command": command }));
    let file = answer["stdout_file"].as_str().unwrap();
    let (mut joined, mut offset) = (String::new(), 1);
    loop {
        let page = data(&turn, "read", &json!({"path": file, "offset": offset, "limit": 1777}));
        joined += page["content"].as_str().unwrap();
        offset += page["lines_shown"].as_u64().unwrap();
        if page["truncated"] == false {
            break;
        }
    }
    for column in [501, 1001] {
        let page = data(&turn, "read", &json!({"path": file, "offset": 30001, "column": column}));
        joined += page["content"].as_str().unwrap();
    }
    let expected: String = (1..=30000).map(|number| format!("{number}\n")).collect();
    assert_eq!(joined, expected + &"x".repeat(1300));
    assert_eq!(answer["stdout_total_bytes"], joined.len());
}
