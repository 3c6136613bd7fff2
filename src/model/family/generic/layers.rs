//! Which layer is what.

use super::fields::Fields;
use super::mixer::Mixers;
use super::network::Networks;
use super::recurrent;
use crate::model::config::{Config, Error, Limit};
use crate::model::family::base;
use crate::model::mixer::Reach;
use crate::model::{FeedForward, Layer, Mixer, Norms};
use crate::plain::quoted;

/// Lists of names of layers.
pub(super) const NAMED: [&str; 2] = ["layer_types", "layers_block_type"];

/// What a layer looks at other tokens with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Attention over the whole context.
    Full,
    /// Attention over a window or chunk.
    Windowed,
    /// A state of fixed size.
    Recurrent,
    /// Attention and state side by side.
    Both,
    /// Nothing.
    Nothing,
}

pub(super) fn read(
    fields: &Fields<'_, '_>,
    mixers: &mut Mixers,
    networks: &Networks,
    norms: Norms,
    depth: usize,
) -> Result<Vec<Layer>, Error> {
    let kinds = kinds(fields, mixers, depth)?;
    let heads = mixers.heads.iter().zip(&mixers.key_value_heads);
    let layers = kinds.into_iter().zip(heads).enumerate();
    layers
        .map(|(index, (kind, (heads, key_value)))| {
            let mixer = mixer(fields, mixers, kind, (*heads, *key_value))?;
            let feed_forward = networks.layer(index);
            let norms = Norms {
                before_mixer: mixer != Mixer::None,
                before_feed_forward: norms.before_feed_forward && feed_forward != FeedForward::None,
                ..norms
            };
            Ok(base::layer(mixer, feed_forward, norms))
        })
        .collect()
}

/// The mixer of a layer of a kind with its numbers of heads of queries, and of keys and values.
fn mixer(
    fields: &Fields<'_, '_>,
    mixers: &Mixers,
    kind: Kind,
    (heads, key_value): (u64, u64),
) -> Result<Mixer, Error> {
    let attention = match &mixers.attention {
        Some(Mixer::Attention(attention)) => {
            if key_value > heads {
                let reason = "exceeds `num_attention_heads`";
                return Err(fields.config.inconsistent("num_key_value_heads", reason));
            }
            let mut attention = *attention;
            attention.num_attention_heads = heads;
            attention.num_key_value_heads = key_value;
            attention.reach = match (kind, mixers.window) {
                (Kind::Windowed, Some(window)) => window,
                _ => Reach::Full,
            };
            Some(Mixer::Attention(attention))
        }
        other => other.clone(),
    };
    Ok(match (kind, attention) {
        (Kind::Full | Kind::Windowed, Some(attention)) => attention,
        (Kind::Nothing, _) | (Kind::Full | Kind::Windowed, None) => Mixer::None,
        (Kind::Both, Some(Mixer::Attention(attention))) => match &mixers.recurrent {
            Some(Mixer::Mamba2(mamba)) => Mixer::AttentionAndMamba2(attention, *mamba),
            _ => Mixer::Attention(attention),
        },
        (Kind::Recurrent | Kind::Both, attention) => match (&mixers.recurrent, attention) {
            (Some(recurrent), _) => recurrent.clone(),
            (None, Some(Mixer::Attention(attention))) => {
                recurrent::square(fields, attention.num_attention_heads, attention.head_dim)
            }
            (None, attention) => attention.unwrap_or_default(),
        },
    })
}

fn kinds(fields: &Fields<'_, '_>, mixers: &Mixers, depth: usize) -> Result<Vec<Kind>, Error> {
    if mixers.attention.is_none() {
        return Ok(vec![Kind::Recurrent; depth]);
    }
    let mut kinds = match named(fields.config, depth)? {
        Some(names) => names.iter().map(|name| kind(fields, name)).collect(),
        None => match attention_layers(fields, mixers, depth)? {
            Some(kinds) => kinds,
            None => windows(fields, mixers, depth)?,
        },
    };
    // Lists of heads say with a zero which layers have no attention.
    for (kind, heads) in kinds.iter_mut().zip(&mixers.key_value_heads) {
        if *heads == 0 && *kind != Kind::Nothing {
            *kind = if mixers.recurrent.is_some() {
                Kind::Recurrent
            } else {
                Kind::Nothing
            };
        }
    }
    if kinds.contains(&Kind::Windowed) && mixers.window.is_none() {
        fields.assume("Some layers see only part of the context, but no field says how much of it: they are taken to see all.");
    }
    Ok(kinds)
}

