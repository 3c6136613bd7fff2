//! From what a plan asks of Ollama to the `llama-server` that Ollama starts (`startLlamaServer`, `llm/llama_server.go`
//! and `load`, `server/sched.go`, v0.33.0-rc2).

use std::borrow::Cow;

use super::batch;
use super::config::{self, Config, Layers};
use super::context::{self, Context};
use super::gpus::{self, Device};
use super::launch::FIT_TARGET_MIB;
use super::loading::{Circumstances, Loading, loading};
use super::placement::{self, Placement, Wish};
use super::prediction::predicted;
use crate::engine::llamacpp::base::{self, File};
use crate::engine::llamacpp::tensors::Architecture;
use crate::engine::{Inputs, Margin};
use crate::hardware::Machine;
use crate::model::{AttachedAs, Model};
use crate::plan::{Settings, Value};
use crate::projection::Note;
use crate::units::MIB;

/// Architectures that are served one request at a time (`server/sched.go`, v0.33.0-rc2).
const ONE_AT_A_TIME: [&str; 11] = [
    "mllama",
    "qwen3vl",
    "qwen3vlmoe",
    "qwen35",
    "qwen35moe",
    "qwen3next",
    "lfm2",
    "lfm2moe",
    "nemotron_h",
    "nemotron_h_moe",
    "nemotron_h_omni",
];

/// What Ollama starts.
pub(super) struct Translation<'a> {
    /// The server's settings.
    pub(super) settings: Settings,
    /// The machine with the GPUs that the server sees.
    pub(super) machine: Cow<'a, Machine>,
    /// As asked for.
    pub(super) config: Config,
    /// The file; `None` where there is none for this model.
    pub(super) file: Option<File>,
    /// Every GPU that Ollama finds.
    pub(super) devices: Vec<Device>,
    /// Where the model goes.
    pub(super) placement: Placement,
    /// Of one request.
    pub(super) context: Context,
    /// Requests served at once.
    pub(super) parallel: u64,
    /// Batch and micro-batch; `None`: as the server has it.
    pub(super) batch: Option<u64>,
    /// How the file is read.
    pub(super) loading: Loading,
    /// What Ollama believes that the model takes, in bytes.
    pub(super) predicted: u64,
    /// What it believes to have for it, in bytes.
    pub(super) available: u64,
    /// On what was written.
    pub(super) notes: Vec<Note>,
    /// A projector comes with the model: the server gets it as `--mmproj`.
    projector: bool,
    /// `--fit-target`, where Ollama says it.
    fit_target: Option<u64>,
}

/// Translates a plan.
pub(super) fn translate<'a>(inputs: &Inputs<'a>) -> Translation<'a> {
    let mut notes = Vec::new();
    let config = config::read(inputs.settings, &mut notes);
    let machine = inputs.machine;
    let host_free = machine.host.ram.saturating_sub(machine.host.in_use).get();
    let file = base::file(&with_settings(inputs, &weights(inputs.settings)));
    let known = file.unwrap_or(File {
        bytes: crate::units::Bytes::ZERO,
        architecture: Architecture::Unknown,
        blocks: inputs.model.blocks().into(),
        trained: inputs.model.max_position_embeddings,
    });
    let devices = gpus::devices(machine, &config);
    let context = context::context(&config, &devices, known.trained);
    let parallel = if ONE_AT_A_TIME.contains(&known.architecture.name(inputs.model)) {
        1
    } else {
        config.parallel
    };
    let tokens = context.tokens.saturating_mul(parallel);
    let predicted = predicted(inputs.model, &known, tokens);
    let mut placement = place(&config, &devices, predicted, host_free);
    let available = placement::available(&placement, host_free);
    let batch = batch(&config, &placement, tokens, predicted, available);
    placement.hide();
    let loading = loading(&Circumstances {
        machine,
        gpus: &placement.gpus,
        layers: config.layers,
        all_layers: known.blocks.saturating_add(1),
        file: known.bytes.get(),
        predicted,
        available,
        asked: config.use_mmap,
    });
    let mut translation = Translation {
        settings: weights(inputs.settings),
        machine: seen(machine, &placement),
        config,
        file,
        devices,
        placement,
        context,
        parallel,
        batch,
        loading,
        predicted,
        available,
        notes,
        projector: names_projector(inputs.model),
        fit_target: None,
    };
    translation.fit_target = fit_target(inputs, translation.config.layers);
    translation.fill(known.blocks.saturating_add(1));
    translation
}

/// What the server below is to keep free beside the model, in MiB; `None`: as its environment or its own default says.
///
/// With a projector Ollama asks for the bytes of its file and what is kept free without one (`llm/llama_server.go`,
/// v0.33.0-rc2), on top of what the server itself sets aside for it; a margin that the plan writes into the server's
/// environment stands.
fn fit_target(inputs: &Inputs<'_>, layers: Layers) -> Option<u64> {
    let projector = inputs.model.attached.projector.as_ref()?;
    let own = layers == Layers::Auto && inputs.margin == Margin::DEFAULT;
    own.then(|| FIT_TARGET_MIB + projector.bytes.get().div_ceil(MIB))
}

/// A plan names a projector, whether it could be read or not.
fn names_projector(model: &Model) -> bool {
    let attached = &model.attached;
    attached.projector.is_some() || attached.unread(AttachedAs::Projector).next().is_some()
}

