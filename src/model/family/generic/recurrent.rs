//! Layers with a state of fixed size, by the usual fields.

use super::fields::Fields;
use crate::model::config::{Error, Limit};
use crate::model::mixer::{GatedDeltaNet, LightningAttention, Mamba2};
use crate::model::{Mixer, Model};

/// The recurrent mixer that the fields describe, if any.
pub(super) fn read(fields: &Fields<'_, '_>, model: &Model) -> Result<Option<Mixer>, Error> {
    if let Some(delta) = delta(fields)? {
        return Ok(Some(Mixer::GatedDelta(delta)));
    }
    if let Some(mamba) = mamba(fields, model)? {
        return Ok(Some(Mixer::Mamba2(mamba)));
    }
    if let Some(width) = fields.number(&["lru_width"], Limit::Width)? {
        let taps = fields.number(&["conv1d_width"], Limit::Width)?.unwrap_or(1);
        return Ok(Some(Mixer::Mamba2(filter(width, taps, 1))));
    }
    if let Some(taps) = fields.number(&["conv_L_cache"], Limit::Width)? {
        return Ok(Some(Mixer::Mamba2(filter(model.hidden_size, taps, 0))));
    }
    let head = fields.number(&["wkv_head_size"], Limit::Width)?;
    Ok(head.map(|head_dim| {
        Mixer::Lightning(LightningAttention {
            num_attention_heads: (model.hidden_size / head_dim).max(1),
            head_dim,
        })
    }))
}

/// Linear attention whose geometry no field describes: a square matrix of state per head.
pub(super) fn square(fields: &Fields<'_, '_>, heads: u64, head_dim: u64) -> Mixer {
    fields.assume("Some layers keep a state instead of a cache, but no field says of what size: a square matrix per head is assumed.");
    Mixer::Lightning(LightningAttention {
        num_attention_heads: heads.max(1),
        head_dim,
    })
}

fn delta(fields: &Fields<'_, '_>) -> Result<Option<GatedDeltaNet>, Error> {
    let config = fields.config;
    let keys = config.positive("linear_num_key_heads", Limit::Count)?;
    let values = config.positive("linear_num_value_heads", Limit::Count)?;
    let key_dim = config.positive("linear_key_head_dim", Limit::Width)?;
    let value_dim = config.positive("linear_value_head_dim", Limit::Width)?;
    let taps = config.positive("linear_conv_kernel_dim", Limit::Width)?;
    let (Some(keys), Some(values), Some(key_dim), Some(value_dim)) =
        (keys, values, key_dim, value_dim)
    else {
        return Ok(None);
    };
    Ok(Some(GatedDeltaNet {
        linear_num_key_heads: keys,
        linear_num_value_heads: values,
        linear_key_head_dim: key_dim,
        linear_value_head_dim: value_dim,
        // No convolution: one tap keeps nothing.
        linear_conv_kernel_dim: taps.unwrap_or(1),
    }))
}

/// Mamba; its first generation has no heads and no groups, which leaves both states as they are.
fn mamba(fields: &Fields<'_, '_>, model: &Model) -> Result<Option<Mamba2>, Error> {
    let states = [
        "mamba_d_state",
        "ssm_state_size",
        "state_size",
        "mamba_state_dim",
    ];
    let Some(d_state) = fields.number(&states, Limit::Width)? else {
        return Ok(None);
    };
    let heads = ["mamba_n_heads", "mamba_num_heads", "n_mamba_heads"];
    let heads = fields.number(&heads, Limit::Count)?;
    let head_dim = ["mamba_d_head", "mamba_head_dim", "mamba_headdim"];
    let head_dim = fields.number(&head_dim, Limit::Width)?;
    let inner = ["mamba_d_ssm", "mamba_intermediate_size", "d_inner"];
    let groups = ["mamba_n_groups", "mamba_ngroups", "n_groups"];
    let taps = [
        "mamba_d_conv",
        "conv_kernel",
        "mamba_conv_kernel_size",
        "d_conv",
    ];
    let written = fields.number(&inner, Limit::Width)?;
    let d_inner = match (written, heads, head_dim) {
        (Some(inner), ..) => inner,
        (None, Some(heads), Some(head_dim)) => heads.saturating_mul(head_dim),
        (None, ..) => {
            // The default of transformers' Mamba2Config.
            let expand = fields
                .number(&["mamba_expand", "expand"], Limit::Count)?
                .unwrap_or(2);
            expand.saturating_mul(model.hidden_size)
        }
    };
    Ok(Some(Mamba2 {
        d_inner,
        num_heads: heads.unwrap_or(0),
        d_state,
        n_groups: fields.number(&groups, Limit::Count)?.unwrap_or(0),
        // The default of transformers' Mamba2Config.
        d_conv: fields.number(&taps, Limit::Width)?.unwrap_or(4),
        conv_bias: true,
        proj_bias: false,
        norm: false,
    }))
}

/// A short convolution with so many elements of state per channel behind it.
fn filter(width: u64, taps: u64, d_state: u64) -> Mamba2 {
    Mamba2 {
        d_inner: width,
        d_conv: taps,
        d_state,
        ..Mamba2::default()
    }
}
