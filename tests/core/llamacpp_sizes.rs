//! Model files by file type: tensor bytes and the type of each kind of tensor, against what llama.cpp's quantizer says.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::engine::llamacpp::tensors::TensorTable;
use plimsoll::model::Model;
use serde_json::Value;

/// Presets whose rows may differ, and why.
const EXCEPTIONS: [(&str, &str); 1] = [(
    "Falcon-H1-7B-Instruct",
    "the measured file has 130,048 words where the published model has 130,049, and a suffix on `ffn_norm` that the loader does not ask for",
)];

/// One row of the oracle.
#[derive(serde::Deserialize)]
struct Case {
    preset: String,
    ftype: String,
    imatrix: bool,
    imatrix_required: bool,
    n_params: u64,
    tensor_bytes: u64,
    n_fallback: usize,
    kinds: BTreeMap<String, Value>,
    #[serde(default)]
    no_preset: bool,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn preset(id: &str) -> Model {
    let preset = ModelCatalog::embedded().find(id).expect(id);
    preset.model(&serde_json::Map::new()).expect(id)
}

/// Types per kind of tensor, as the oracle writes them.
fn kinds(table: &TensorTable) -> BTreeMap<String, Value> {
    let mut counts: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for row in &table.rows {
        let name = &row.tensor.name;
        let kind = match name
            .strip_prefix("blk.")
            .and_then(|tail| tail.split_once('.'))
        {
            Some((_, tail)) => format!("blk.*.{tail}"),
            None => name.clone(),
        };
        *counts
            .entry(kind)
            .or_default()
            .entry(row.kind.name().to_uppercase())
            .or_default() += 1;
    }
    counts
        .into_iter()
        .map(|(kind, types)| {
            let value = if types.len() == 1 {
                types.keys().next().cloned().into()
            } else {
                serde_json::to_value(&types).expect("a map")
            };
            (kind, value)
        })
        .collect()
}

/// What differs between the row and our table, in words; empty where nothing does.
fn differences(case: &Case, table: &TensorTable) -> String {
    let mut text = String::new();
    if table.elements() != case.n_params {
        write!(
            text,
            " parameters {} not {};",
            table.elements(),
            case.n_params
        )
        .expect("text");
    }
    if table.requires_imatrix != case.imatrix_required && !case.imatrix {
        write!(text, " imatrix required: {};", table.requires_imatrix).expect("text");
    }
    // The oracle counted warnings, the summary that follows any of them included.
    let fallbacks = case.n_fallback.saturating_sub(1);
    if table.fallbacks != fallbacks {
        write!(text, " fallbacks {} not {fallbacks};", table.fallbacks).expect("text");
    }
    let ours = kinds(table);
    let names: std::collections::BTreeSet<&String> = ours.keys().chain(case.kinds.keys()).collect();
    for name in names {
        let (mine, theirs) = (ours.get(name), case.kinds.get(name));
        if mine != theirs {
            let show = |value: Option<&Value>| value.map_or("none".to_owned(), Value::to_string);
            write!(text, " {name} {} not {};", show(mine), show(theirs)).expect("text");
        }
    }
    text
}

#[test]
fn file_sizes_are_those_of_the_quantizer() {
    let text = std::fs::read_to_string(root().join("tests/data/oracle/llamacpp_sizes.jsonl"))
        .expect("the oracle");
    let cases: Vec<Case> = text
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect();
    let mut models: BTreeMap<String, Model> = BTreeMap::new();
    let (mut rows, mut within, mut exact, mut same) = (0, 0, 0, 0);
    let mut worst = 0.0_f64;
    let mut unexplained: Vec<String> = Vec::new();
    for case in cases.iter().filter(|case| !case.no_preset) {
        rows += 1;
        let model = models
            .entry(case.preset.clone())
            .or_insert_with(|| preset(&case.preset));
        let file_type: FileType = case.ftype.parse().expect("a file type");
        let table = TensorTable::new(model, file_type, case.imatrix).expect("a file");
        let bytes = table.file_bytes().get();
        let error = bytes as f64 / case.tensor_bytes as f64 - 1.0;
        worst = worst.max(error.abs());
        within += u32::from(error.abs() <= 0.001);
        exact += u32::from(bytes == case.tensor_bytes);
        let differences = differences(case, &table);
        same += u32::from(differences.is_empty());
        if bytes != case.tensor_bytes || !differences.is_empty() {
            let row = format!(
                "{} {}{}: {:+.4} %{differences}",
                case.preset,
                case.ftype,
                if case.imatrix { " imatrix" } else { "" },
                100.0 * error,
            );
            match EXCEPTIONS.iter().find(|(id, _)| *id == case.preset) {
                Some((_, reason)) => println!("{row} ({reason})"),
                None => unexplained.push(row),
            }
        }
    }
    println!(
        "{rows} rows: {within} within 0.1 %, {exact} to the byte, {same} with every type; worst {:.4} %",
        100.0 * worst
    );
    assert!(rows > 1_000);
    assert!(unexplained.is_empty(), "{unexplained:#?}");
    assert!(f64::from(within) >= 0.99 * f64::from(rows));
}

/// What files hold beyond the parameters a publisher counts, and why.
const BEYOND: [(&str, u64, &str); 9] = [
    ("NVIDIA-Nemotron-3-Nano-30B-A3B", 2_944, ROUTER_BIAS),
    ("NVIDIA-Nemotron-3-Super-120B-A12B", 20_480, ROUTER_BIAS),
    ("NVIDIA-Nemotron-3-Ultra-550B-A55B", 24_576, ROUTER_BIAS),
    ("gemma-3n-E2B-it", 1_966_080, PADDED_TABLE),
    ("gemma-3n-E4B-it", 2_293_760, PADDED_TABLE),
    ("gemma-4-26B-A4B-it", 30, LAYER_SCALE),
    ("gemma-4-31B-it", 60, LAYER_SCALE),
    ("gemma-4-E2B-it", 35, LAYER_SCALE),
    ("gemma-4-E4B-it", 42, LAYER_SCALE),
];
const ROUTER_BIAS: &str = "checkpoints keep the routers' biases as buffers";
const PADDED_TABLE: &str = "the per-layer table is padded to the rows of the embedding";
const LAYER_SCALE: &str = "checkpoints keep the layers' scales as buffers";

#[test]
fn files_hold_the_parameters_of_their_models() {
    let mut unsupported = Vec::new();
    let mut wrong = Vec::new();
    let mut ids: Vec<String> = ModelCatalog::embedded().ids().map(str::to_owned).collect();
    ids.sort();
    for id in ids {
        let model = preset(&id);
        let Ok(table) = TensorTable::new(&model, FileType::F16, false) else {
            unsupported.push(id);
            continue;
        };
        let parameters = model.parameters();
        let held = |loaded: bool| {
            table
                .rows
                .iter()
                // Tables of rotary factors are computed, not trained.
                .filter(|row| row.tensor.loaded == loaded && !row.tensor.name.starts_with("rope_f"))
                .map(|row| row.tensor.elements())
                .sum::<u64>()
        };
        let beyond = BEYOND.iter().find(|(preset, ..)| *preset == id);
        let expected = parameters.text() + parameters.hash_tables + beyond.map_or(0, |row| row.1);
        let (main, mtp) = (held(true), held(false));
        if main != expected || (mtp != 0 && mtp != parameters.mtp) {
            wrong.push(format!(
                "{id}: {main} of {expected}, MTP {mtp} of {}",
                parameters.mtp
            ));
        }
        if let Some((id, elements, reason)) = beyond {
            println!("{id}: {elements} more ({reason})");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // No decoders, and a decoder without a converter.
    assert_eq!(
        unsupported,
        [
            "bert-base-uncased",
            "bert-large-uncased",
            "deepseek-vl2-tiny",
            "resnet-152",
            "resnet-50"
        ]
    );
}

/// Files that publishers' converters wrote: elements as published, prediction blocks included where the file has them.
#[test]
fn prediction_blocks_are_in_the_files_that_have_them() {
    for (id, blocks, elements) in [
        ("GLM-4.5", 93, 358_337_791_296),
        ("GLM-4.6", 93, 356_785_898_816),
        ("GLM-4.5-Air", 47, 110_468_824_832),
        ("DeepSeek-V3", 61, 671_026_419_200),
        ("Qwen3.5-27B", 64, 26_895_998_464),
    ] {
        let table = TensorTable::new(&preset(id), FileType::Q4_K_M, false).expect("a file");
        assert_eq!(
            (table.all_blocks, table.elements()),
            (blocks, elements),
            "{id}"
        );
    }
}
