//! One measured allocation, read from either of two spellings, as a plan.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::hardware::{Gpu, GpuMemory, Host, Machine, Os, Vendor};
use crate::plan::{Settings, Value};
use crate::units::Bytes;

use super::buffers::Buffers;

/// What an engine allocated for a model with some settings.
pub(super) struct Row {
    /// Preset's id, or the row's own name for the model.
    pub(super) model: String,
    /// The engine's name for the kind of model; rows of a sweep over all kinds have none.
    pub(super) arch: String,
    /// File type.
    types: String,
    /// Before the rules of June 2026.
    older: bool,
    compute_capability: (u32, u32),
    settings: Map<String, Json>,
    buffers: BTreeMap<String, Buffers>,
    output: f64,
    /// Weights of the host are the range of the file that is mapped, which says nothing of their sum.
    pub(super) host_range: bool,
    /// The engine refused.
    pub(super) refused: bool,
}

impl Row {
    /// Rows as measured have `settings`, `tensor_types` and `reported`; shortened ones `set`, `types` and `buf`, with
    /// what is as usual left out.
    pub(super) fn parse(json: &Json) -> Option<Self> {
        let word = |name: &str| json.get(name).and_then(Json::as_str);
        let reported = json.get("reported");
        let settings = json.get("settings").or_else(|| json.get("set"))?;
        let refused = json.get("error").is_some_and(|error| !error.is_null());
        let buffers = json
            .get("buf")
            .or_else(|| reported?.get("buffers"))
            .and_then(Json::as_object);
        if buffers.is_none() && !refused {
            return None;
        }
        let output = json.get("out").or_else(|| reported?.get("output_buffer"));
        let version = word("version").unwrap_or_default();
        Some(Self {
            model: word("preset").or_else(|| word("model"))?.to_owned(),
            arch: word("arch").unwrap_or("mixed settings").to_owned(),
            types: word("types").or_else(|| word("tensor_types"))?.to_owned(),
            older: json.get("older") == Some(&Json::Bool(true))
                || version.starts_with("older-build"),
            compute_capability: compute_capability(word("cc").or_else(|| {
                word("backend_rules")?
                    .split("cc ")
                    .nth(1)?
                    .split(' ')
                    .next()
            })),
            settings: settings.as_object()?.clone(),
            buffers: buffers
                .into_iter()
                .flatten()
                .map(|(name, parts)| (name.clone(), Buffers::read(parts)))
                .collect(),
            output: output
                .and_then(Json::as_object)
                .into_iter()
                .flatten()
                .filter_map(|(_, mib)| mib.as_f64())
                .sum(),
            host_range: json.get("host_range") == Some(&Json::Bool(true)),
            refused,
        })
    }

    /// In one line.
    pub(super) fn label(&self) -> String {
        let settings: Vec<String> = self
            .settings
            .iter()
            .filter(|(name, value)| !is_usual(name, value))
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let older = if self.older { " (older)" } else { "" };
        format!(
            "{} {} {}{older}",
            self.model,
            self.types,
            settings.join(" ")
        )
    }

