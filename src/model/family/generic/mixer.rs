//! Attention by the usual fields.

use super::fields::Fields;
use super::recurrent;
use crate::model::config::{Error, Limit};
use crate::model::family::base;
use crate::model::mixer::{Attention, LatentAttention, QkNorm, Reach};
use crate::model::{Mixer, Model};

const HEADS: [&str; 4] = ["num_attention_heads", "n_head", "n_heads", "num_heads"];

const KEY_VALUE_HEADS: [&str; 6] = [
    "num_key_value_heads",
    "n_kv_heads",
    "num_kv_heads",
    "n_head_kv",
    "num_query_groups",
    "multi_query_group_num",
];

const HEAD_DIM: [&str; 5] = [
    "head_dim",
    "d_head",
    "attention_head_dim",
    "kv_channels",
    "head_size",
];

/// What the layers of a model choose from.
pub(super) struct Mixers {
    /// Attention over the whole context, where the model has heads.
    pub(super) attention: Option<Mixer>,
    /// Heads of keys and values by layer; 0 where a layer has no attention.
    pub(super) key_value_heads: Vec<u64>,
    /// Query heads by layer.
    pub(super) heads: Vec<u64>,
    /// What windowed layers see.
    pub(super) window: Option<Reach>,
    /// What recurrent layers are, where fields describe them.
    pub(super) recurrent: Option<Mixer>,
}

impl Mixers {
    /// `None` where there are neither heads nor a recurrent state.
    pub(super) fn read(
        fields: &Fields<'_, '_>,
        model: &Model,
        depth: usize,
    ) -> Result<Option<Self>, Error> {
        let recurrent = recurrent::read(fields, model)?;
        let Some(heads) = fields.per_layer(&HEADS, Limit::Count, depth)? else {
            let pure = Self {
                attention: None,
                key_value_heads: vec![0; depth],
                heads: vec![0; depth],
                window: None,
                recurrent,
            };
            return Ok(pure.recurrent.is_some().then_some(pure));
        };
        let key_value_heads = match fields.flag(&["multi_query"])? {
            Some(true) => Some(vec![1; depth]),
            _ => fields.per_layer(&KEY_VALUE_HEADS, Limit::Count, depth)?,
        };
        let most = heads.iter().copied().max().unwrap_or_default();
        let attention = match latent(fields, most)? {
            Some(latent) => Mixer::Latent(latent),
            None => Mixer::Attention(attention(fields, model, most)?),
        };
        if key_value_heads.is_none() && matches!(attention, Mixer::Attention(_)) {
            fields.assume("It is not said how heads are grouped: keys and values are taken to have as many heads as queries.");
        }
        Ok(Some(Self {
            attention: (most > 0).then_some(attention),
            key_value_heads: key_value_heads.unwrap_or_else(|| heads.clone()),
            heads,
            window: window(fields, model)?,
            recurrent,
        }))
    }

    /// Rotated dimensions of a head.
    pub(super) fn rotary_dim(&self) -> u64 {
        match &self.attention {
            Some(Mixer::Attention(attention)) => attention.rotary_dim,
            Some(Mixer::Latent(latent)) => latent.qk_rope_head_dim,
            _ => 0,
        }
    }

    /// No dimension of a head is rotated.
    pub(super) fn unrotated(&mut self) {
        if let Some(Mixer::Attention(attention)) = &mut self.attention {
            attention.rotary_dim = 0;
        }
    }
}

/// Softmax attention; its layers' own numbers of heads are set later.
fn attention(fields: &Fields<'_, '_>, model: &Model, heads: u64) -> Result<Attention, Error> {
    let config = fields.config;
    let head_dim = match fields.number(&HEAD_DIM, Limit::Width)? {
        Some(head_dim) => head_dim,
        None => (model.hidden_size / heads.max(1)).max(1),
    };
    let value = fields.number(&["v_head_dim", "value_head_dim"], Limit::Width)?;
    let bias = fields
        .flag(&["attention_bias", "use_bias", "bias"])?
        .unwrap_or(false);
    let qkv_bias = fields.flag(&["qkv_bias", "add_qkv_bias", "use_qkv_bias"])?;
    let normed = fields.flag(&["use_qk_norm", "qk_layernorm", "qk_norm"])? == Some(true);
    Ok(Attention {
        num_attention_heads: heads,
        num_key_value_heads: heads,
        head_dim,
        v_head_dim: value.unwrap_or(head_dim),
        rotary_dim: base::rotary_dim(config, head_dim)?,
        qkv_bias: qkv_bias.unwrap_or(bias),
        o_bias: bias,
        qk_norm: if normed {
            QkNorm::PerHead
        } else {
            QkNorm::None
        },
        logit_softcapping: config.number("attn_logit_softcapping")?.is_some(),
        ..Attention::default()
    })
}

/// Latent attention, where keys and values are compressed and all its widths are there.
fn latent(fields: &Fields<'_, '_>, heads: u64) -> Result<Option<LatentAttention>, Error> {
    let config = fields.config;
    let Some(kv_lora_rank) = config.positive("kv_lora_rank", Limit::Width)? else {
        return Ok(None);
    };
    if !config.flag("use_mla", true)? {
        return Ok(None);
    }
    let plain = config.positive("qk_nope_head_dim", Limit::Width)?;
    let rotated = config.positive("qk_rope_head_dim", Limit::Width)?;
    let value = fields.number(&["v_head_dim", "value_head_dim"], Limit::Width)?;
    let (Some(plain), Some(rotated), Some(v_head_dim)) = (plain, rotated, value) else {
        fields.assume("Keys and values are compressed (`kv_lora_rank`), but not all widths of heads are there: the cache is taken to hold whole keys and values.");
        return Ok(None);
    };
    let sparse = config.positive("index_topk", Limit::Tokens)?;
    Ok(Some(LatentAttention {
        num_attention_heads: heads.max(1),
        q_lora_rank: config.positive("q_lora_rank", Limit::Width)?,
        kv_lora_rank,
        qk_nope_head_dim: plain,
        qk_rope_head_dim: rotated,
        v_head_dim,
        output_gate: false,
        sparse: sparse.map(|_| base::indexer(config)).transpose()?,
    }))
}

/// What windowed layers see, where there is a window that is used.
fn window(fields: &Fields<'_, '_>, model: &Model) -> Result<Option<Reach>, Error> {
    if fields.flag(&["use_sliding_window"])? == Some(false) {
        return Ok(None);
    }
    let config = fields.config;
    if let Some(chunk) = config.positive("attention_chunk_size", Limit::Tokens)? {
        return Ok(Some(Reach::Chunk(chunk)));
    }
    let names = [
        "sliding_window",
        "sliding_window_size",
        "attention_window_size",
    ];
    let window = fields.number(&names, Limit::Tokens)?;
    let narrow =
        window.filter(|window| model.context_length == 0 || *window < model.context_length);
    Ok(narrow.map(Reach::Window))
}
