//! The manifests of `deploy/kubernetes` and the `Containerfile`.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::{Map, Value, json};
use testkit::TempTree;
use testkit::cli::command;

const KUBERNETES: &str = include_str!("../../../../deploy/kubernetes/schemas/kubernetes-1.37.json");
const AGENT_SANDBOX: &str =
    include_str!("../../../../deploy/kubernetes/schemas/agent-sandbox-v1beta1.json");
const DEPLOYMENT: &str = include_str!("../../../../deploy/kubernetes/deployment.yaml");
const SANDBOX: &str = include_str!("../../../../deploy/kubernetes/sandbox.yaml");
const SERVICE: &str = include_str!("../../../../deploy/kubernetes/service.yaml");
const SECRET: &str = include_str!("../../../../deploy/kubernetes/secret.yaml");
const NETWORK_POLICY: &str = include_str!("../../../../deploy/kubernetes/network-policy.yaml");
const CONTAINERFILE: &str = include_str!("../../../../deploy/Containerfile");
const DIST: &str = include_str!("../../../../xtask/src/dist/mod.rs");

/// The labels by which the Service and the network policy select the pod.
const POD_LABELS: [(&str, &str); 2] =
    [("app.kubernetes.io/name", "eyelet"), ("app.kubernetes.io/instance", "eyelet-agent-1")];

fn parse(text: &str) -> Value {
    let documents = Yaml::load_from_str(text).unwrap();
    assert_eq!(documents.len(), 1);
    value(&documents[0])
}

fn value(yaml: &Yaml) -> Value {
    match yaml {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(flag)) => Value::from(*flag),
        Yaml::Value(Scalar::Integer(number)) => Value::from(*number),
        Yaml::Value(Scalar::String(text)) => Value::from(text.as_ref()),
        Yaml::Sequence(values) => values.iter().map(value).collect(),
        Yaml::Mapping(values) => {
            let entries = values.iter().map(|(key, inside)| (value(key), value(inside)));
            entries.map(|(key, inside)| (key.as_str().unwrap().to_owned(), inside)).collect()
        }
        other @ (Yaml::Value(_)
        | Yaml::Representation(..)
        | Yaml::Tagged(..)
        | Yaml::Alias(_)
        | Yaml::BadValue) => panic!("unexpected YAML: {other:?}"),
    }
}

/// The problems of a manifest, one per line.
fn problems(manifest: &Value) -> String {
    let definition = match manifest["kind"].as_str().unwrap() {
        "Deployment" => "io.k8s.api.apps.v1.Deployment",
        "NetworkPolicy" => "io.k8s.api.networking.v1.NetworkPolicy",
        "Sandbox" => "io.x-k8s.agents.v1beta1.Sandbox",
        "Secret" => "io.k8s.api.core.v1.Secret",
        "Service" => "io.k8s.api.core.v1.Service",
        kind => panic!("no schema for {kind}"),
    };
    let mut definitions = Map::new();
    for schemas in [KUBERNETES, AGENT_SANDBOX] {
        let schemas: Value = serde_json::from_str(schemas).unwrap();
        definitions.extend(schemas["$defs"].as_object().unwrap().clone());
    }
    let schema = json!({ "$ref": format!("#/$defs/{definition}"), "$defs": definitions });
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems = validator.iter_errors(manifest);
    problems.map(|problem| format!("{}: {problem}\n", problem.instance_path())).collect()
}

/// The pod of each manifest that has one.
fn pods() -> [Value; 2] {
    [parse(DEPLOYMENT)["spec"]["template"].clone(), parse(SANDBOX)["spec"]["podTemplate"].clone()]
}

fn arguments(pod: &Value) -> Vec<&str> {
    let arguments = pod["spec"]["containers"][0]["args"].as_array().unwrap();
    arguments.iter().map(|argument| argument.as_str().unwrap()).collect()
}

fn argument<'a>(pod: &'a Value, flag: &str) -> &'a str {
    let value = arguments(pod).into_iter().find_map(|word| word.strip_prefix(flag));
    value.unwrap().strip_prefix('=').unwrap()
}

#[test]
fn manifests_are_valid_by_the_schemas_beside_them() {
    for text in [DEPLOYMENT, SANDBOX, SERVICE, SECRET, NETWORK_POLICY] {
        assert_eq!(problems(&parse(text)), "", "{text}");
    }
    for (right, wrong) in [("replicas: 1", "replicas: one"), ("runAsUser", "runAsUzer")] {
        assert_ne!(problems(&parse(&DEPLOYMENT.replace(right, wrong))), "", "{wrong}");
    }
    for (right, wrong) in [("podTemplate", "template"), ("drop:", "drops:")] {
        assert_ne!(problems(&parse(&SANDBOX.replace(right, wrong))), "", "{wrong}");
    }
}

