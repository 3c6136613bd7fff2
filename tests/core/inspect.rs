//! What a model is said to be: of presets, and of tensors.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::inspect::{Certainty, Figure, Inspection};
use plimsoll::model::{Checkpoint, Container, FileTensor, Model, TensorRole};
use plimsoll::quant::Type;
use plimsoll::source::access::Entry;
use plimsoll::units::Bytes;
use serde_json::{Map, Value};

fn preset(id: &str) -> Model {
    let catalog = ModelCatalog::embedded();
    catalog.find(id).unwrap().model(&Map::new()).unwrap()
}

fn validator() -> jsonschema::Validator {
    let schema: Value =
        serde_json::from_str(include_str!("../../assets/inspection.schema.json")).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

#[track_caller]
fn keeps_schema(validator: &jsonschema::Validator, inspection: &Inspection) {
    let value = serde_json::to_value(inspection).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, [""; 0], "{}", inspection.name);
}

#[test]
fn every_preset_is_told_whole() {
    let validator = validator();
    let catalog = ModelCatalog::embedded();
    let mut with_cache = 0;
    for id in catalog.ids() {
        let model = catalog.find(id).unwrap().model(&Map::new()).unwrap();
        let inspection = Inspection::new(&model, Vec::new());
        keeps_schema(&validator, &inspection);
        let kinds: u64 = inspection.by_kind.iter().map(|share| share.elements).sum();
        assert_eq!(kinds, inspection.params_total, "{id}");
        let shares: f64 = inspection.by_kind.iter().map(|share| share.share).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{id}: {shares}");
        let layers: u64 = inspection.layers.iter().map(|kind| kind.count).sum();
        assert_eq!(layers, model.layers.len() as u64, "{id}");
        assert_eq!(inspection.certainty, Certainty::Configuration, "{id}");
        with_cache += usize::from(inspection.cache.is_some());
    }
    assert!(with_cache > 40, "{with_cache}");
}

#[test]
fn figures_have_the_names_of_configurations() {
    let inspection = Inspection::new(&preset("DeepSeek-R1"), Vec::new());
    let number = |name: &str| match &inspection.hyper_parameters[name] {
        Figure::Number(number) => *number,
        other => panic!("{name}: {other:?}"),
    };
    for (name, expected) in [
        ("num_hidden_layers", 61),
        ("hidden_size", 7168),
        ("kv_lora_rank", 512),
        ("q_lora_rank", 1536),
        ("num_experts", 256),
        ("num_experts_per_tok", 8),
        ("n_shared_experts", 1),
        ("context_length", 163_840),
    ] {
        assert_eq!(number(name), expected, "{name}");
    }
    assert!(!inspection.hyper_parameters.contains_key("sliding_window"));
    let kinds: Vec<(u64, &str)> = inspection
        .layers
        .iter()
        .map(|kind| (kind.count, kind.which.as_str()))
        .collect();
    assert_eq!(kinds, [(3, "0–2"), (58, "3–60")]);
    // 61 layers of one vector of 512 + 64 halves (llama.cpp 0.6.0-dev caches the latent vector once).
    let cache = inspection.cache.unwrap();
    assert!((cache.bytes_per_token - 61.0 * 576.0 * 2.0).abs() < 1.0);
}

fn tensor(name: &str, shape: [u64; 4], kind: Type) -> FileTensor {
    FileTensor {
        name: name.to_owned(),
        shape,
        kind: Some(kind),
        type_name: Cow::Borrowed(if kind == Type::F16 { "f16" } else { "f32" }),
        bytes: Bytes::new(shape.iter().product::<u64>() * if kind == Type::F16 { 2 } else { 4 }),
        role: TensorRole::Parameters,
    }
}

fn opened(container: Container, tensors: Vec<FileTensor>) -> Model {
    let checkpoint = Checkpoint::new(container, Some("F16".to_owned()), tensors);
    Model {
        checkpoint: Some(Arc::new(checkpoint)),
        ..preset("Qwen3-8B")
    }
    .sealed()
}

