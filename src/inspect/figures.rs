//! Hyper-parameters by the names that configurations have for them.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::Serialize;

use crate::model::mixer::Reach;
use crate::model::{Experts, FeedForward, Layer, Mixer, Model, Positions, RopeFactors};
use crate::projection::grouped;

/// Hyper-parameters in the order in which they are shown.
pub type HyperParameters = IndexMap<Cow<'static, str>, Figure>;

/// The value of a hyper-parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Figure {
    /// A number.
    Number(u64),
    /// Several, where layers differ: each once, in the order in which they appear.
    Numbers(Vec<u64>),
    /// Yes or no.
    Flag(bool),
    /// A word.
    Text(String),
}

impl Figure {
    /// As people read it.
    pub fn text(&self) -> String {
        match self {
            Self::Number(number) => grouped(*number),
            Self::Numbers(numbers) => {
                let numbers: Vec<String> = numbers.iter().copied().map(grouped).collect();
                numbers.join(" / ")
            }
            Self::Flag(true) => "yes".to_owned(),
            Self::Flag(false) => "no".to_owned(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// The hyper-parameters of a model. What it does not have is left out.
pub(super) fn of(model: &Model) -> HyperParameters {
    let mut figures = HyperParameters::new();
    let layers = match model.other {
        Some(other) if other.num_hidden_layers > 0 => other.num_hidden_layers,
        _ => model.blocks().into(),
    };
    number(&mut figures, "num_hidden_layers", layers);
    number(&mut figures, "hidden_size", model.hidden_size);
    attention(&mut figures, model);
    feed_forward(&mut figures, model);
    number(&mut figures, "vocab_size", model.vocab_size);
    number(&mut figures, "context_length", model.context_length);
    if model.max_position_embeddings != model.context_length {
        number(
            &mut figures,
            "max_position_embeddings",
            model.max_position_embeddings,
        );
    }
    if model.only_weights().is_none() {
        figures.insert(Cow::Borrowed("positions"), Figure::Text(positions(model)));
    }
    if model.other.is_none() {
        figures.insert(
            Cow::Borrowed("tie_word_embeddings"),
            Figure::Flag(model.tie_word_embeddings),
        );
    }
    if let Some(mtp) = &model.mtp {
        number(
            &mut figures,
            "num_nextn_predict_layers",
            mtp.layers.len() as u64,
        );
    }
    if let Some(vision) = &model.vision {
        number(
            &mut figures,
            "vision_num_hidden_layers",
            vision.encoder.num_hidden_layers,
        );
        number(
            &mut figures,
            "vision_hidden_size",
            vision.encoder.hidden_size,
        );
    }
    figures
}

fn attention(figures: &mut HyperParameters, model: &Model) {
    let of = |figure: fn(&Mixer) -> u64| distinct(model, |layer| figure(&layer.mixer));
    numbers(figures, "num_attention_heads", of(heads));
    numbers(
        figures,
        "num_key_value_heads",
        of(|mixer| mixer.attention().map_or(0, |kind| kind.num_key_value_heads)),
    );
    numbers(figures, "head_dim", of(head_dim));
    let values = of(value_dim);
    if figures.get("head_dim") != folded(values.clone()).as_ref() {
        numbers(figures, "v_head_dim", values);
    }
    numbers(
        figures,
        "q_lora_rank",
        of(|mixer| match mixer {
            Mixer::Latent(latent) => latent.q_lora_rank.unwrap_or(0),
            Mixer::Compressed(compressed) => compressed.q_lora_rank,
            _ => 0,
        }),
    );
    let latent = |figure: fn(&crate::model::mixer::LatentAttention) -> u64| {
        distinct(model, |layer| match &layer.mixer {
            Mixer::Latent(latent) => figure(latent),
            _ => 0,
        })
    };
    numbers(figures, "kv_lora_rank", latent(|kind| kind.kv_lora_rank));
    numbers(
        figures,
        "qk_rope_head_dim",
        latent(|kind| kind.qk_rope_head_dim),
    );
    numbers(
        figures,
        "index_topk",
        latent(|kind| kind.sparse.map_or(0, |indexer| indexer.index_topk)),
    );
    numbers(figures, "sliding_window", of(window));
    let windowed = model
        .layers
        .iter()
        .filter(|layer| window(&layer.mixer) > 0)
        .count() as u64;
    number(figures, "sliding_window_layers", windowed);
}

fn feed_forward(figures: &mut HyperParameters, model: &Model) {
    let experts = |figure: fn(&Experts) -> u64| {
        distinct(model, |layer| match &layer.feed_forward {
            FeedForward::Experts(experts) => figure(experts),
            FeedForward::None | FeedForward::Dense(_) => 0,
        })
    };
    let dense = distinct(model, |layer| match &layer.feed_forward {
        FeedForward::Dense(network) => network.intermediate_size,
        FeedForward::Experts(experts) => experts
            .beside
            .map_or(0, |network| network.intermediate_size),
        FeedForward::None => 0,
    });
    numbers(figures, "intermediate_size", dense);
    numbers(figures, "num_experts", experts(|kind| kind.num_experts));
    numbers(
        figures,
        "num_experts_per_tok",
        experts(|kind| kind.num_experts_per_tok),
    );
    numbers(
        figures,
        "n_shared_experts",
        experts(|kind| kind.shared.map_or(0, |shared| shared.count)),
    );
    numbers(
        figures,
        "moe_intermediate_size",
        experts(|kind| kind.moe_intermediate_size),
    );
    numbers(
        figures,
        "shared_expert_intermediate_size",
        experts(|kind| kind.shared.map_or(0, |shared| shared.intermediate_size)),
    );
}

fn heads(mixer: &Mixer) -> u64 {
    match mixer {
        Mixer::Attention(attention) | Mixer::AttentionAndMamba2(attention, _) => {
            attention.num_attention_heads
        }
        Mixer::Latent(latent) => latent.num_attention_heads,
        Mixer::Compressed(compressed) => compressed.num_attention_heads,
        _ => 0,
    }
}

fn head_dim(mixer: &Mixer) -> u64 {
    match mixer {
        Mixer::Attention(attention) | Mixer::AttentionAndMamba2(attention, _) => attention.head_dim,
        Mixer::Latent(latent) => latent.qk_head_dim(),
        Mixer::Compressed(compressed) => compressed.head_dim,
        _ => 0,
    }
}

fn value_dim(mixer: &Mixer) -> u64 {
    match mixer {
        Mixer::Attention(attention) | Mixer::AttentionAndMamba2(attention, _) => {
            attention.v_head_dim
        }
        Mixer::Latent(latent) => latent.v_head_dim,
        Mixer::Compressed(compressed) => compressed.head_dim,
        _ => 0,
    }
}

/// Tokens that a layer sees, where it does not see all; 0 where it does.
fn window(mixer: &Mixer) -> u64 {
    match (mixer, mixer.attention()) {
        (Mixer::Compressed(compressed), _) => compressed.sliding_window,
        (_, Some(attention)) => match attention.reach {
            Reach::Full => 0,
            Reach::Window(tokens) | Reach::Chunk(tokens) => tokens,
        },
        _ => 0,
    }
}

/// How positions enter, and how far they are stretched.
fn positions(model: &Model) -> String {
    let stretched = match (model.context_length, model.max_position_embeddings) {
        (longer, written) if written > 0 && longer > written => {
            format!(", scaled {:.4} times", longer as f64 / written as f64).replace(".0000", "")
        }
        _ => String::new(),
    };
    let kind = match model.positions {
        Positions::Rotary => "rotary".to_owned(),
        Positions::RotaryWithFactors(RopeFactors::One { length }) => {
            format!("rotary, a table of {length} factors")
        }
        Positions::RotaryWithFactors(RopeFactors::LongAndShort { length }) => {
            format!("rotary, long and short tables of {length} factors")
        }
        Positions::Alibi => "ALiBi".to_owned(),
        Positions::None => "none".to_owned(),
    };
    kind + &stretched
}

/// The values of layers that have one, each once.
fn distinct(model: &Model, figure: impl Fn(&Layer) -> u64) -> Vec<u64> {
    /// More different values than this are no pattern that anybody reads.
    const MOST: usize = 12;
    let mut values = Vec::new();
    for value in model.layers.iter().map(figure) {
        if value > 0 && values.len() < MOST && !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn folded(values: Vec<u64>) -> Option<Figure> {
    match values.as_slice() {
        [] => None,
        [value] => Some(Figure::Number(*value)),
        _ => Some(Figure::Numbers(values)),
    }
}

fn numbers(figures: &mut HyperParameters, name: &'static str, values: Vec<u64>) {
    if let Some(figure) = folded(values) {
        figures.insert(Cow::Borrowed(name), figure);
    }
}

fn number(figures: &mut HyperParameters, name: &'static str, value: u64) {
    if value > 0 {
        figures.insert(Cow::Borrowed(name), Figure::Number(value));
    }
}
