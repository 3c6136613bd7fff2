//! Vision towers and projectors: sizes by kind, from `vision_config`.

use super::config::{Config, Error, Limit};
use super::encoder::{Encoder, Shares, Tower, TowerKind};
use super::{Model, Vision, product};

/// The vision tower of a configuration, where it has one. `None` for towers of unknown kind too: what is not known is
/// not counted.
pub(super) fn read(top: &Config<'_>, model: &Model) -> Result<Option<Vision>, Error> {
    let Some(config) = top.object("vision_config")? else {
        return Ok(None);
    };
    let outer = top.text("model_type")?.unwrap_or_default();
    let kind = match config.text("model_type")? {
        Some(kind) => kind,
        None => outer,
    };
    let text = model.hidden_size;
    let (shares, kind) = match (outer, kind) {
        ("qwen2_5_vl", _) => (qwen2_5(&config)?, TowerKind::Qwen25),
        ("qwen3_vl" | "qwen3_vl_moe" | "qwen3_5" | "qwen3_5_moe", _) => {
            (qwen3(&config)?, TowerKind::Qwen3)
        }
        ("mistral3", "pixtral") => (pixtral(&config, text)?, TowerKind::Pixtral),
        ("llama4", _) => (llama4(&config, text)?, TowerKind::Llama4),
        ("gemma3", _) => (siglip(&config, text)?, TowerKind::Siglip),
        ("gemma4", _) => (gemma4(&config, text)?, TowerKind::Gemma4),
        ("deepseek_vl_v2", _) => (deepseek_vl2(top, &config, text)?, TowerKind::Other),
        ("kimi_k25", _) => (moonvit(&config, text)?, TowerKind::Moon),
        _ => return Ok(None),
    };
    let layers = [
        "num_hidden_layers",
        "depth",
        "vt_num_hidden_layers",
        "layers",
    ];
    let deepstack = config.indices("deepstack_visual_indexes")?.len() as u64;
    Ok(Some(Vision {
        encoder: Encoder {
            parameters: shares.total(),
            hidden_size: config
                .first_size(&["hidden_size", "vt_hidden_size", "width"], Limit::Width)?,
            num_hidden_layers: config.first_size(&layers, Limit::Layers)?,
        },
        tower: Tower {
            kind,
            shares,
            heads: first(&config, &HEADS, Limit::Count)?,
            intermediate_size: first(&config, &WIDTHS, Limit::Width)?,
            image_size: config.positive("image_size", Limit::Rows)?.unwrap_or(0),
            output_size: text,
        },
        deepstack,
        patch_size: config.size("patch_size", Limit::Width)?,
        spatial_merge_size: merge(top, &config)?,
    }))
}

/// What configurations call the attention heads.
const HEADS: [&str; 3] = ["num_attention_heads", "num_heads", "vt_num_attention_heads"];

/// What configurations call the width of the feed-forward network.
const WIDTHS: [&str; 2] = ["intermediate_size", "vt_intermediate_size"];

/// The first of several fields that is there; 0 where none is.
fn first(config: &Config<'_>, fields: &[&str], limit: Limit) -> Result<u64, Error> {
    for field in fields {
        if let Some(size) = config.positive(field, limit)? {
            return Ok(size);
        }
    }
    Ok(0)
}

/// Patches along one edge that become one token, wherever the configuration says it.
fn merge(top: &Config<'_>, config: &Config<'_>) -> Result<u64, Error> {
    if let Some(size) = config.positive("spatial_merge_size", Limit::Width)? {
        return Ok(size);
    }
    if let Some(size) = config.positive("pooling_kernel_size", Limit::Width)? {
        return Ok(size);
    }
    if let Some(edge) = config.indices("merge_kernel_size")?.first() {
        return Ok((*edge).clamp(1, 1 << 10));
    }
    if let Some(ratio) = config.number("pixel_shuffle_ratio")?
        && ratio > 0.0
    {
        return Ok((1.0 / ratio).clamp(1.0, 1024.0) as u64);
    }
    // The default of transformers' Gemma3Config.
    let gemma3 = (top.text("model_type")? == Some("gemma3")).then_some(256);
    let tokens = top.positive("mm_tokens_per_image", Limit::Rows)?;
    if let Some(tokens) = tokens.or(gemma3) {
        let edge = config.size("patch_size", Limit::Width)?;
        let side = config.size("image_size", Limit::Width)? / edge;
        return Ok((side / tokens.isqrt().max(1)).max(1));
    }
    top.size_or("spatial_merge_size", Limit::Width, 1)
}

/// A matrix.
fn matrix(factors: &[u64]) -> Shares {
    Shares {
        matrices: product(factors),
        ..Shares::default()
    }
}

/// Vectors: biases, norms, separators.
fn vectors(factors: &[u64]) -> Shares {
    Shares {
        vectors: product(factors),
        ..Shares::default()
    }
}

