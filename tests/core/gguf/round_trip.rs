//! Files as a converter writes them for presets, read back.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::engine::llamacpp::tensors::TensorTable;
use plimsoll::model::{Model, from_config};
use plimsoll::quant::Type;
use plimsoll::source::gguf;
use serde_json::{Map, Value, json};

use super::file::{Folder, Sparse, Writer};

/// What a converter writes for a preset, or for a published model that is none.
#[derive(serde::Deserialize)]
pub(crate) struct Written {
    #[serde(alias = "model")]
    pub(crate) preset: String,
    pub(crate) kv: Map<String, Value>,
    /// The configuration of what is no preset.
    #[serde(default)]
    pub(crate) config: Option<Value>,
    /// Parameters that its checkpoint holds.
    #[serde(default)]
    parameters: Option<u64>,
}

impl Written {
    /// The model as it is published.
    pub(crate) fn published(&self) -> Model {
        match &self.config {
            Some(config) => from_config(&self.preset, config, &Map::new()).expect(&self.preset),
            None => preset(&self.preset),
        }
    }
}

/// Of every preset, and of models of further architectures.
pub(crate) fn all() -> Vec<Written> {
    let mut all = rows("metadata.jsonl");
    all.extend(rows("architectures.jsonl"));
    all
}

pub(crate) fn rows(file: &str) -> Vec<Written> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/gguf")
        .join(file);
    let text = std::fs::read_to_string(path).expect("the data");
    text.lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect()
}

pub(crate) fn preset(id: &str) -> Model {
    let preset = ModelCatalog::embedded().find(id).expect(id);
    preset.model(&Map::new()).expect(id)
}

pub(crate) fn opened(keys: &Map<String, Value>, table: &TensorTable) -> Model {
    let mut writer = Writer::with(keys);
    let folder = Folder::of("m.gguf", writer.table(table).file());
    let file = gguf::read(&folder, "m.gguf").expect("a file");
    assert_eq!(file.kind, gguf::Kind::Model);
    assert_eq!(file.checkpoint.bytes, table.file_bytes());
    file.model(&Map::new()).expect("a model")
}

/// What no projection of the main model depends on: names, towers (in files of their own), prediction blocks where
/// converters leave them out.
fn plain(mut model: Model) -> Model {
    model.name.clear();
    model.model_type.clear();
    model.architecture.clear();
    model.wrapper_type = None;
    model.vision = None;
    model.audio = None;
    model.mtp = None;
    // Converters write what they take the context to be; the file's is what engines use.
    model.context_length = 0;
    model.max_position_embeddings = 0;
    model.checkpoint = None;
    model.stores_tied_head = false;
    model.configuration = plimsoll::model::Configuration::default();
    model.quantization = None;
    model.assumptions.clear();
    model.fingerprint = 0;
    model
}

fn differ<T: Debug>(found: &mut Vec<String>, field: &str, ours: T, theirs: T) {
    let (ours, theirs) = (format!("{ours:?}"), format!("{theirs:?}"));
    if ours != theirs {
        // From the first letter that differs, with a little before it.
        let same = ours.bytes().zip(theirs.bytes()).take_while(|(a, b)| a == b);
        let from = same.count().saturating_sub(60);
        let part = |text: &str| text.chars().skip(from).take(160).collect::<String>();
        found.push(format!("{field}: …{} not …{}", part(&ours), part(&theirs)));
    }
}

/// Fields in which two models differ.
fn differences(ours: &Model, theirs: &Model) -> Vec<String> {
    let mut found = Vec::new();
    differ(&mut found, "hidden", ours.hidden_size, theirs.hidden_size);
    differ(&mut found, "layers", ours.layers.len(), theirs.layers.len());
    for (index, (ours, theirs)) in ours.layers.iter().zip(&theirs.layers).enumerate() {
        differ(
            &mut found,
            &format!("layer {index} mixer"),
            &ours.mixer,
            &theirs.mixer,
        );
        differ(
            &mut found,
            &format!("layer {index} network"),
            &ours.feed_forward,
            &theirs.feed_forward,
        );
        differ(
            &mut found,
            &format!("layer {index} norms"),
            ours.norms,
            theirs.norms,
        );
        if !found.is_empty() {
            break;
        }
    }
    let without = |model: &Model| Model {
        layers: Vec::new(),
        ..model.clone()
    };
    differ(&mut found, "outside", without(ours), without(theirs));
    found
}

