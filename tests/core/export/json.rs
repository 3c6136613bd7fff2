//! The JSON target keeps the contract of `assets/launch.schema.json`.

use serde_json::{Value, json};

use super::case::{Case, gpu, machine};
use plimsoll::hardware::Vendor;

fn validator() -> jsonschema::Validator {
    let schema: Value =
        serde_json::from_str(include_str!("../../../assets/launch.schema.json")).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn written(case: &Case) -> Value {
    serde_json::from_str(&case.write("json").unwrap()).unwrap()
}

#[test]
fn every_launch_keeps_the_schema() {
    let validator = validator();
    let mut asked = Case::new("");
    asked.plan.launch.api_key_env = Some("KEY".to_owned());
    for case in [
        Case::everyday(),
        asked,
        Case::new("").model_path("C:\\模型\\a \"b\".gguf\n"),
        Case::new("").on(machine(&[])),
        Case::new("").on(machine(&[
            gpu("A", Vendor::Nvidia, None),
            gpu("B", Vendor::Amd, None),
        ])),
    ] {
        let launch = written(&case);
        let errors: Vec<String> = validator
            .iter_errors(&launch)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(errors, [""; 0]);
    }
}

#[test]
fn the_schema_refuses_what_a_consumer_could_not_use() {
    let validator = validator();
    let good = written(&Case::everyday());
    for (pointer, bad) in [
        ("/arguments/0", json!(7)),
        ("/arguments/0", json!({ "variable": "A", "value": "b" })),
        ("/program", json!("")),
        ("/environment", json!(["A=b"])),
        ("/projection/verdict", json!("maybe")),
        ("/schema", json!(2)),
    ] {
        let mut launch = good.clone();
        *launch.pointer_mut(pointer).unwrap() = bad;
        assert!(!validator.is_valid(&launch), "{pointer}");
    }
}

#[test]
fn words_are_unquoted_and_variables_named() {
    let mut case = Case::new("").extra_args(&["--alias", "a \"b\" $c %d%"]);
    case.plan.launch.api_key_env = Some("TEAM_KEY".to_owned());
    let launch = written(&case);
    assert_eq!(launch["program"], "llama-server");
    assert_eq!(launch["arguments"][0], "--model");
    assert_eq!(launch["arguments"][1], json!({ "variable": "MODEL" }));
    let words = launch["arguments"].as_array().unwrap();
    assert_eq!(*words.last().unwrap(), "a \"b\" $c %d%");
    assert_eq!(
        launch["environment"],
        json!({ "LLAMA_API_KEY": { "variable": "TEAM_KEY" } })
    );
    assert_eq!(launch["variables"][0]["name"], "MODEL");
    assert_eq!(launch["variables"][1]["secret"], true);
    assert_eq!(launch["model"]["path"], Value::Null);
    assert_eq!(launch["projection"]["devices"][0]["id"], "gpu0");
}