/// A matrix with its bias.
fn linear(input: u64, output: u64) -> Shares {
    Shares {
        matrices: product(&[input, output]),
        vectors: output,
        ..Shares::default()
    }
}

/// A layer norm with bias.
fn norm(width: u64) -> Shares {
    vectors(&[2, width])
}

/// The matrix from pixels to the first layer.
fn patches(config: &Config<'_>, hidden: u64) -> Result<Shares, Error> {
    Ok(Shares {
        patches: product(&[patch(config)?, hidden]),
        ..Shares::default()
    })
}

/// Learnt positions.
fn positions(factors: &[u64]) -> Shares {
    Shares {
        positions: product(factors),
        ..Shares::default()
    }
}

fn sum<const N: usize>(shares: [Shares; N]) -> Shares {
    shares.into_iter().fold(Shares::default(), Shares::plus)
}

/// Depth, width and feed-forward width.
fn shape(config: &Config<'_>, layers: &str) -> Result<(u64, u64, u64), Error> {
    Ok((
        config.size(layers, Limit::Layers)?,
        config.size("hidden_size", Limit::Width)?,
        config.size("intermediate_size", Limit::Width)?,
    ))
}

/// Values of one patch.
fn patch(config: &Config<'_>) -> Result<u64, Error> {
    let edge = config.size("patch_size", Limit::Width)?;
    let channels = ["num_channels", "in_channels", "in_chans"];
    let mut count = 3;
    for field in channels {
        count = config.positive(field, Limit::Width)?.unwrap_or(count);
    }
    let frames = config.size_or("temporal_patch_size", Limit::Width, 1)?;
    Ok(product(&[count, frames, edge, edge]))
}

/// Qwen2.5-VL (transformers 5.24.0 `modeling_qwen2_5_vl.py`).
fn qwen2_5(config: &Config<'_>) -> Result<Shares, Error> {
    let (depth, hidden, width) = shape(config, "depth")?;
    let output = config.size("out_hidden_size", Limit::Width)?;
    let merged = merged_width(config, hidden)?;
    let block = sum([
        vectors(&[2, hidden]),
        linear(hidden, product(&[3, hidden])),
        linear(hidden, hidden),
        linear(hidden, width).times(2),
        linear(width, hidden),
    ]);
    Ok(sum([
        patches(config, hidden)?,
        block.times(depth),
        vectors(&[hidden]),
        linear(merged, merged),
        linear(merged, output),
    ]))
}

/// Width of the patches that become one token together.
fn merged_width(config: &Config<'_>, hidden: u64) -> Result<u64, Error> {
    let edge = config.size_or("spatial_merge_size", Limit::Width, 2)?;
    Ok(product(&[hidden, edge, edge]))
}

/// Qwen3-VL and Qwen3.5 (transformers 5.24.0 `modeling_qwen3_vl.py`), with a merger per intermediate output.
fn qwen3(config: &Config<'_>) -> Result<Shares, Error> {
    let (depth, hidden, width) = shape(config, "depth")?;
    let output = config.size("out_hidden_size", Limit::Width)?;
    let group = merged_width(config, hidden)?;
    let mergers = config.indices("deepstack_visual_indexes")?.len() as u64;
    let block = sum([
        norm(hidden).times(2),
        linear(hidden, product(&[3, hidden])),
        linear(hidden, hidden),
        linear(hidden, width),
        linear(width, hidden),
    ]);
    let merger = sum([linear(group, group), linear(group, output)]);
    Ok(sum([
        patches(config, hidden)?,
        vectors(&[hidden]),
        positions(&[config.size("num_position_embeddings", Limit::Rows)?, hidden]),
        block.times(depth),
        norm(hidden),
        merger,
        sum([norm(group), merger]).times(mergers),
    ]))
}

/// Pixtral with Mistral 3's projector (transformers 5.24.0 `modeling_pixtral.py`, `modeling_mistral3.py`).
fn pixtral(config: &Config<'_>, text: u64) -> Result<Shares, Error> {
    let (depth, hidden, width) = shape(config, "num_hidden_layers")?;
    let block = sum([
        vectors(&[2, hidden]),
        matrix(&[4, hidden, hidden]),
        matrix(&[3, hidden, width]),
    ]);
    Ok(sum([
        patches(config, hidden)?,
        vectors(&[hidden]),
        block.times(depth),
        vectors(&[hidden]),
        matrix(&[merged_width(config, hidden)?, hidden]),
        matrix(&[hidden, text]),
        matrix(&[text, text]),
    ]))
}

