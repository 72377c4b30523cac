//! Each schema accepts exactly what the argument type of its tool accepts.

use eyelet::{FunctionCallError, SandboxPolicy, ToolInvocation, ToolRouter, TurnContext};
use serde_json::{Map, Value, json};
use testkit::each_seed;

/// Whether the arguments parse. They may still be invalid in other ways.
fn is_parsed(tool: &str, arguments: &Value) -> bool {
    // In this turn no path is accessible and no command runs.
    let flag = eyelet::CancelFlag::default();
    flag.cancel();
    let turn = TurnContext::new("/proc/self/fdinfo", SandboxPolicy::Off).unwrap().with_cancel(flag);
    match ToolRouter::new().call(&ToolInvocation::new(tool, arguments.to_string(), &turn)) {
        Err(FunctionCallError::RespondToModel(error)) => {
            !error.message.starts_with("failed to parse function arguments")
        }
        Err(FunctionCallError::Fatal(message)) => panic!("{message}"),
        Ok(_) => true,
    }
}

/// Removes the leniency of the tools, which the schemas do not mention.
fn put_right(schema: &Value, arguments: &Map<String, Value>) -> Value {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let right = |(name, value): (&String, &Value)| {
        let is_number = schema["properties"][name]["type"] == "integer";
        let value = match value {
            Value::String(text) if !required.contains(&json!(name)) && text.is_empty() => {
                return None;
            }
            Value::String(text) if is_number => {
                text.parse::<u64>().map_or(value.clone(), |n| json!(n))
            }
            Value::Null if !required.contains(&json!(name)) => return None,
            value => value.clone(),
        };
        Some((name.clone(), value))
    };
    Value::Object(arguments.iter().filter_map(right).collect())
}

#[test]
fn each_schema_accepts_exactly_what_its_argument_type_does() {
    let values = [
        json!("x"),
        json!(""),
        json!("7"),
        json!(7),
        json!(7.0),
        json!(7.5),
        json!(-7),
        json!(0),
        json!(u64::MAX),
        json!(null),
        json!(true),
        json!([]),
        json!({}),
        json!("head"),
        json!("both"),
        json!("files"),
        json!("lines"),
        json!("show"),
        json!("skip"),
        json!("kill"),
    ];
    for tool in ToolRouter::new().definitions() {
        let schema = jsonschema::validator_for(&tool.input_schema).unwrap();
        let names: Vec<String> =
            tool.input_schema["properties"].as_object().unwrap().keys().cloned().collect();
        let mut outcomes = [0; 2];
        each_seed(8000, |random| {
            let mut arguments = Map::new();
            for name in &names {
                if random.u8(0..3) > 0 {
                    arguments.insert(name.clone(), values[random.usize(0..values.len())].clone());
                }
            }
            if random.u8(0..9) == 0 {
                arguments.insert("other".to_owned(), json!(1));
            }
            let accepted = schema.is_valid(&put_right(&tool.input_schema, &arguments));
            let arguments = Value::Object(arguments);
            assert_eq!(is_parsed(tool.name, &arguments), accepted, "{} {arguments}", tool.name);
            outcomes[usize::from(accepted)] += 1;
        });
        assert!(outcomes.iter().all(|count| *count > 20), "{}: {outcomes:?}", tool.name);
    }
}

#[test]
fn schemas_use_only_features_that_every_client_supports() {
    for tool in ToolRouter::new().definitions() {
        let schema = &tool.input_schema;
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
        for (name, property) in schema["properties"].as_object().unwrap() {
            let known = ["type", "description", "minimum", "enum"];
            let keys: Vec<_> = property.as_object().unwrap().keys().collect();
            assert!(keys.iter().all(|key| known.contains(&key.as_str())), "{name}: {keys:?}");
            assert!(!property["description"].as_str().unwrap().is_empty());
        }
        // Required fields come first.
        let first = schema["properties"].as_object().unwrap().keys().next().unwrap();
        if !schema["required"].is_null() {
            assert_eq!(schema["required"][0], *first);
        }
    }
}
