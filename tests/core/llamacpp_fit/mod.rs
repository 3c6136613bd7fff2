//! What llama.cpp's own fit chooses against the projection's resolved settings
//! (`tests/data/oracle/llamacpp_fit.jsonl`).

use plimsoll::engine::Margin;
use plimsoll::engine::llamacpp::LlamaCpp;
use plimsoll::engine::{Engine as _, Inputs, Memo};
use plimsoll::hardware::Machine;
use plimsoll::plan::{Settings, Value};
use plimsoll::units::Bytes;
use serde_json::Value as Json;

use crate::llamacpp_mem::row::{machine, preset_with};

pub(crate) const ROWS: &str = include_str!("../../data/oracle/llamacpp_fit.jsonl");

/// What a fit decides, in words that compare.
#[derive(Debug, PartialEq)]
struct Decision {
    context: i64,
    layers: String,
    split: Vec<i64>,
    overrides: Vec<String>,
}

fn reported(row: &Json) -> Decision {
    let fit = &row["fit"];
    let split: Vec<i64> = fit["tensor_split"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_f64)
        .map(|share| share.round() as i64)
        .collect();
    Decision {
        context: fit["ctx_size"].as_i64().unwrap_or(0),
        layers: match &fit["n_gpu_layers"] {
            Json::Number(layers) => layers.to_string(),
            _ => "all".to_owned(),
        },
        split: if split.iter().all(|share| *share == 0) {
            Vec::new()
        } else {
            split
        },
        overrides: overrides(fit),
    }
}

/// Rules as they are written on a command line, by block.
fn overrides(fit: &Json) -> Vec<String> {
    let mut rules: Vec<(u64, String)> = Vec::new();
    for rule in fit["overrides"].as_array().into_iter().flatten() {
        let pattern = rule["pattern_after_block"].as_str().unwrap_or_default();
        let buffer = rule["buffer"].as_str().unwrap_or_default();
        for block in rule["blocks"].as_array().into_iter().flatten() {
            let block = block.as_u64().unwrap_or_default();
            rules.push((block, format!(r"blk\.{block}{pattern}={buffer}")));
        }
    }
    rules.sort();
    rules.into_iter().map(|(_, rule)| rule).collect()
}

/// The cards of a row.
pub(crate) fn machine_of(row: &Json) -> Option<Machine> {
    let cards: Vec<Bytes> = row["set"]["free_MiB_per_gpu"]
        .as_array()?
        .iter()
        .filter_map(Json::as_u64)
        .map(Bytes::from_mib)
        .collect();
    Some(machine(&cards, (8, 9)))
}

/// The settings of a row.
pub(crate) fn settings_of(row: &Json) -> Option<Settings> {
    let set = &row["set"];
    let mut settings = Settings::new();
    let mut put = |name: &str, value: Value| {
        settings.insert(name.to_owned(), value);
    };
    let types = match row["types"].as_str()? {
        "MXFP4-native" => "MXFP4_MOE",
        types => types,
    };
    // These rows were measured with the library's defaults, among which is a full-size window cache; the server turns
    // that off (`common/common.h`), and so does the engine description here.
    put("swa_full", Value::Bool(true));
    put("weights", Value::Text(types.to_owned()));
    if let Some(context) = set["ctx_size"].as_i64().filter(|context| *context > 0) {
        put("ctx_size", Value::Integer(context));
    }
    for (own, theirs) in [
        ("ubatch_size", "ubatch"),
        ("batch_size", "batch"),
        ("n_outputs_max", "n_outputs_max"),
        ("parallel", "parallel"),
    ] {
        if let Some(number) = set[theirs].as_i64() {
            put(own, Value::Integer(number));
        }
    }
    if let Some(kind) = set["cache_type"].as_str() {
        put("cache_type_k", Value::Text(kind.to_owned()));
        put("cache_type_v", Value::Text(kind.to_owned()));
    }
    Some(settings)
}

fn projected(row: &Json, memo: &Memo) -> Option<Decision> {
    let model = preset_with(row["preset"].as_str()?, trained_context(row))?;
    let outcome = LlamaCpp.project(&Inputs {
        model: &model,
        draft: None,
        machine: &machine_of(row)?,
        settings: &settings_of(row)?,
        margin: Margin::DEFAULT,
        memo,
    });
    Some(decision(&outcome.resolved))
}

fn decision(resolved: &Settings) -> Decision {
    let list = |name: &str| match resolved.get(name) {
        Some(Value::List(items)) => items.clone(),
        _ => Vec::new(),
    };
    let integer = |value: &Value| match value {
        Value::Integer(number) => *number,
        _ => 0,
    };
    Decision {
        context: resolved.get("ctx_size").map_or(0, integer),
        layers: match resolved.get("n_gpu_layers") {
            Some(Value::Integer(layers)) => layers.to_string(),
            _ => "all".to_owned(),
        },
        split: list("tensor_split").iter().map(integer).collect(),
        overrides: list("override_tensor")
            .iter()
            .map(|rule| match rule {
                Value::Text(rule) => rule.clone(),
                other => format!("{other:?}"),
            })
            .collect(),
    }
}

/// The trained context in the measured files of Qwen2.5 is the one with YaRN; presets have the native one.
pub(crate) fn trained_context(row: &Json) -> Option<u64> {
    let name = row["model"].as_str().unwrap_or_default();
    name.starts_with("qwen2.5").then_some(131_072)
}

#[test]
fn choices_agree_with_the_engine() {
    let memo = Memo::default();
    let (mut rows, mut agree) = (0, 0);
    for text in ROWS.lines() {
        let row: Json = serde_json::from_str(text).expect("a row is JSON");
        let Some(projected) = projected(&row, &memo) else {
            continue;
        };
        rows += 1;
        let reported = reported(&row);
        if projected == reported {
            agree += 1;
        } else {
            println!("{} {} {}", row["model"], row["types"], row["set"]);
            println!("   engine    {reported:?}");
            println!("   projected {projected:?}");
        }
    }
    println!("{agree} of {rows} agree");
    assert!(agree * 100 >= rows * 99, "{agree} of {rows}");
}