#[test]
fn files_are_counted_tensor_by_tensor() {
    let model = opened(
        Container::Gguf,
        vec![
            tensor("token_embd.weight", [4096, 100, 1, 1], Type::F16),
            tensor("blk.0.attn_q.weight", [4096, 50, 1, 1], Type::F16),
            tensor("blk.0.attn_norm.weight", [4096, 1, 1, 1], Type::F32),
            tensor("\u{1b}]0;x\u{7}", [1, 1, 1, 1], Type::F32),
        ],
    );
    let files = vec![Entry {
        name: "m.gguf".to_owned(),
        bytes: 1_300_000,
    }];
    let inspection = Inspection::new(&model, files);
    keeps_schema(&validator(), &inspection);
    assert_eq!(inspection.certainty, Certainty::Exact);
    assert_eq!(inspection.params_total, 4096 * 151 + 1);
    let bytes = 4096 * 150 * 2 + 4096 * 4 + 4;
    assert_eq!(inspection.tensor_bytes, Some(Bytes::new(bytes)));
    let kinds: Vec<(&str, u64)> = inspection
        .by_kind
        .iter()
        .map(|share| (share.name.as_str(), share.tensors.unwrap()))
        .collect();
    assert_eq!(
        kinds,
        [
            ("embedding", 1),
            ("attention", 1),
            ("norms", 1),
            ("other", 1)
        ]
    );
    let types: Vec<&str> = inspection
        .by_type
        .iter()
        .map(|share| share.name.as_str())
        .collect();
    assert_eq!(types, ["f16", "f32"]);
    let bits = 8.0 * bytes as f64 / f64::from(4096 * 151 + 1);
    assert!((inspection.bits_per_weight.unwrap() - bits).abs() < 1e-9);
}

/// Eight four-bit weights in each element: the configuration knows how many weights there are.
#[test]
fn packed_weights_are_counted_by_the_configuration() {
    let mut packed = tensor(
        "model.layers.0.mlp.up_proj.qweight",
        [512, 12288, 1, 1],
        Type::F32,
    );
    packed.kind = None;
    packed.role = TensorRole::Opaque;
    packed.type_name = Cow::Borrowed("I32");
    let inspection = Inspection::new(&opened(Container::Safetensors, vec![packed]), Vec::new());
    assert_eq!(
        inspection.params_total,
        preset("Qwen3-8B").parameters().total()
    );
}

/// Archives are not looked into: their bytes are known, what they hold is what the configuration says.
#[test]
fn archives_are_counted_by_the_configuration() {
    let archive = FileTensor {
        name: "pytorch_model.bin".to_owned(),
        shape: [0, 1, 1, 1],
        kind: None,
        type_name: Cow::Borrowed("PyTorch"),
        bytes: Bytes::from_gib(15),
        role: TensorRole::Opaque,
    };
    let inspection = Inspection::new(&opened(Container::PyTorch, vec![archive]), Vec::new());
    assert_eq!(inspection.certainty, Certainty::Configuration);
    assert_eq!(inspection.tensor_bytes, Some(Bytes::from_gib(15)));
    let described = preset("Qwen3-8B").parameters();
    assert_eq!(inspection.params_total, described.total());
    assert_eq!(inspection.params_active, described.active());
}

#[test]
fn absurd_tensors_saturate() {
    let huge = FileTensor {
        bytes: Bytes::new(u64::MAX),
        ..tensor("blk.0.ffn_up_exps.weight", [1 << 40, 1, 1, 1], Type::F32)
    };
    let mut huger = huge.clone();
    huger.shape = [u64::MAX; 4];
    let mut model = opened(Container::Gguf, vec![huge, huger]);
    model.assumptions.push("something".to_owned());
    let inspection = Inspection::new(&model, Vec::new());
    assert_eq!(inspection.params_total, u64::MAX);
    assert_eq!(inspection.certainty, Certainty::Assumed);
}
