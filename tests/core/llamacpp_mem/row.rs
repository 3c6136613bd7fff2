//! One row of the oracle, as a plan.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use plimsoll::hardware::{Gpu, GpuMemory, Host, Machine, Os, Vendor};
use plimsoll::model::{Model, from_config};
use plimsoll::plan::{Settings, Value};
use plimsoll::units::Bytes;
use serde_json::{Map, Value as Json, json};

use super::Buffers;

pub(crate) struct Row {
    json: Json,
    pub(crate) arch: String,
    pub(crate) error: Option<String>,
}

/// Families by what their caches and layers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Dense,
    Latent,
    Experts,
    Other,
}

impl Row {
    pub(crate) fn parse(text: &str) -> Self {
        let json: Json = serde_json::from_str(text).expect("a row is JSON");
        Self {
            arch: json["arch"].as_str().unwrap_or_default().to_owned(),
            error: json["error"].as_str().map(str::to_owned),
            json,
        }
    }

    pub(crate) fn label(&self) -> String {
        format!(
            "{} {} {}{}",
            self.json["model"].as_str().unwrap_or_default(),
            self.json["types"].as_str().unwrap_or_default(),
            self.json["set"],
            if self.older() { " (older)" } else { "" },
        )
    }

    fn older(&self) -> bool {
        self.json["older"].as_bool() == Some(true)
    }

    pub(crate) fn kind(&self) -> Kind {
        match self.arch.as_str() {
            "llama" if self.label().starts_with("mixtral") => Kind::Experts,
            "llama" | "qwen2" | "qwen3" | "phi3" | "gemma2" | "gemma3" | "command-r" => Kind::Dense,
            "deepseek2" => Kind::Latent,
            "qwen3moe" | "gpt-oss" | "glm4moe" => Kind::Experts,
            _ => Kind::Other,
        }
    }

    fn set(&self, name: &str) -> Option<&Json> {
        self.json["set"].get(name)
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.set(name).and_then(Json::as_i64)
    }

    fn word(&self, name: &str) -> Option<&str> {
        self.set(name).and_then(Json::as_str)
    }

    pub(crate) fn gpus(&self) -> usize {
        self.number("n_gpus")
            .map_or(1, |number| usize::try_from(number).unwrap_or(0))
    }

    pub(crate) fn model(&self) -> Option<Model> {
        match self.json["preset"].as_str() {
            Some(id) => preset_with(id, None),
            None => from_hparams(&self.json),
        }
    }

    /// Cards of equal memory, with room for anything.
    pub(crate) fn machine(&self) -> Machine {
        let capability = self.json["cc"].as_str().unwrap_or("8.9");
        let (major, minor) = capability.split_once('.').expect("major.minor");
        let capability = (
            major.parse().expect("a number"),
            minor.parse().expect("a number"),
        );
        machine(&vec![Bytes::from_gib(1 << 20); self.gpus()], capability)
    }

    /// As `data` says settings map to rows.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::new();
        let mut put = |name: &str, value: Value| {
            settings.insert(name.to_owned(), value);
        };
        let text = |text: &str| Value::Text(text.to_owned());
        let types = match self.json["types"].as_str().unwrap_or_default() {
            "MXFP4-native" => "MXFP4_MOE",
            types => types,
        };
        put("weights", text(types));
        put(
            "parallel",
            Value::Integer(self.number("parallel").unwrap_or(1)),
        );
        put(
            "n_outputs_max",
            Value::Integer(self.number("n_outputs_max").unwrap_or(1)),
        );
        for (own, theirs) in [
            ("ctx_size", "ctx_size"),
            ("batch_size", "batch"),
            ("ubatch_size", "ubatch"),
            ("n_rs_seq", "n_rs_seq"),
        ] {
            if let Some(number) = self.number(theirs) {
                put(own, Value::Integer(number));
            }
        }
        for (own, theirs, when) in [
            ("kv_unified", "kv_unified", true),
            ("kv_offload", "no_kv_offload", false),
            ("op_offload", "no_op_offload", false),
            ("swa_full", "swa_full", true),
        ] {
            if self.number(theirs) == Some(1) {
                put(own, Value::Bool(when));
            }
        }
        for name in ["flash_attn", "cache_type_k", "cache_type_v"] {
            if let Some(word) = self.word(name) {
                put(name, text(word));
            }
        }
        self.placement(&mut put);
        if self.older() {
            put("engine_version", text("2026-05"));
        }
        settings
    }

    /// Settings that say what goes where.
    fn placement(&self, put: &mut impl FnMut(&str, Value)) {
        let text = |text: &str| Value::Text(text.to_owned());
        match self.number("n_gpu_layers") {
            None => put("n_gpu_layers", text("all")),
            Some(layers) => put("n_gpu_layers", Value::Integer(layers)),
        }
        match self.number("n_cpu_moe") {
            None => {}
            Some(-1) => put("cpu_moe", Value::Bool(true)),
            Some(layers) => put("n_cpu_moe", Value::Integer(layers)),
        }
        if let Some(split) = self.word("tensor_split") {
            let shares = split
                .split(',')
                .map(|share| Value::Integer(share.parse().expect("a number")));
            put("tensor_split", Value::List(shares.collect()));
        }
        if let Some(rules) = self.set("override_tensor").and_then(Json::as_array) {
            let rules = rules.iter().filter_map(Json::as_str).map(text);
            put("override_tensor", Value::List(rules.collect()));
        }
        if let Some(regex) = self.word("override_tensor_cpu") {
            put(
                "override_tensor",
                Value::List(vec![text(&format!("{regex}=CPU"))]),
            );
        }
    }

    pub(crate) fn buffer(&self, name: &str) -> Buffers {
        let part = |index: usize| self.json["buf"][name][index].as_f64().unwrap_or(0.0);
        Buffers {
            model: part(0),
            context: part(1),
            compute: part(2),
            output: 0.0,
        }
    }

    pub(crate) fn output_mib(&self) -> f64 {
        let buffers = self.json["out"].as_object();
        buffers
            .into_iter()
            .flatten()
            .filter_map(|(_, mib)| mib.as_f64())
            .sum()
    }

    /// Caches and states over all devices.
    pub(crate) fn context_mib(&self) -> f64 {
        let buffers = self.json["buf"].as_object();
        buffers
            .into_iter()
            .flatten()
            .filter_map(|(_, buffer)| buffer[1].as_f64())
            .sum()
    }
}