#[test]
fn the_server_starts_with_the_arguments_of_the_manifests() {
    for pod in pods() {
        let tree = TempTree::new("file");
        let beside = tree.beside();
        let token = beside.join("token");
        fs::write(&token, "0123456789abcdef").unwrap();
        fs::set_permissions(&token, Permissions::from_mode(0o600)).unwrap();
        let adapted = arguments(&pod).into_iter().map(|argument| {
            argument
                .replace("0.0.0.0:8700", "0.0.0.0:0")
                .replace("$(POD_NAMESPACE)", "default")
                .replace("/run/eyelet/token", token.to_str().unwrap())
                .replace("/workspace", tree.path().to_str().unwrap())
                .replace("/var/lib/eyelet", beside.to_str().unwrap())
        });
        let mut server = command(&tree).args(adapted).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(server.stderr.take().unwrap()).lines();
        let mut lines = lines.map(|line| line.unwrap());
        let first = lines.next().unwrap();
        assert!(first.contains("eyelet serves MCP at http://0.0.0.0:"), "{first}");
        assert!(lines.any(|line| line.contains("/metrics")));
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(beside.join("record.jsonl").is_file());
    }
}

#[test]
fn pods_have_no_rights_that_eyelet_does_not_need() {
    let [pod, sandbox] = pods();
    assert_eq!(pod, sandbox);
    let spec = &pod["spec"];
    assert_eq!(spec["automountServiceAccountToken"], false);
    assert_eq!(spec["securityContext"]["runAsNonRoot"], true);
    assert_eq!(spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    let containers = ["initContainers", "containers"].map(|kind| spec[kind].as_array().unwrap());
    for container in containers.into_iter().flatten() {
        let expected = json!({
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"] },
        });
        assert_eq!(container["securityContext"], expected);
        assert!(container["resources"]["limits"]["memory"].is_string());
    }
    // Only the default or a percentage follows the limit of the container.
    let fixed = arguments(&pod).into_iter().filter(|word| word.starts_with("--memory"));
    assert_eq!(fixed.filter(|word| !word.ends_with('%')).count(), 0);
    assert_eq!(parse(NETWORK_POLICY)["spec"]["egress"], json!([]));
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        let request = &spec["containers"][0][probe]["httpGet"];
        assert_eq!(request, &json!({ "path": "/healthz", "port": "http" }), "{probe}");
    }
}

#[test]
fn manifests_belong_together() {
    let labels: Value = POD_LABELS.into_iter().collect();
    let service = parse(SERVICE);
    let deployment = parse(DEPLOYMENT);
    assert_eq!(deployment["spec"]["replicas"], 1);
    assert_eq!(deployment["spec"]["strategy"]["type"], "Recreate");
    assert_eq!(deployment["spec"]["selector"]["matchLabels"], labels);
    assert_eq!(service["spec"]["selector"], labels);
    assert_eq!(parse(NETWORK_POLICY)["spec"]["podSelector"]["matchLabels"], labels);
    for pod in pods() {
        assert_eq!(pod["metadata"]["labels"], labels);
        let container = &pod["spec"]["containers"][0];
        let port = service["spec"]["ports"][0]["port"].to_string();
        assert_eq!(container["ports"][0]["containerPort"].to_string(), port);
        assert!(argument(&pod, "--http").ends_with(&format!(":{port}")));
        assert_eq!(argument(&pod, "--http-host"), service["metadata"]["name"]);
        let mounts = container["volumeMounts"].as_array().unwrap();
        let writable: Vec<_> = mounts
            .iter()
            .filter(|mount| mount["readOnly"] != true)
            .map(|mount| mount["mountPath"].as_str().unwrap())
            .collect();
        assert_eq!(writable, [argument(&pod, "--root"), "/tmp", "/var/lib/eyelet"]);
        let volumes = pod["spec"]["volumes"].as_array().unwrap();
        let secret = volumes.iter().find_map(|volume| volume.get("secret")).unwrap();
        assert_eq!(secret["secretName"], parse(SECRET)["metadata"]["name"]);
    }
}

#[test]
fn the_server_does_not_start_with_the_token_of_the_example() {
    let tree = TempTree::new("");
    let token = tree.beside().join("token");
    let secret = parse(SECRET);
    fs::write(&token, secret["stringData"]["token"].as_str().unwrap()).unwrap();
    fs::set_permissions(&token, Permissions::from_mode(0o600)).unwrap();
    let mut server = command(&tree);
    server.args(["mcp", "--http", "127.0.0.1:0", "--http-token-file"]).arg(&token);
    let output = server.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("at least 16 printable"));
}

#[test]
fn the_containerfile_copies_the_program_that_dist_builds() {
    assert!(DIST.contains(r#"dist.out.join("eyelet")"#));
    assert!(DIST.contains(r#"Dist::new(workspace, Kind::Release, program, "dist")"#));
    let program = "COPY target/dist/eyelet /usr/local/bin/eyelet\n";
    let from = "COPY --from=eyelet /usr/local/bin/eyelet /usr/local/bin/eyelet\n";
    for line in ["FROM scratch AS eyelet\n", program, from, "USER 1000:1000\n"] {
        assert!(CONTAINERFILE.contains(line), "{line}");
    }
}