/// Llama 4 (transformers 5.24.0 `modeling_llama4.py`).
fn llama4(config: &Config<'_>, text: u64) -> Result<Shares, Error> {
    let (depth, hidden, width) = shape(config, "num_hidden_layers")?;
    let edge = config.size("patch_size", Limit::Width)?;
    let side = config.size("image_size", Limit::Width)? / edge;
    let input = config.size("projector_input_dim", Limit::Width)?;
    let output = config.size("projector_output_dim", Limit::Width)?;
    let block = sum([
        linear(hidden, hidden).times(4),
        linear(hidden, width),
        linear(width, hidden),
        norm(hidden).times(2),
    ]);
    Ok(sum([
        patches(config, hidden)?,
        vectors(&[hidden]),
        positions(&[product(&[side, side]).saturating_add(1), hidden]),
        norm(hidden).times(2),
        block.times(depth),
        matrix(&[width, input]),
        matrix(&[input, output]),
        matrix(&[config.size("vision_output_dim", Limit::Width)?, text]),
    ]))
}

/// SigLIP with Gemma 3's projector (transformers 5.24.0 `modeling_siglip.py`, `modeling_gemma3.py`).
fn siglip(config: &Config<'_>, text: u64) -> Result<Shares, Error> {
    let (depth, hidden, width) = shape(config, "num_hidden_layers")?;
    let edge = config.size("patch_size", Limit::Width)?;
    let side = config.size("image_size", Limit::Width)? / edge;
    let block = sum([
        norm(hidden).times(2),
        linear(hidden, hidden).times(4),
        linear(hidden, width),
        linear(width, hidden),
    ]);
    Ok(sum([
        patches(config, hidden)?,
        vectors(&[hidden]),
        positions(&[side, side, hidden]),
        block.times(depth),
        norm(hidden),
        matrix(&[hidden, text]),
        vectors(&[hidden]),
    ]))
}

/// SigLIP with its pooling head and DeepSeek-VL2's projector and separators (deepseek-ai/DeepSeek-VL2
/// `modeling_deepseek_vl_v2.py`).
fn deepseek_vl2(top: &Config<'_>, config: &Config<'_>, text: u64) -> Result<Shares, Error> {
    let depth = config.size("layers", Limit::Layers)?;
    let hidden = config.size("width", Limit::Width)?;
    let ratio = config.number("mlp_ratio")?.unwrap_or(4.0);
    let width = (hidden as f64 * ratio.clamp(0.0, 64.0)) as u64;
    let tiles = top.list("candidate_resolutions")?.unwrap_or_default();
    let edge = tiles.first().and_then(|tile| tile.get(0)?.as_u64());
    let side = edge.unwrap_or(0).min(1 << 20) / config.size("patch_size", Limit::Width)?;
    let network = sum([linear(hidden, width), linear(width, hidden)]);
    let attention = linear(hidden, hidden).times(4);
    let block = sum([attention, network, norm(hidden).times(2)]);
    let pooling = sum([vectors(&[hidden]), attention, network, norm(hidden)]);
    let merged = product(&[4, hidden]);
    Ok(sum([
        patches(config, hidden)?,
        vectors(&[hidden]),
        positions(&[side, side, hidden]),
        block.times(depth),
        norm(hidden),
        pooling,
        linear(merged, text),
        linear(text, text),
        vectors(&[2, text]),
    ]))
}

/// Gemma 4 (transformers 5.24.0 `modeling_gemma4.py`).
fn gemma4(config: &Config<'_>, text: u64) -> Result<Shares, Error> {
    let (depth, hidden, width) = shape(config, "num_hidden_layers")?;
    let heads = config.size("num_attention_heads", Limit::Count)?;
    let head_dim = config.size("head_dim", Limit::Width)?;
    let table = config.size("position_embedding_size", Limit::Rows)?;
    let block = sum([
        matrix(&[4, hidden, heads, head_dim]),
        vectors(&[2, head_dim]),
        matrix(&[3, hidden, width]),
        vectors(&[4, hidden]),
    ]);
    Ok(sum([
        patches(config, hidden)?,
        positions(&[2, table, hidden]),
        block.times(depth),
        matrix(&[hidden, text]),
    ]))
}

/// MoonViT with Kimi K2.5's patch merger.
fn moonvit(config: &Config<'_>, text: u64) -> Result<Shares, Error> {
    let depth = config.size("vt_num_hidden_layers", Limit::Layers)?;
    let hidden = config.size("vt_hidden_size", Limit::Width)?;
    let width = config.size("vt_intermediate_size", Limit::Width)?;
    let rows = config.size("init_pos_emb_height", Limit::Width)?;
    let columns = config.size("init_pos_emb_width", Limit::Width)?;
    let merged = config
        .indices("merge_kernel_size")?
        .iter()
        .fold(hidden, |merged, edge| merged.saturating_mul(*edge));
    let block = sum([
        norm(hidden).times(2),
        linear(hidden, product(&[3, hidden])),
        linear(hidden, hidden),
        linear(hidden, width),
        linear(width, hidden),
    ]);
    Ok(sum([
        patches(config, hidden)?,
        vectors(&[hidden]),
        positions(&[rows, columns, hidden]),
        block.times(depth),
        norm(hidden),
        norm(hidden),
        linear(merged, merged),
        linear(merged, text),
    ]))
}
