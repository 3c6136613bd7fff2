//! Vision towers and projectors: sizes by kind, from `vision_config`.

use super::config::{Config, Error, Limit};
use super::{Encoder, Model, Vision, product, sum};

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
    let parameters = match (outer, kind) {
        ("qwen2_5_vl", _) => qwen2_5(&config)?,
        ("qwen3_vl" | "qwen3_vl_moe" | "qwen3_5" | "qwen3_5_moe", _) => qwen3(&config)?,
        ("mistral3", "pixtral") => pixtral(&config, model.hidden_size)?,
        ("llama4", _) => llama4(&config, model.hidden_size)?,
        ("gemma3", _) => siglip(&config, model.hidden_size)?,
        ("gemma4", _) => gemma4(&config, model.hidden_size)?,
        ("deepseek_vl_v2", _) => deepseek_vl2(top, &config, model.hidden_size)?,
        ("kimi_k25", _) => moonvit(&config, model.hidden_size)?,
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
            parameters,
            hidden_size: config
                .first_size(&["hidden_size", "vt_hidden_size", "width"], Limit::Width)?,
            num_hidden_layers: config.first_size(&layers, Limit::Layers)?,
        },
        deepstack,
        patch_size: config.size("patch_size", Limit::Width)?,
        spatial_merge_size: merge(top, &config)?,
    }))
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
    top.size_or("spatial_merge_size", Limit::Width, 1)
}

/// A matrix with its bias.
fn linear(input: u64, output: u64) -> u64 {
    sum(&[product(&[input, output]), output])
}