fn place(config: &Config, devices: &[Device], predicted: u64, host_free: u64) -> Placement {
    if config.layers == Layers::Count(0) {
        // The GPUs are not even looked at.
        return Placement::default();
    }
    let wish = Wish {
        main_gpu: config.main_gpu,
        spread: config.spread,
        predicted,
        host_free,
    };
    placement::place(devices, &wish)
}

/// As written, where that is a number at all, else as Ollama chooses it.
fn batch(
    config: &Config,
    placement: &Placement,
    tokens: u64,
    predicted: u64,
    available: u64,
) -> Option<u64> {
    if let Some(written) = config.num_batch {
        return u64::try_from(written).ok().filter(|batch| *batch > 0);
    }
    let without_flash = !config.flash.unwrap_or_else(|| flash_works(placement));
    let gpus = &placement.gpus;
    Some(batch::automatic(
        tokens,
        predicted,
        available,
        without_flash,
        gpus,
    ))
}

/// What both engines call the same.
fn weights(settings: &Settings) -> Settings {
    ["weights", "imatrix"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), settings.get(name)?.clone())))
        .collect()
}

/// The same question of other settings.
pub(super) fn with_settings<'a>(inputs: &Inputs<'a>, settings: &'a Settings) -> Inputs<'a> {
    Inputs {
        settings,
        ..*inputs
    }
}

/// Flash attention is left to the server where every device has it (`LlamaServerFlashAttention`).
fn flash_works(placement: &Placement) -> bool {
    placement.gpus.iter().all(|device| device.flash)
}

/// The machine as the server sees it: other GPUs are hidden from it.
fn seen<'a>(machine: &'a Machine, placement: &Placement) -> Cow<'a, Machine> {
    if placement.gpus.len() == machine.gpus.len() {
        return Cow::Borrowed(machine);
    }
    let gpus = placement.gpus.iter();
    Cow::Owned(Machine {
        gpus: gpus
            .filter_map(|device| machine.gpus.get(device.index).cloned())
            .collect(),
        name: machine.name.clone(),
        os: machine.os,
        host: machine.host.clone(),
        nodes: machine.nodes,
    })
}

impl Translation<'_> {
    /// The flags of the command line.
    fn fill(&mut self, all_layers: u64) {
        let settings = &mut self.settings;
        let mut put = |name: &str, value: Value| settings.insert(name.to_owned(), value);
        let text = |word: &str| Value::Text(word.to_owned());
        let config = &self.config;
        put("engine_version", Value::Text(config.version.llama_cpp()));
        put(
            "ctx_size",
            number(self.context.tokens.saturating_mul(self.parallel)),
        );
        put("parallel", number(self.parallel));
        match self.loading {
            Loading::Mapped => {}
            Loading::Read => {
                put("load_mode", text("none"));
            }
            Loading::Direct => {
                put("load_mode", text("dio"));
            }
        }
        if let Some(cache_type) = &config.cache_type {
            put("cache_type_k", text(cache_type));
            put("cache_type_v", text(cache_type));
        }
        let flash = match config.flash {
            Some(true) => "on",
            None if flash_works(&self.placement) => "auto",
            Some(false) | None => "off",
        };
        put("flash_attn", text(flash));
        if let Some(batch) = self.batch {
            put("batch_size", number(batch));
            put("ubatch_size", number(batch));
        }
        match config.layers {
            Layers::Auto => {}
            Layers::All => {
                put("n_gpu_layers", number(all_layers));
            }
            Layers::Count(layers) => {
                put("n_gpu_layers", number(layers));
            }
        }
        if self.projector {
            put("mmproj", Value::Bool(true));
        }
        if let Some(mib) = self.fit_target {
            put("fit_target", Value::List(vec![number(mib)]));
        }
        if config.draft_tokens > 0 {
            put("spec_type", text("draft-mtp"));
            put("spec_draft_n_max", number(config.draft_tokens));
        }
        if let Some(main) = self.placement.main {
            put("split_mode", text("none"));
            put("main_gpu", Value::Integer(main));
        }
    }

    /// The question as it is put to llama.cpp.
    pub(super) fn inputs<'b>(&'b self, inputs: &Inputs<'b>) -> Inputs<'b> {
        Inputs {
            // What drafts in Ollama is a part made for the model, which no plan names.
            draft: None,
            machine: &self.machine,
            settings: &self.settings,
            ..*inputs
        }
    }

    /// Values per device of the server as values per device of the plan's machine, the host last; `unused` says what a
    /// GPU has that the server does not see.
    pub(super) fn expand<T>(
        &self,
        machine: &Machine,
        values: Vec<T>,
        unused: impl Fn(usize) -> T,
    ) -> Vec<T> {
        let gpus = self.placement.gpus.len();
        let mut own: Vec<(usize, T)> = Vec::with_capacity(gpus);
        let mut values = values.into_iter();
        for device in &self.placement.gpus {
            own.extend(values.next().map(|value| (device.index, value)));
        }
        let host = values.last();
        let nodes = usize::try_from(machine.nodes.max(1)).unwrap_or(1);
        let all = machine.gpus.len().saturating_mul(nodes);
        let mut expanded: Vec<T> = (0..all).map(unused).collect();
        for (index, value) in own {
            if let Some(slot) = expanded.get_mut(index) {
                *slot = value;
            }
        }
        expanded.extend(host);
        expanded
    }
}

/// A number of the engine as a value.
pub(super) fn number(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}
