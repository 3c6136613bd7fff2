//! Files as a converter writes them for presets, read back.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::engine::llamacpp::tensors::TensorTable;
use plimsoll::model::Model;
use plimsoll::source::gguf;
use serde_json::{Map, Value};

use super::file::{Folder, Writer};

/// What a converter writes for a preset.
#[derive(serde::Deserialize)]
pub(crate) struct Written {
    pub(crate) preset: String,
    pub(crate) kv: Map<String, Value>,
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
const EXCEPTIONS: [(&str, &str, &str); 2] = [
    ("gemma-3n-E2B-it", "outside", PADDED_TABLE),
    ("gemma-3n-E4B-it", "outside", PADDED_TABLE),
];
const PADDED_TABLE: &str = "the per-layer table is padded to the rows of the embedding";

#[test]
fn files_of_all_presets_open_as_their_models() {
    let mut wrong = Vec::new();
    let mut read = 0;
    for Written { preset: id, kv } in rows("metadata.jsonl") {
        let published = preset(&id);
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

#[derive(serde::Deserialize)]
struct Size {
    preset: String,
    ftype: String,
    imatrix: bool,
    tensor_bytes: u64,
    #[serde(default)]
    no_preset: bool,
}

/// The oracle's file has another number of words and another name than the published model.
const OTHER_FILE: &str = "Falcon-H1-7B-Instruct";

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
    for line in text.lines().skip(1) {
        let size: Size = serde_json::from_str(line).expect("a row");
        if size.no_preset || size.preset == OTHER_FILE {
            continue;
        }
        let file_type: FileType = size.ftype.parse().expect("a file type");
        let table =
            TensorTable::new(&preset(&size.preset), file_type, size.imatrix).expect("a table");
        let keys = keys.get(&size.preset).expect(&size.preset);
        let mut writer = Writer::with(keys);
        let name = format!("m-{}.gguf", size.ftype);
        let folder = Folder::of(&name, writer.table(&table).file());
        let file = gguf::read(&folder, &name).expect("a file");
        // What the quantizer made of it is what its name says.
        assert_eq!(
            file.checkpoint.label.as_deref(),
            Some(size.ftype.as_str()),
            "{}",
            size.preset
        );
        assert_eq!(
            file.checkpoint.bytes.get(),
            size.tensor_bytes,
            "{} {}",
            size.preset,
            size.ftype
        );
        let architecture = file.metadata.text("general.architecture").expect("one");
        *architectures.entry(architecture.to_owned()).or_default() += 1;
    }
    println!("{architectures:?}");
    assert_eq!(architectures.len(), 15, "{architectures:?}");
}
