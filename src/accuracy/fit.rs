//! What llama.cpp's own fit chooses, against the projection's automatic choices.

use serde_json::Value as Json;

use crate::catalog::models::ModelCatalog;
use crate::engine::llamacpp::LlamaCpp;
use crate::engine::{Engine as _, Inputs, Margin};
use crate::hardware::Machine;
use crate::plan::{Settings, Value};
use crate::units::Bytes;

use super::row::{file_type, modelled};
use super::{Accuracy, Outcome};

/// One choice of each side.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Model and settings.
    pub name: String,
    /// What the engine chose.
    pub engine: Chosen,
    /// What the projection says it would.
    pub projected: Chosen,
}

impl Decision {
    /// Is it the same?
    pub fn agrees(&self) -> bool {
        self.engine == self.projected
    }
}

/// What a fit decides, in words that compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Context in tokens, of all slots.
    pub context: i64,
    /// A number, or "all".
    pub layers: String,
    /// Layers per GPU; empty where the split is left alone.
    pub split: Vec<i64>,
    /// Tensor overrides as on a command line, by block.
    pub overrides: Vec<String>,
}

impl Accuracy {
    pub(super) fn fit(&mut self, row: &Json, catalog: &ModelCatalog) -> Outcome<Decision> {
        let Some(question) = Question::parse(row) else {
            return Outcome::NotThis;
        };
        let Some(model) = self
            .model(&question.preset, question.trained, catalog)
            .cloned()
        else {
            return Outcome::NoPreset(question.preset);
        };
        let outcome = LlamaCpp.project(&Inputs {
            model: &model,
            draft: None,
            machine: &question.machine,
            settings: &question.settings,
            margin: question.margin,
            memo: &self.memo,
        });
        Outcome::Compared(Decision {
            name: question.name,
            engine: reported(row.get("fit").unwrap_or(&Json::Null)),
            projected: chosen(&outcome.resolved),
        })
    }
}

/// A row without its answer.
#[derive(Clone, Debug)]
pub struct Question {
    /// Model and settings.
    pub name: String,
    /// Id of the model's preset.
    pub preset: String,
    /// Trained context of the measured file, where it is another one than the preset's.
    pub trained: Option<u64>,
    /// The cards that were free.
    pub machine: Machine,
    /// As a plan writes them.
    pub settings: Settings,
    /// To be kept free.
    pub margin: Margin,
}

impl Question {
    /// Reads a row; `None` where it is of another kind.
    pub fn parse(row: &Json) -> Option<Self> {
        let word = |name: &str| row.get(name).and_then(Json::as_str);
        let set = row.get("settings").or_else(|| row.get("set"))?;
        let number = |name: &str| set.get(name).and_then(Json::as_i64);
        let types = word("tensor_types").or_else(|| word("types"))?;
        let measured = word("model").unwrap_or_default();
        let cards = set.get("free_MiB_per_gpu")?.as_array()?.iter();
        let cards: Vec<Bytes> = cards
            .filter_map(Json::as_u64)
            .map(Bytes::from_mib)
            .collect();
        let mut settings = Settings::new();
        let mut put = |name: &str, value: Value| settings.insert(name.to_owned(), value);
        // These rows were measured with the library's defaults, among which is a full-size window cache; the server
        // turns that off (`common/common.h`), and so does the engine description here.
        put("swa_full", Value::Bool(true));
        put("weights", Value::Text(file_type(types).to_owned()));
        if let Some(context) = number("ctx_size").filter(|context| *context > 0) {
            put("ctx_size", Value::Integer(context));
        }
        for (own, theirs) in [
            ("ubatch_size", "ubatch"),
            ("batch_size", "batch"),
            ("n_outputs_max", "n_outputs_max"),
            ("parallel", "parallel"),
            ("fit_ctx", "fit_ctx"),
        ] {
            if let Some(number) = number(theirs) {
                put(own, Value::Integer(number));
            }
        }
        if number("kv_unified") == Some(1) {
            put("kv_unified", Value::Bool(true));
        }
        if let Some(kind) = set.get("cache_type").and_then(Json::as_str) {
            put("cache_type_k", Value::Text(kind.to_owned()));
            put("cache_type_v", Value::Text(kind.to_owned()));
        }
        let margin = number("fit_target_MiB").and_then(|mib| u64::try_from(mib).ok());
        Some(Self {
            name: format!("{measured} {types} {set}"),
            preset: word("preset").unwrap_or(measured).to_owned(),
            // Measured files of Qwen2.5 have the context with YaRN, presets the native one.
            trained: measured.starts_with("qwen2.5").then_some(131_072),
            machine: modelled(&cards, (8, 9)),
            settings,
            margin: margin.map_or(Margin::DEFAULT, |mib| Margin::Bytes(Bytes::from_mib(mib))),
        })
    }
}

fn reported(fit: &Json) -> Chosen {
    let split = fit.get("tensor_split").and_then(Json::as_array);
    let split: Vec<i64> = split
        .into_iter()
        .flatten()
        .filter_map(Json::as_f64)
        .map(|share| share.round() as i64)
        .collect();
    Chosen {
        context: fit.get("ctx_size").and_then(Json::as_i64).unwrap_or(0),
        layers: match fit.get("n_gpu_layers") {
            Some(Json::Number(layers)) => layers.to_string(),
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
    let list = |value: &Json, name: &str| -> Vec<Json> {
        let list = value.get(name).and_then(Json::as_array);
        list.cloned().unwrap_or_default()
    };
    let mut rules: Vec<(u64, String)> = Vec::new();
    for rule in list(fit, "overrides") {
        let word = |name: &str| rule.get(name).and_then(Json::as_str).unwrap_or_default();
        let (pattern, buffer) = (word("pattern_after_block"), word("buffer"));
        for block in list(&rule, "blocks") {
            let block = block.as_u64().unwrap_or_default();
            rules.push((block, format!(r"blk\.{block}{pattern}={buffer}")));
        }
    }
    rules.sort();
    rules.into_iter().map(|(_, rule)| rule).collect()
}

fn chosen(resolved: &Settings) -> Chosen {
    let list = |name: &str| match resolved.get(name) {
        Some(Value::List(items)) => items.as_slice(),
        _ => &[],
    };
    let integer = |value: &Value| match value {
        Value::Integer(number) => *number,
        _ => 0,
    };
    Chosen {
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
