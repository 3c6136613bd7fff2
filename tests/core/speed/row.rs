//! One published measurement, resolved to a preset, a file type, catalogue cards and settings.

use plimsoll::catalog::gpus::GpuCatalog;
use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::traffic::Traffic;
use plimsoll::engine::{self, Inputs, Memo};
use plimsoll::hardware::{Gpu, Machine, Os};
use plimsoll::plan::{Settings, Value};
use plimsoll::units::{Bytes, GIB};
use serde::Deserialize;

use crate::modelled::machine;

/// A row of `tests/data/oracle/speed.jsonl`: figures as published, names as resolved. It also keeps the published names,
/// the build and its date, the backend and the computer, which settings of a plan do not tell.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Row {
    pub(crate) id: u64,
    pub(crate) source: String,
    pub(crate) preset: String,
    pub(crate) weights: String,
    pub(crate) file_gib: Option<f64>,
    pub(crate) gpus: Vec<String>,
    pub(crate) ubatch: Option<i64>,
    pub(crate) cache_type_k: Option<String>,
    pub(crate) cache_type_v: Option<String>,
    /// Bandwidth of main memory, where part of the model is there.
    pub(crate) ram_gb_s: Option<f64>,
    /// Layers whose experts are in main memory.
    pub(crate) n_cpu_moe: Option<i64>,
    /// How good the source is: "bench" is a benchmark's own output.
    pub(crate) trust: String,
    pub(crate) depth: u64,
    pub(crate) batch: u64,
    /// Tokens per second decoded, all streams together.
    pub(crate) tg: Option<f64>,
    /// Tokens per second of the prompt.
    pub(crate) pp: Option<f64>,
    pub(crate) pp_len: Option<u64>,
}

/// Catalogues and memory of earlier rows.
pub(crate) struct Bench {
    models: ModelCatalog,
    gpus: GpuCatalog,
    memo: Memo,
}

pub(crate) fn rows() -> Vec<Row> {
    include_str!("../../data/oracle/speed.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect()
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            models: ModelCatalog::embedded(),
            gpus: GpuCatalog::embedded().expect("catalogue"),
            memo: Memo::default(),
        }
    }

    fn gpu(&self, name: &str) -> Gpu {
        let preset = self.gpus.find(name).expect("a card of the catalogue");
        preset.gpu(Os::Linux, Bytes::from_gib(128))
    }

    /// Does the row's model route tokens to experts?
    pub(crate) fn has_experts(&self, row: &Row) -> bool {
        let preset = self.models.find(&row.preset).expect("a preset");
        let model = preset.model(&serde_json::Map::default()).expect("a model");
        let mut layers = model.layers.iter();
        layers.any(|layer| matches!(layer.feed_forward, plimsoll::model::FeedForward::Experts(_)))
    }

    /// The machine of a row.
    pub(crate) fn machine(&self, row: &Row) -> Machine {
        let mut machine = machine(&[], (0, 0));
        machine.host.bandwidth_gb_s = row.ram_gb_s;
        machine.gpus = row.gpus.iter().map(|name| self.gpu(name)).collect();
        machine
    }

    /// What the engine reads in a row, its weights as large as the published file.
    pub(crate) fn traffic(&self, row: &Row, machine: &Machine) -> Traffic {
        let preset = self.models.find(&row.preset).expect("a preset");
        let model = preset.model(&serde_json::Map::default()).expect("a model");
        let number = |number: u64| Value::Integer(i64::try_from(number).unwrap());
        let mut settings = Settings::new();
        let mut set = |name: &str, value| settings.insert(name.to_owned(), value);
        set("weights", Value::Text(row.weights.clone()));
        set("imatrix", Value::Bool(true));
        set("n_gpu_layers", Value::Text("all".to_owned()));
        set("ctx_size", number((row.depth + 1024) * row.batch));
        set("parallel", number(row.batch));
        set("kv_unified", Value::Bool(false));
        for (name, value) in [("ubatch_size", row.ubatch), ("n_cpu_moe", row.n_cpu_moe)] {
            if let Some(number) = value {
                set(name, Value::Integer(number));
            }
        }
        for (name, value) in [
            ("cache_type_k", &row.cache_type_k),
            ("cache_type_v", &row.cache_type_v),
        ] {
            if let Some(word) = value {
                set(name, Value::Text(word.clone()));
            }
        }
        let inputs = Inputs {
            model: &model,
            draft: None,
            machine,
            settings: &settings,
            margin: engine::Margin::DEFAULT,
            memo: &self.memo,
        };
        let engine = engine::find("llama.cpp").unwrap();
        let mut traffic = engine.traffic(&inputs).expect("the engine would start");
        if let Some(gib) = row.file_gib {
            let published = Bytes::new((gib * GIB as f64) as u64);
            scale(&mut traffic, published);
        }
        traffic
    }
}

/// The mixtures that publishers make differ from those of the quantizer: the file's size is what counts.
fn scale(traffic: &mut Traffic, published: Bytes) {
    let own = traffic.file_bytes.get();
    let devices = traffic.gpus.iter_mut().chain([&mut traffic.host]);
    for read in devices.flat_map(|device| &mut device.weights) {
        read.bytes = read.bytes.mul_ratio(published.get(), own);
    }
    traffic.file_bytes = published;
}