    /// What about its settings is special: the groups of the table, of which it may belong to several.
    pub(super) fn groups(&self) -> Vec<&'static str> {
        let differs = |name: &str| {
            self.settings
                .get(name)
                .is_some_and(|value| !is_usual(name, value))
        };
        let any = |names: &[&str]| names.iter().any(|name| differs(name));
        let mut groups = Vec::new();
        for (group, belongs) in [
            (
                "flash attention off",
                self.word("flash_attn") == Some("off"),
            ),
            (
                "quantized or bf16 cache",
                any(&["cache_type_k", "cache_type_v"]),
            ),
            ("micro-batch not 512", differs("ubatch")),
            ("several slots", differs("parallel")),
            (
                "logits for all rows",
                self.number("n_outputs_max") == Some(0),
            ),
            (
                "experts in RAM",
                any(&["n_cpu_moe", "override_tensor_cpu", "override_tensor"]),
            ),
            ("some layers in RAM", differs("n_gpu_layers")),
            (
                "cache or ops in RAM",
                any(&["no_kv_offload", "no_op_offload"]),
            ),
            ("several GPUs", self.gpus() > 1),
            ("no GPU", self.gpus() == 0),
            ("older builds", self.older),
        ] {
            if belongs {
                groups.push(group);
            }
        }
        if groups.is_empty() {
            groups.push("everything usual");
        }
        groups
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.settings.get(name).and_then(Json::as_i64)
    }

    fn word(&self, name: &str) -> Option<&str> {
        let word = self.settings.get(name).and_then(Json::as_str);
        word.filter(|word| !word.is_empty())
    }

    /// Cards used.
    pub(super) fn gpus(&self) -> usize {
        // More than any engine knows would only cost memory here.
        let gpus = self.number("n_gpus").unwrap_or(1).clamp(0, 64);
        usize::try_from(gpus).unwrap_or(0)
    }

    /// Cards of equal memory, with room for anything.
    pub(super) fn machine(&self) -> Machine {
        modelled(
            &vec![Bytes::from_gib(1 << 20); self.gpus()],
            self.compute_capability,
        )
    }

    /// As a plan writes them.
    pub(super) fn settings(&self) -> Settings {
        let mut settings = Settings::new();
        let mut put = |name: &str, value: Value| {
            settings.insert(name.to_owned(), value);
        };
        put("weights", text(file_type(&self.types)));
        for (own, theirs, usual) in [
            ("parallel", "parallel", 1),
            ("n_outputs_max", "n_outputs_max", 1),
            ("ctx_size", "ctx_size", 0),
            ("batch_size", "batch", 2048),
            ("ubatch_size", "ubatch", 512),
            ("n_rs_seq", "n_rs_seq", 0),
        ] {
            put(own, Value::Integer(self.number(theirs).unwrap_or(usual)));
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
        for name in ["flash_attn", "cache_type_k", "cache_type_v", "split_mode"] {
            if let Some(word) = self.word(name) {
                put(name, text(word));
            }
        }
        self.placement(&mut put);
        if self.older {
            put("engine_version", text("2026-05"));
        }
        settings
    }

    /// Settings that say what goes where.
    fn placement(&self, put: &mut impl FnMut(&str, Value)) {
        match self.number("n_gpu_layers") {
            None | Some(-1) => put("n_gpu_layers", text("all")),
            Some(layers) => put("n_gpu_layers", Value::Integer(layers)),
        }
        match self.number("n_cpu_moe") {
            None | Some(0) => {}
            Some(-1) => put("cpu_moe", Value::Bool(true)),
            Some(layers) => put("n_cpu_moe", Value::Integer(layers)),
        }
        if let Some(split) = self.word("tensor_split") {
            let shares = split
                .split(',')
                .filter_map(|share| share.trim().parse().ok())
                .map(Value::Number);
            put("tensor_split", Value::List(shares.collect()));
        }
        if let Some(rules) = self
            .settings
            .get("override_tensor")
            .and_then(Json::as_array)
        {
            let rules = rules.iter().filter_map(Json::as_str).map(text);
            put("override_tensor", Value::List(rules.collect()));
        }
        if let Some(regex) = self.word("override_tensor_cpu") {
            let rule = text(&format!("{regex}=CPU"));
            put("override_tensor", Value::List(vec![rule]));
        }
    }

    /// What was allocated on every GPU, the host last.
    pub(super) fn reported(&self) -> Vec<Buffers> {
        let buffers = |name: &str| self.buffers.get(name).copied().unwrap_or_default();
        let gpus = (0..self.gpus()).map(|gpu| buffers(&format!("CUDA{gpu}")));
        let mut host = buffers("CUDA_Host") + buffers("CPU");
        host.output = self.output;
        gpus.chain([host]).collect()
    }
}

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

/// The file type under the engine's name.
pub(super) fn file_type(types: &str) -> &str {
    match types {
        "MXFP4-native" => "MXFP4_MOE",
        types => types,
    }
}

fn compute_capability(words: Option<&str>) -> (u32, u32) {
    let parsed = words.and_then(|words| {
        let (major, minor) = words.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    parsed.unwrap_or((8, 9))
}

/// Is a setting as in most rows?
fn is_usual(name: &str, value: &Json) -> bool {
    match name {
        // Every row has one.
        "ctx_size" => false,
        "batch" => value == 2048,
        "ubatch" => value == 512,
        "parallel" | "n_outputs_max" | "n_gpus" => value == 1,
        "flash_attn" => value == "auto",
        "cache_type_k" | "cache_type_v" => value == "f16",
        "n_gpu_layers" => value == -1,
        "split_mode" => value == "layer",
        _ => value == 0 || value == "",
    }
}

/// A machine with CUDA cards of this much usable memory each, and any amount of main memory.
pub fn modelled(cards: &[Bytes], compute_capability: (u32, u32)) -> Machine {
    let gpu = |&usable: &Bytes| Gpu {
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
        bandwidth_gb_s: None,
        fp16_tflops: None,
        metal_family: None,
        pcie: None,
        drives_display: false,
        driver: None,
    };
    Machine {
        name: "modelled device".to_owned(),
        os: Os::Linux,
        host: Host::with_ram(Bytes::from_gib(1 << 20)),
        gpus: cards.iter().map(gpu).collect(),
        nodes: 1,
    }
}