/// Presets whose file says something else than their configuration, the field that differs, and why that is right.
const EXCEPTIONS: [(&str, &str, &str); 4] = [
    ("starcoder2-3b", "layer 0 mixer", NO_WINDOW),
    ("starcoder2-15b", "layer 0 mixer", NO_WINDOW),
    ("gemma-3n-E2B-it", "outside", PADDED_TABLE),
    ("gemma-3n-E4B-it", "outside", PADDED_TABLE),
];
const NO_WINDOW: &str = "the converter leaves out the window, which the engine does not use";
const PADDED_TABLE: &str = "the per-layer table is padded to the rows of the embedding";

#[test]
fn files_of_all_presets_open_as_their_models() {
    let mut wrong = Vec::new();
    let mut read = 0;
    for row in all() {
        let published = row.published();
        let Written { preset: id, kv, .. } = row;
        let Ok(table) = TensorTable::new(&published, FileType::Q8_0, false) else {
            println!("{id}: no file for the engine");
            continue;
        };
        let model = opened(&kv, &table);
        read += 1;
        for sentence in &model.assumptions {
            wrong.push(format!("{id}: assumes: {sentence}"));
        }
        let architecture = kv["general.architecture"].as_str().expect("a name");
        let context = kv[&format!("{architecture}.context_length")].as_u64();
        assert_eq!(Some(model.context_length), context, "{id}");
        let again = TensorTable::new(&model, FileType::Q8_0, false).expect("a table");
        assert_eq!(again.architecture.name(&model), architecture, "{id}");
        if again.rows != table.rows {
            wrong.push(format!("{id}: other tensors"));
        }
        // Files of some architectures keep their prediction blocks.
        let kept = if table.all_blocks > table.blocks {
            published.mtp.clone()
        } else {
            None
        };
        if model.mtp != kept {
            wrong.push(format!("{id}: prediction {:?} not {kept:?}", model.mtp));
        }
        for difference in differences(&plain(model), &plain(published)) {
            match EXCEPTIONS
                .iter()
                .find(|(preset, field, _)| *preset == id && difference.starts_with(field))
            {
                Some((.., reason)) => println!("{id}: {difference} ({reason})"),
                None => wrong.push(format!("{id}: {difference}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read > 150, "{read}");
}

#[test]
fn further_architectures_hold_the_published_parameters() {
    let mut names = BTreeMap::new();
    for row in rows("architectures.jsonl") {
        let published = row.published();
        let name = &row.preset;
        assert!(
            published.assumptions.is_empty(),
            "{:?}",
            published.assumptions
        );
        assert_eq!(
            Some(published.stored_parameters()),
            row.parameters,
            "{name}"
        );
        let architecture = row.kv["general.architecture"].as_str().expect("a name");
        *names.entry(architecture.to_owned()).or_insert(0) += 1;
    }
    assert_eq!(names.len(), 12, "{names:?}");
}

/// One row of the oracle of sizes.
#[derive(serde::Deserialize)]
struct Size {
    preset: String,
    ftype: String,
    imatrix: bool,
    tensor_bytes: u64,
    /// Types per kind of tensor: a name, or a count for each where layers differ.
    kinds: BTreeMap<String, Value>,
}

/// The oracle's file has another number of words than the published model.
const OTHER_WORDS: (&str, u64) = ("Falcon-H1-7B-Instruct", 130_048);

/// A model of the oracle that is no preset.
const NO_PRESET: &str = "minicpm3-4b";

/// Its tensors (`openbmb/MiniCPM3-4B` `config.json`: 62 layers, width 2560, 40 heads of 64 + 32, ranks 768 and 256),
/// widths as GGUF has them, fastest first.
const MINICPM3: [(&str, &[u64]); 17] = [
    ("token_embd.weight", &[2560, 73_448]),
    ("output.weight", &[2560, 73_448]),
    ("output_norm.weight", &[2560]),
    ("rope_factors_long.weight", &[16]),
    ("rope_factors_short.weight", &[16]),
    ("blk.*.attn_norm.weight", &[2560]),
    ("blk.*.attn_q_a.weight", &[2560, 768]),
    ("blk.*.attn_q_a_norm.weight", &[768]),
    ("blk.*.attn_q_b.weight", &[768, 40 * 96]),
    ("blk.*.attn_kv_a_mqa.weight", &[2560, 256 + 32]),
    ("blk.*.attn_kv_a_norm.weight", &[256]),
    ("blk.*.attn_kv_b.weight", &[256, 40 * 128]),
    ("blk.*.attn_output.weight", &[40 * 64, 2560]),
    ("blk.*.ffn_norm.weight", &[2560]),
    ("blk.*.ffn_gate.weight", &[2560, 6400]),
    ("blk.*.ffn_up.weight", &[2560, 6400]),
    ("blk.*.ffn_down.weight", &[6400, 2560]),
];
const MINICPM3_LAYERS: u64 = 62;

/// The file of a row without a preset: its tensors with the types that the row has. Which layer has which type makes no
/// difference to their sum.
fn of_kinds(size: &Size) -> Sparse {
    assert_eq!(size.preset, NO_PRESET);
    let mut writer = Writer::new();
    writer.key("general.architecture", &json!("minicpm3"));
    for (name, shape) in MINICPM3 {
        let layers = if name.contains('*') {
            MINICPM3_LAYERS
        } else {
            1
        };
        let kinds = match &size.kinds[name] {
            Value::String(kind) => vec![(kind.clone(), layers)],
            Value::Object(counts) => counts
                .iter()
                .map(|(kind, count)| (kind.clone(), count.as_u64().expect("a count")))
                .collect(),
            other => panic!("{name}: {other}"),
        };
        let kinds = kinds
            .into_iter()
            .flat_map(|(kind, count)| std::iter::repeat_n(kind, count as usize));
        let mut written = 0;
        for (layer, kind) in kinds.enumerate() {
            let kind: Type = kind.parse().expect("a type");
            let bytes = kind.shape_bytes(shape).expect("whole blocks").get();
            let name = name.replace('*', &layer.to_string());
            writer.tensor(&name, shape, kind.ggml_id(), bytes);
            written += 1;
        }
        assert_eq!(written, layers, "{name}");
    }
    assert_eq!(size.kinds.len(), MINICPM3.len());
    writer.file()
}

/// The file of a row with a preset, as a converter and the quantizer would write it.
fn of_preset(size: &Size, keys: &BTreeMap<String, Map<String, Value>>) -> Sparse {
    let mut overrides = Map::new();
    if size.preset == OTHER_WORDS.0 {
        overrides.insert("vocab_size".to_owned(), OTHER_WORDS.1.into());
    }
    let preset = ModelCatalog::embedded()
        .find(&size.preset)
        .expect("a preset");
    let model = preset.model(&overrides).expect("a model");
    let file_type: FileType = size.ftype.parse().expect("a file type");
    let table = TensorTable::new(&model, file_type, size.imatrix).expect("a table");
    let keys = keys.get(&size.preset).expect("its keys");
    Writer::with(keys).table(&table).file()
}

/// Every architecture of the oracle of sizes, every row of it: a synthetic file whose header is real and whose tensors
/// take no room opens with the tensor bytes that llama.cpp's quantizer counted.
#[test]
fn sizes_are_those_of_the_quantizer() {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/oracle/llamacpp_sizes.jsonl");
    let text = std::fs::read_to_string(path).expect("the oracle");
    let keys: BTreeMap<String, Map<String, Value>> = rows("metadata.jsonl")
        .into_iter()
        .map(|row| (row.preset, row.kv))
        .collect();
    let mut architectures: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in text.lines().skip(1) {
        let size: Size = serde_json::from_str(line).expect("a row");
        let file = if size.preset == NO_PRESET {
            of_kinds(&size)
        } else {
            of_preset(&size, &keys)
        };
        let name = format!("m-{}.gguf", size.ftype);
        let file = gguf::read(&Folder::of(&name, file), &name).expect("a file");
        let bytes = file.checkpoint.bytes.get();
        if bytes != size.tensor_bytes {
            let Size {
                preset,
                ftype,
                tensor_bytes,
                ..
            } = &size;
            wrong.push(format!("{preset} {ftype}: {bytes} not {tensor_bytes}"));
        }
        // What the quantizer made of it is what its name says.
        if size.preset != NO_PRESET && size.preset != OTHER_WORDS.0 {
            let label = file.checkpoint.label.as_deref();
            assert_eq!(label, Some(size.ftype.as_str()), "{}", size.preset);
        }
        let architecture = file.metadata.text("general.architecture").expect("one");
        *architectures.entry(architecture.to_owned()).or_default() += 1;
    }
    println!("{architectures:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let names: Vec<&str> = architectures.keys().map(String::as_str).collect();
    assert_eq!(names, MEASURED);
    assert_eq!(architectures.values().sum::<usize>(), ROWS);
}

/// Architectures of the oracle: all that it measured are opened.
const MEASURED: [&str; 17] = [
    "deepseek2",
    "deepseek32",
    "deepseek4",
    "falcon-h1",
    "gemma2",
    "gemma3",
    "glm4moe",
    "gpt-oss",
    "llama",
    "minicpm3",
    "nemotron_h_moe",
    "phi3",
    "qwen2",
    "qwen3",
    "qwen35",
    "qwen35moe",
    "qwen3moe",
];

/// Rows of the oracle.
const ROWS: usize = 1_254;