/// The layers' kinds by name.
fn named<'a>(config: &Config<'a>, depth: usize) -> Result<Option<Vec<&'a str>>, Error> {
    for field in NAMED {
        if let Some(names) = config.texts_per_layer(field, depth)? {
            return Ok(Some(names));
        }
    }
    // A pattern that repeats (transformers 5.24.0 `configuration_recurrent_gemma.py`).
    let Some(pattern) = config.list("block_types")? else {
        return Ok(None);
    };
    let names: Vec<&str> = pattern.iter().filter_map(|name| name.as_str()).collect();
    Ok((!names.is_empty()).then(|| names.iter().copied().cycle().take(depth).collect()))
}

/// What a layer of this name is.
fn kind(fields: &Fields<'_, '_>, name: &str) -> Kind {
    const KINDS: [(Kind, &[&str]); 5] = [
        (Kind::Both, &["hybrid", "parallel"]),
        (
            Kind::Recurrent,
            &[
                "linear",
                "mamba",
                "ssm",
                "recurrent",
                "delta",
                "rwkv",
                "lightning",
                "retention",
                "conv",
            ],
        ),
        (Kind::Windowed, &["sliding", "local", "window", "chunk"]),
        (Kind::Nothing, &["mlp", "moe", "none"]),
        (Kind::Full, &["full", "global", "attention", "attn"]),
    ];
    let known = KINDS
        .iter()
        .find(|(_, parts)| parts.iter().any(|part| name.contains(part)));
    known.map_or_else(
        || {
            fields.assume(format!(
                "Nothing is known of layers of kind `{}`: they are taken to have attention over the whole context.",
                quoted(name)
            ));
            Kind::Full
        },
        |(kind, _)| *kind,
    )
}

/// Which layers of a model with recurrent ones have attention, where a field says so.
fn attention_layers(
    fields: &Fields<'_, '_>,
    mixers: &Mixers,
    depth: usize,
) -> Result<Option<Vec<Kind>>, Error> {
    let config = fields.config;
    let by = |full: &dyn Fn(u64) -> bool| {
        let kind = |index| {
            if full(index) {
                Kind::Full
            } else {
                Kind::Recurrent
            }
        };
        (0..depth as u64).map(kind).collect()
    };
    let indices = config.indices("attn_layer_indices")?;
    if !indices.is_empty() {
        return Ok(Some(by(&|index| indices.contains(&index))));
    }
    if let Some(list) = config.numbers_per_layer("attn_type_list", depth)? {
        let full = |index: u64| list.get(index as usize) != Some(&0);
        return Ok(Some(by(&full)));
    }
    if let Some(period) = config.positive("attn_layer_period", Limit::Layers)? {
        let offset = config
            .count("attn_layer_offset", Limit::Layers)?
            .unwrap_or(0);
        return Ok(Some(by(&|index| index % period == offset)));
    }
    if let Some(interval) = config.positive("full_attention_interval", Limit::Layers)? {
        return Ok(Some(by(&|index| (index + 1).is_multiple_of(interval))));
    }
    if mixers.recurrent.is_none() || mixers.key_value_heads.contains(&0) {
        return Ok(None);
    }
    fields.assume("The model has both attention and a recurrent state, but no field says in which layers: every layer is taken to have both.");
    Ok(Some(vec![Kind::Both; depth]))
}

/// Which layers see only a window, by its pattern.
fn windows(fields: &Fields<'_, '_>, mixers: &Mixers, depth: usize) -> Result<Vec<Kind>, Error> {
    const PATTERN: &str = "sliding_window_pattern";
    let config = fields.config;
    let kind = |windowed: bool| if windowed { Kind::Windowed } else { Kind::Full };
    if mixers.window.is_none() {
        return Ok(vec![Kind::Full; depth]);
    }
    match config.get(PATTERN) {
        Some(value) if value.is_array() => {
            let list = config.per_layer(PATTERN, depth)?.unwrap_or_default();
            let windowed = |entry: &serde_json::Value| {
                entry.as_bool() == Some(true) || entry.as_u64() == Some(1)
            };
            return Ok(list.iter().map(|entry| kind(windowed(entry))).collect());
        }
        Some(value) if value.is_string() => {
            // "LLLG": local layers, then a global one, repeated.
            let pattern = config.text(PATTERN)?.unwrap_or_default();
            let letters = pattern.chars().cycle().take(depth);
            return Ok(letters
                .map(|letter| kind(matches!(letter, 'L' | 'l' | 'S' | 's')))
                .collect());
        }
        Some(_) => {
            let period = config.size(PATTERN, Limit::Layers)?;
            let windowed = |index: u64| !(index + 1).is_multiple_of(period);
            return Ok((0..depth as u64)
                .map(|index| kind(windowed(index)))
                .collect());
        }
        None => {}
    }
    let full = config
        .count("max_window_layers", Limit::Layers)?
        .unwrap_or(0);
    if full == 0 {
        fields.assume("There is a window for attention and no pattern of layers: every layer is taken to see only the window.");
    }
    Ok((0..depth as u64).map(|index| kind(index >= full)).collect())
}
