//! Rows of what llama.cpp's own fit chooses (`tests/data/oracle/llamacpp_fit.jsonl`), as machines and settings.

use plimsoll::hardware::Machine;
use plimsoll::plan::{Settings, Value};
use plimsoll::units::Bytes;
use serde_json::Value as Json;

use crate::modelled::machine;

pub(crate) const ROWS: &str = include_str!("../data/oracle/llamacpp_fit.jsonl");

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

/// The trained context in the measured files of Qwen2.5 is the one with YaRN; presets have the native one.
pub(crate) fn trained_context(row: &Json) -> Option<u64> {
    let name = row["model"].as_str().unwrap_or_default();
    name.starts_with("qwen2.5").then_some(131_072)
}
