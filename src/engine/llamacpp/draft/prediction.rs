//! The model's own prediction blocks (MTP, NextN) in a context of their own, on the weights of the model's file.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use super::{drafting, settings};
use crate::engine::Inputs;
use crate::engine::llamacpp::compute::Purpose;
use crate::engine::llamacpp::config::{Config, Shape};
use crate::engine::llamacpp::kv_cache::{self, LayerCache};
use crate::engine::llamacpp::parts::Parts;
use crate::engine::llamacpp::placed::Placed;
use crate::engine::llamacpp::subject::Subject;
use crate::engine::llamacpp::tensors::Architecture;
use crate::engine::llamacpp::{output, terms};
use crate::model::mixer::{CompressedAttention, LatentAttention};
use crate::model::{Layer, Mixer, Model};
use crate::projection::{Category, Note, Term, Why};
use crate::units::Bytes;

/// Architectures whose prediction blocks the engine can run (`LLM_GRAPH_TYPE_DECODER_MTP` in `src/models/*.cpp`,
/// 0.6.0-dev).
pub(super) fn is_built(architecture: Architecture) -> bool {
    matches!(
        architecture,
        Architecture::Qwen3Next
            | Architecture::Qwen35
            | Architecture::Qwen35Moe
            | Architecture::DeepSeek2
            | Architecture::DeepSeek32
            | Architecture::DeepSeek4
            | Architecture::Glm4Moe
            | Architecture::GlmDsa
            | Architecture::NemotronHMoe
    )
}

/// The prediction context of a model.
pub(in super::super) struct Prediction {
    /// The blocks as a model.
    pub(in super::super) model: Arc<Model>,
    config: Config,
    /// Their caches.
    pub(in super::super) caches: Arc<Vec<LayerCache>>,
}

impl Prediction {
    /// That of a plan that drafts by prediction blocks; `None` where it does not, or the model has none that the engine
    /// can run.
    pub(in super::super) fn new(
        inputs: Inputs<'_>,
        main: &Config,
        architecture: Architecture,
        notes: &mut Vec<Note>,
    ) -> Option<Self> {
        let model = inputs.model;
        let mtp = model.mtp.as_ref()?;
        let runs = main.speculation.loads_prediction() && is_built(architecture);
        if !runs || mtp.layers.is_empty() || inputs.draft.is_some() {
            return None;
        }
        let blocks = inputs
            .memo
            .get(&("prediction", model.fingerprint), || blocks(model));
        let blocks = Arc::clone(&blocks);
        let caches = inputs.memo.get(&blocks.fingerprint, || {
            kv_cache::caches(&blocks, architecture)
        });
        let mut config = settings::config(inputs.settings, notes);
        config.backend_sampling = main.speculation.samples_on_device;
        Some(Self {
            model: blocks,
            config,
            caches,
        })
    }

    /// Its terms: caches with the blocks, a compute buffer per device, rows handed over in main memory.
    pub(super) fn add(
        &self,
        subject: &Subject<'_>,
        main: &Config,
        shape: Shape,
        placed: &Placed,
        purpose: Purpose,
        parts: &mut Parts,
    ) {
        let mut config = settings::shaped(&self.config, main, shape);
        // The weights are where the model has them.
        config.gpu_layers = main.gpu_layers;
        config.split_mode = main.split_mode;
        config.overrides.clone_from(&main.overrides);
        let own = config.shape(subject.trained);
        let homes = placed.prediction_homes(subject.inputs.model.layers.len());
        let sliced = placed.sliced.as_ref();
        let caches = kv_cache::groups(&self.caches, &config, own, homes, sliced);
        let compute = subject.predicting(self, &config, own, placed, purpose);
        let homes = (0..subject.devices.len()).map(Some).chain([None]);
        for home in homes {
            let here = caches.iter().filter(|group| group.home == home);
            let mut own_terms: Vec<Term> = here.map(|group| terms::cache(group, &config)).collect();
            let buffer = match home {
                Some(gpu) => compute.gpus.get(gpu),
                None => Some(&compute.host),
            };
            own_terms
                .extend(buffer.and_then(|buffer| terms::compute(buffer, compute.exactness, own)));
            parts.add(home, own_terms.into_iter().map(drafting));
        }
        parts.add(None, self.rows(&config, own, shape).map(drafting));
    }

