//! Softmax attention of every kind.

use super::Architecture;
use super::build::Build;
use crate::model::mixer::{Attention, CompressedAttention, Indexer, LatentAttention, QkNorm};
use crate::model::{Norm, product, sum};

/// MHA, MQA and GQA.
pub(super) fn grouped(build: &mut Build<'_>, heads: &Attention) {
    let width = build.width();
    let query = product(&[if heads.output_gate { 2 } else { 1 }, heads.q_width()]);
    let (key, value) = (heads.k_width(), heads.v_width());
    if fuses_projections(build) {
        let all = sum(&[query, key, value]);
        build.linear("attn_qkv", width, all, heads.qkv_bias);
    } else {
        build.linear("attn_q", width, query, heads.qkv_bias);
        build.linear("attn_k", width, key, heads.qkv_bias);
        if !heads.k_eq_v {
            build.linear("attn_v", width, value, heads.qkv_bias);
        }
    }
    build.linear("attn_output", heads.output_width(), width, heads.o_bias);
    query_key_norms(build, heads);
    if heads.sinks {
        build.single("attn_sinks", &[heads.num_attention_heads]);
    }
    if let Some(indexer) = heads.block_indexer {
        let dim = indexer.head_dim;
        build.weight(
            "indexer.q_proj",
            &[width, product(&[indexer.num_heads, dim])],
        );
        build.weight("indexer.k_proj", &[width, dim]);
        build.norm("indexer.q_norm", Norm::Rms, dim);
        build.norm("indexer.k_norm", Norm::Rms, dim);
    }
}

/// Phi-3's checkpoints, those of Ling 2, and ChatGLM's own but not their conversion for transformers, hold one matrix for all three.
fn fuses_projections(build: &Build<'_>) -> bool {
    match build.architecture {
        Architecture::Phi3 | Architecture::BailingMoe2 => true,
        Architecture::ChatGlm => build.model.model_type == "chatglm",
        _ => false,
    }
}

fn query_key_norms(build: &mut Build<'_>, heads: &Attention) {
    let (query, key): (&[u64], &[u64]) = match (heads.qk_norm, build.architecture) {
        (QkNorm::None | QkNorm::Weightless, _) => return,
        (QkNorm::PerHead, _) => (&[heads.head_dim], &[heads.head_dim]),
        (QkNorm::Full, Architecture::CommandR | Architecture::StableLm) => (
            &[heads.head_dim, heads.num_attention_heads],
            &[heads.head_dim, heads.num_key_value_heads],
        ),
        (QkNorm::Full, _) => (&[heads.q_width()], &[heads.k_width()]),
    };
    build.single("attn_q_norm", query);
    build.single("attn_k_norm", key);
}

/// MLA; in the absorbed form the expansion is split per head (`src/models/deepseek2.cpp`, 0.6.0-dev).
pub(super) fn latent(build: &mut Build<'_>, latent: &LatentAttention) {
    let width = build.width();
    let heads = latent.num_attention_heads;
    let query = product(&[heads, latent.qk_head_dim()]);
    match latent.q_lora_rank {
        Some(rank) => {
            build.weight("attn_q_a", &[width, rank]);
            build.norm("attn_q_a_norm", Norm::Rms, rank);
            build.weight("attn_q_b", &[rank, query]);
        }
        None => build.weight("attn_q", &[width, query]),
    }
    let rank = latent.kv_lora_rank;
    build.weight("attn_kv_a_mqa", &[width, latent.latent_width()]);
    build.norm("attn_kv_a_norm", Norm::Rms, rank);
    if build.architecture.expands_latents() {
        let expanded = sum(&[latent.qk_nope_head_dim, latent.v_head_dim]);
        build.weight("attn_kv_b", &[rank, product(&[heads, expanded])]);
    } else {
        build.weight("attn_k_b", &[latent.qk_nope_head_dim, rank, heads]);
        build.weight("attn_v_b", &[rank, latent.v_head_dim, heads]);
    }
    let output = product(&[heads, latent.v_head_dim]);
    if latent.output_gate {
        build.weight("attn_gate", &[width, output]);
    }
    build.weight("attn_output", &[output, width]);
    if let Some(indexer) = latent.sparse.filter(|indexer| indexer.owned) {
        let input = latent.q_lora_rank.unwrap_or(width);
        let dim = indexer.index_head_dim;
        index_queries(build, indexer, input);
        build.weight("indexer.attn_k", &[width, dim]);
        build.norm("indexer.k_norm", Norm::LayerNormWithBias, dim);
    }
}

fn index_queries(build: &mut Build<'_>, indexer: Indexer, input: u64) {
    let width = build.width();
    let queries = product(&[indexer.index_n_heads, indexer.index_head_dim]);
    build.weight("indexer.attn_q_b", &[input, queries]);
    build.weight("indexer.proj", &[width, indexer.index_n_heads]);
}

/// DeepSeek-V4 (`src/models/deepseek4.cpp`, 0.6.0-dev).
pub(super) fn compressed(build: &mut Build<'_>, attention: &CompressedAttention) {
    let width = build.width();
    let dim = attention.head_dim;
    let query = product(&[attention.num_attention_heads, dim]);
    let (groups, rank) = (attention.o_groups, attention.o_lora_rank);
    build.single("attn_sinks", &[attention.num_attention_heads]);
    build.weight("attn_q_a", &[width, attention.q_lora_rank]);
    build.norm("attn_q_a_norm", Norm::Rms, attention.q_lora_rank);
    build.weight("attn_q_b", &[attention.q_lora_rank, query]);
    build.weight("attn_kv", &[width, dim]);
    build.norm("attn_kv_a_norm", Norm::Rms, dim);
    // A group's rows follow each other in the file; the loader reads them as one matrix per group.
    let group = query.checked_div(groups).unwrap_or(0);
    build.weight("attn_output_a", &[group, product(&[rank, groups])]);
    build.weight("attn_output_b", &[product(&[groups, rank]), width]);
    if attention.compress_ratio == 0 {
        return;
    }
    compressor(build, "attn_compressor", attention, dim);
    if let Some(indexer) = attention.indexer {
        index_queries(build, indexer, attention.q_lora_rank);
        compressor(
            build,
            "indexer_compressor",
            attention,
            indexer.index_head_dim,
        );
    }
}

fn compressor(build: &mut Build<'_>, name: &str, attention: &CompressedAttention, dim: u64) {
    let width = build.width();
    let columns = product(&[if attention.overlaps() { 2 } else { 1 }, dim]);
    build.weight(&format!("{name}_kv"), &[width, columns]);
    build.weight(&format!("{name}_gate"), &[width, columns]);
    build.weight(&format!("{name}_ape"), &[columns, attention.compress_ratio]);
    build.norm(&format!("{name}_norm"), Norm::Rms, dim);
}