/// A layer norm with bias.
fn norm(width: u64) -> u64 {
    product(&[2, width])
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
fn qwen2_5(config: &Config<'_>) -> Result<u64, Error> {
    let (depth, hidden, width) = shape(config, "depth")?;
    let output = config.size("out_hidden_size", Limit::Width)?;
    let merged = merged_width(config, hidden)?;
    let block = sum(&[
        product(&[2, hidden]),
        linear(hidden, product(&[3, hidden])),
        linear(hidden, hidden),
        product(&[2, linear(hidden, width)]),
        linear(width, hidden),
    ]);
    Ok(sum(&[
        product(&[patch(config)?, hidden]),
        product(&[depth, block]),
        hidden,
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
fn qwen3(config: &Config<'_>) -> Result<u64, Error> {
    let (depth, hidden, width) = shape(config, "depth")?;
    let output = config.size("out_hidden_size", Limit::Width)?;
    let group = merged_width(config, hidden)?;
    let mergers = config.indices("deepstack_visual_indexes")?.len() as u64;
    let block = sum(&[
        product(&[2, norm(hidden)]),
        linear(hidden, product(&[3, hidden])),
        linear(hidden, hidden),
        linear(hidden, width),
        linear(width, hidden),
    ]);
    let merger = sum(&[linear(group, group), linear(group, output)]);
    Ok(sum(&[
        linear(patch(config)?, hidden),
        product(&[config.size("num_position_embeddings", Limit::Rows)?, hidden]),
        product(&[depth, block]),
        norm(hidden),
        merger,
        product(&[mergers, sum(&[norm(group), merger])]),
    ]))
}

/// Pixtral with Mistral 3's projector (transformers 5.24.0 `modeling_pixtral.py`, `modeling_mistral3.py`).
fn pixtral(config: &Config<'_>, text: u64) -> Result<u64, Error> {
    let (depth, hidden, width) = shape(config, "num_hidden_layers")?;
    let block = sum(&[
        product(&[2, hidden]),
        product(&[4, hidden, hidden]),
        product(&[3, hidden, width]),
    ]);
    Ok(sum(&[
        product(&[patch(config)?, hidden]),
        hidden,
        product(&[depth, block]),
        hidden,
        product(&[merged_width(config, hidden)?, hidden]),
        product(&[hidden, text]),
        product(&[text, text]),
    ]))
}

/// Llama 4 (transformers 5.24.0 `modeling_llama4.py`).
fn llama4(config: &Config<'_>, text: u64) -> Result<u64, Error> {
    let (depth, hidden, width) = shape(config, "num_hidden_layers")?;
    let edge = config.size("patch_size", Limit::Width)?;
    let patches = config.size("image_size", Limit::Width)? / edge;
    let input = config.size("projector_input_dim", Limit::Width)?;
    let output = config.size("projector_output_dim", Limit::Width)?;
    let block = sum(&[
        product(&[4, linear(hidden, hidden)]),
        linear(hidden, width),
        linear(width, hidden),
        product(&[2, norm(hidden)]),
    ]);
    Ok(sum(&[
        product(&[patch(config)?, hidden]),
        hidden,
        product(&[sum(&[product(&[patches, patches]), 1]), hidden]),
        product(&[2, norm(hidden)]),
        product(&[depth, block]),
        product(&[width, input]),
        product(&[input, output]),
        product(&[config.size("vision_output_dim", Limit::Width)?, text]),
    ]))
}

/// SigLIP with Gemma 3's projector (transformers 5.24.0 `modeling_siglip.py`, `modeling_gemma3.py`).
fn siglip(config: &Config<'_>, text: u64) -> Result<u64, Error> {
    let (depth, hidden, width) = shape(config, "num_hidden_layers")?;
    let edge = config.size("patch_size", Limit::Width)?;
    let patches = config.size("image_size", Limit::Width)? / edge;
    let block = sum(&[
        product(&[2, norm(hidden)]),
        product(&[4, linear(hidden, hidden)]),
        linear(hidden, width),
        linear(width, hidden),
    ]);
    Ok(sum(&[
        linear(patch(config)?, hidden),
        product(&[patches, patches, hidden]),
        product(&[depth, block]),
        norm(hidden),
        product(&[hidden, text]),
        hidden,
    ]))
}

/// SigLIP with its pooling head and DeepSeek-VL2's projector and separators (deepseek-ai/DeepSeek-VL2
/// `modeling_deepseek_vl_v2.py`).
fn deepseek_vl2(top: &Config<'_>, config: &Config<'_>, text: u64) -> Result<u64, Error> {
    let depth = config.size("layers", Limit::Layers)?;
    let hidden = config.size("width", Limit::Width)?;
    let ratio = config.number("mlp_ratio")?.unwrap_or(4.0);
    let width = (hidden as f64 * ratio.clamp(0.0, 64.0)) as u64;
    let tiles = top.list("candidate_resolutions")?.unwrap_or_default();
    let edge = tiles.first().and_then(|tile| tile.get(0)?.as_u64());
    let patches = edge.unwrap_or(0).min(1 << 20) / config.size("patch_size", Limit::Width)?;
    let network = sum(&[linear(hidden, width), linear(width, hidden)]);
    let attention = product(&[4, linear(hidden, hidden)]);
    let block = sum(&[attention, network, product(&[2, norm(hidden)])]);
    let pooling = sum(&[hidden, attention, network, norm(hidden)]);
    let merged = product(&[4, hidden]);
    Ok(sum(&[
        linear(patch(config)?, hidden),
        product(&[patches, patches, hidden]),
        product(&[depth, block]),
        norm(hidden),
        pooling,
        linear(merged, text),
        linear(text, text),
        product(&[2, text]),
    ]))
}

/// Gemma 4 (transformers 5.24.0 `modeling_gemma4.py`).
fn gemma4(config: &Config<'_>, text: u64) -> Result<u64, Error> {
    let (depth, hidden, width) = shape(config, "num_hidden_layers")?;
    let heads = config.size("num_attention_heads", Limit::Count)?;
    let head_dim = config.size("head_dim", Limit::Width)?;
    let positions = config.size("position_embedding_size", Limit::Rows)?;
    let block = sum(&[
        product(&[4, hidden, heads, head_dim]),
        product(&[2, head_dim]),
        product(&[3, hidden, width]),
        product(&[4, hidden]),
    ]);
    Ok(sum(&[
        product(&[patch(config)?, hidden]),
        product(&[2, positions, hidden]),
        product(&[depth, block]),
        product(&[hidden, text]),
    ]))
}

/// MoonViT with Kimi K2.5's patch merger.
fn moonvit(config: &Config<'_>, text: u64) -> Result<u64, Error> {
    let depth = config.size("vt_num_hidden_layers", Limit::Layers)?;
    let hidden = config.size("vt_hidden_size", Limit::Width)?;
    let width = config.size("vt_intermediate_size", Limit::Width)?;
    let rows = config.size("init_pos_emb_height", Limit::Width)?;
    let columns = config.size("init_pos_emb_width", Limit::Width)?;
    let merged = config
        .indices("merge_kernel_size")?
        .iter()
        .fold(hidden, |merged, edge| merged.saturating_mul(*edge));
    let block = sum(&[
        product(&[2, norm(hidden)]),
        linear(hidden, product(&[3, hidden])),
        linear(hidden, hidden),
        linear(hidden, width),
        linear(width, hidden),
    ]);
    Ok(sum(&[
        linear(patch(config)?, hidden),
        product(&[rows, columns, hidden]),
        product(&[depth, block]),
        norm(hidden),
        norm(hidden),
        linear(merged, merged),
        linear(merged, text),
    ]))
}