/// The model of a row without a preset, from the hyper-parameters it was measured with.
fn from_hparams(row: &Json) -> Option<Model> {
    let hparams = &row["hparams"];
    let of = |name: &str| hparams[name].as_u64();
    // Only the architecture whose parameters rows carry.
    if row["arch"] != "minicpm3" {
        return None;
    }
    let rotated = of("n_rot")?;
    let config = json!({
        "model_type": row["arch"],
        "hidden_size": of("n_embd")?,
        "num_hidden_layers": of("n_layer")?,
        "num_attention_heads": of("n_head")?,
        "num_key_value_heads": of("n_head_kv")?,
        "intermediate_size": of("n_ff")?,
        "vocab_size": of("n_vocab")?,
        "max_position_embeddings": of("n_ctx_train")?,
        "q_lora_rank": of("q_lora_rank")?,
        "kv_lora_rank": of("kv_lora_rank")?,
        "qk_rope_head_dim": rotated,
        "qk_nope_head_dim": of("head_dim_k")? - rotated,
        "v_head_dim": of("head_dim_v")?,
        "tie_word_embeddings": false,
        "hidden_act": "silu",
    });
    let name = row["model"].as_str()?;
    Some(from_config(name, &config, &Map::new()).expect("a known family"))
}

/// A machine with cards of this much usable memory each.
pub(crate) fn machine(cards: &[Bytes], compute_capability: (u32, u32)) -> Machine {
    Machine {
        name: "modelled device".to_owned(),
        os: Os::Linux,
        host: Host {
            ram: Bytes::from_gib(1 << 20),
            in_use: Bytes::ZERO,
            swap: Bytes::ZERO,
            physical_cores: None,
            cpu_name: None,
            cpu_features: Vec::new(),
            bandwidth_gb_s: None,
            disk_free: None,
        },
        gpus: cards
            .iter()
            .map(|&usable| Gpu {
                name: "modelled CUDA device".to_owned(),
                vendor: Vendor::Nvidia,
                uuid: None,
                pci_address: None,
                memory: GpuMemory {
                    total: usable,
                    usable,
                    in_use: Bytes::ZERO,
                },
                unified: false,
                compute_capability: Some(compute_capability),
                gfx_target: None,
                metal_family: None,
                bandwidth_gb_s: None,
                fp16_tflops: None,
                pcie: None,
                drives_display: false,
                driver: None,
            })
            .collect(),
        nodes: 1,
    }
}

/// The model of a preset, read once, with another trained context where one is given.
pub(crate) fn preset_with(id: &str, trained: Option<u64>) -> Option<Model> {
    type Read = BTreeMap<(String, Option<u64>), Option<Model>>;
    static READ: Mutex<Read> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().expect("no test panics with it");
    read.entry((id.to_owned(), trained))
        .or_insert_with(|| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("presets/models");
            let families = std::fs::read_dir(folder).expect("presets are there");
            let file = families
                .filter_map(Result::ok)
                .map(|family| family.path().join(format!("{id}.toml")))
                .find(|file| file.is_file())?;
            let text = std::fs::read_to_string(file).expect("a preset can be read");
            let table: toml::Table = toml::from_str(&text).expect("a preset is TOML");
            let config = serde_json::to_value(&table["config"]).expect("a configuration");
            let mut overrides = Map::new();
            if let Some(trained) = trained {
                overrides.insert("max_position_embeddings".to_owned(), trained.into());
            }
            Some(from_config(id, &config, &overrides).expect("a known family"))
        })
        .clone()
}