    /// Logits of the drafted tokens, and the hidden states that the model hands to its blocks, one per token of a batch
    /// (`output_reserve` in `src/llama-context.cpp`, `llama_set_embeddings_nextn` in `common/speculative.cpp`,
    /// 0.6.0-dev).
    fn rows(&self, config: &Config, own: Shape, main: Shape) -> [Term; 2] {
        let model = &self.model;
        let width = hidden_width(model);
        let logits = output::bytes(model, config, own);
        let state = Bytes::new(width.saturating_mul(4));
        let why = Why::new(
            "llama.cpp/output/draft",
            "{rows} rows of {vocabulary} logits, what sampling on the device returns, and a hidden state of {width}",
            "src/llama-context.cpp output_reserve, 0.6.0-dev",
        )
        .with("rows", own.sequences)
        .with("vocabulary", model.vocab_size)
        .with("width", width);
        let handed = Why::new(
            "llama.cpp/output/hidden-states",
            "{tokens} tokens of a batch × {width} values of the hidden state in f32, handed from the model to its \
             prediction blocks",
            "src/llama-context.cpp output_reserve, 0.6.0-dev",
        )
        .with("tokens", main.batch)
        .with("width", width);
        [
            Term::exact(Category::Output, logits + state * own.sequences, why),
            Term::exact(Category::Output, state * main.batch, handed),
        ]
    }
}

/// Values of a hidden state as it is handed over: every stream where there are several (`n_embd_out`,
/// `src/models/deepseek4.cpp` 0.6.0-dev).
fn hidden_width(model: &Model) -> u64 {
    let streams = model.hyper_connections.map_or(1, |own| own.hc_mult.max(1));
    model.hidden_size.saturating_mul(streams)
}

/// The prediction blocks as a model of their own. They attend densely whatever the model's layers choose
/// (`src/models/deepseek32.cpp`, `glm-dsa.cpp`), and V4's keep no compressed entries (`deepseek4.cpp`).
fn blocks(model: &Model) -> Model {
    let mtp = model.mtp.as_ref();
    let layers = mtp.map_or(&[] as &[Layer], |mtp| mtp.layers.as_slice());
    let mut hasher = DefaultHasher::new();
    ("prediction", model.fingerprint).hash(&mut hasher);
    Model {
        layers: layers.iter().map(dense).collect(),
        mtp: None,
        fingerprint: hasher.finish(),
        ..model.clone()
    }
}

fn dense(layer: &Layer) -> Layer {
    let mixer = match &layer.mixer {
        Mixer::Latent(latent) => Mixer::Latent(LatentAttention {
            sparse: None,
            ..*latent
        }),
        Mixer::Compressed(compressed) => Mixer::Compressed(CompressedAttention {
            compress_ratio: 0,
            indexer: None,
            ..*compressed
        }),
        mixer => mixer.clone(),
    };
    Layer {
        mixer,
        ..layer.clone()
    }
}

/// The name of a tensor in a model of the blocks from `first` on; `None` for what earlier blocks hold.
pub(in super::super) fn block_name(name: &str, first: usize) -> Option<String> {
    let Some(rest) = name.strip_prefix("blk.") else {
        return Some(name.to_owned());
    };
    let (block, rest) = rest.split_once('.')?;
    let block = block.parse::<usize>().ok()?.checked_sub(first)?;
    Some(format!("blk.{block}.{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_from_the_first() {
        for (name, expected) in [
            ("token_embd.weight", Some("token_embd.weight")),
            ("blk.64.attn_q.weight", Some("blk.0.attn_q.weight")),
            ("blk.63.attn_q.weight", None),
        ] {
            assert_eq!(block_name(name, 64).as_deref(), expected, "{name}");
        }
    }
}
