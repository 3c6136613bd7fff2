//! Configurations that no model has: an error that names the field, never a panic, never a long wait.

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::model::from_config;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof};
use proptest::{prop_assert, proptest};
use serde_json::{Map, Value, json};

/// A sound configuration with some fields replaced.
fn with(changes: &Value) -> Result<(), String> {
    let mut config = json!({
        "model_type": "llama", "hidden_size": 64, "vocab_size": 100, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128,
        "max_position_embeddings": 512,
    });
    for (field, value) in changes.as_object().unwrap() {
        config[field] = value.clone();
    }
    from_config("m", &config, &Map::new())
        .map(|_| ())
        .map_err(|error| error.to_string())
}

fn numbers() -> Vec<(Value, &'static str)> {
    vec![
        (
            json!({"num_hidden_layers": 1_u64 << 60}),
            "`num_hidden_layers` is 1152921504606846976; it must be from 1 to 10000",
        ),
        (
            json!({"num_hidden_layers": 0}),
            "`num_hidden_layers` is 0; it must be from 1 to 10000",
        ),
        (
            json!({"num_hidden_layers": -1}),
            "`num_hidden_layers` must be a whole number, not -1",
        ),
        (
            json!({"num_hidden_layers": 2.5}),
            "`num_hidden_layers` must be a whole number, not 2.5",
        ),
        (
            json!({"num_hidden_layers": "2"}),
            "`num_hidden_layers` must be a whole number, not \"2\"",
        ),
        (
            json!({"num_hidden_layers": null}),
            "`num_hidden_layers` is missing",
        ),
        (
            json!({"num_hidden_layers": [2]}),
            "`num_hidden_layers` must be a whole number, not a list",
        ),
        (
            json!({"num_attention_heads": 0}),
            "`num_attention_heads` is 0; it must be from 1 to 1048576",
        ),
        (
            json!({"num_key_value_heads": 8}),
            "`num_key_value_heads` exceeds `num_attention_heads`",
        ),
        (
            json!({"hidden_size": 1_u64 << 40}),
            "`hidden_size` is 1099511627776; it must be from 1 to 67108864",
        ),
    ]
}

fn other_fields() -> Vec<(Value, &'static str)> {
    vec![
        (
            json!({"attention_bias": 1}),
            "`attention_bias` must be true or false, not 1",
        ),
        (
            json!({"rope_scaling": "yarn"}),
            "`rope_scaling` must be an object, not \"yarn\"",
        ),
        (
            json!({"partial_rotary_factor": -3}),
            "`partial_rotary_factor` must be from 0 to 1",
        ),
        (
            json!({"architectures": [7]}),
            "`architectures` must be a list of texts, not 7",
        ),
        (
            json!({"model_type": 7}),
            "`model_type` must be a text, not 7",
        ),
        (json!({"model_type": null}), "`model_type` is missing"),
        (
            json!({"model_type": "qwen3_moe", "num_experts": 4, "moe_intermediate_size": 8, "num_experts_per_tok": 9}),
            "`num_experts_per_tok` exceeds the number of experts",
        ),
    ]
}

/// Fields replaced, and what must be said.
fn refusals() -> Vec<(Value, &'static str)> {
    [numbers(), other_fields()].concat()
}

#[test]
fn errors_name_the_field() {
    for (changes, message) in refusals() {
        assert_eq!(with(&changes), Err(message.to_owned()), "{changes}");
    }
    assert_eq!(with(&json!({"num_hidden_layers": 2.0})), Ok(()));
    assert!(from_config("m", &json!([]), &Map::new()).is_err());
}

#[test]
fn the_largest_allowed_model_saturates() {
    let config = json!({
        "model_type": "qwen3_moe", "hidden_size": 1 << 26, "vocab_size": 1_u64 << 32, "num_hidden_layers": 10_000,
        "num_attention_heads": 1 << 20, "head_dim": 1 << 26, "num_experts": 1 << 20, "num_experts_per_tok": 1,
        "moe_intermediate_size": 1 << 26, "max_position_embeddings": 1_u64 << 48,
    });
    let model = from_config("m", &config, &Map::new()).unwrap();
    assert_eq!(model.parameters().total(), u64::MAX);
    assert_eq!(model.stored_parameters(), u64::MAX);
}

#[test]
fn nested_objects_end_somewhere() {
    let mut nested = json!({"model_type": "llama"});
    for _ in 0..100 {
        nested = json!({"text_config": nested});
    }
    assert!(from_config("m", &nested, &Map::new()).is_err());
}

/// Values that a careless reader falls over.
fn odd_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0_u64..300).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(Value::Null),
        Just(json!([])),
        Just(json!({})),
        Just(json!([null, -1, "x", [[]], {}])),
        Just(json!("full_attention")),
        Just(json!("M-*E\u{e9}")),
    ]
}

/// Every field of a configuration, as pointers into it.
fn fields(prefix: &str, value: &Value, found: &mut Vec<String>) {
    if let Value::Object(object) = value {
        for (name, value) in object {
            let pointer = format!("{prefix}/{name}");
            fields(&pointer, value, found);
            found.push(pointer);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_preset_with_any_odd_field_is_read_or_refused(
        which in any::<usize>(),
        changes in proptest::collection::vec((any::<usize>(), odd_value()), 1..4),
    ) {
        let catalog = ModelCatalog::embedded();
        let ids: Vec<&str> = catalog.ids().collect();
        let mut config = catalog.find(ids[which % ids.len()]).unwrap().config().clone();
        let mut pointers = Vec::new();
        fields("", &config, &mut pointers);
        for (field, value) in changes {
            let pointer = &pointers[field % pointers.len()];
            if let Some(target) = config.pointer_mut(pointer) {
                *target = value;
            }
        }
        if let Ok(model) = from_config("odd", &config, &Map::new()) {
            prop_assert!(model.layers.len() <= 10_000);
            prop_assert!(model.parameters().active() <= model.stored_parameters());
        }
    }
}
