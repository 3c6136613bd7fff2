//! A plan that changes its engine keeps what both have.

use plimsoll::engine::llamacpp::LlamaCpp;
use plimsoll::engine::meaning::{counterpart, switch};
use plimsoll::engine::ollama::Ollama;
use plimsoll::engine::{ENGINES, Engine, carry_over};
use plimsoll::plan::Plan;

use super::settings;

fn check(from: &dyn Engine, to: &dyn Engine, written: &str, expected: &str) {
    let carried = carry_over(from, to, &settings(written));
    assert_eq!(carried, settings(expected), "{written}");
}

#[test]
fn from_llama_cpp_to_ollama() {
    for (written, expected) in [
        (
            "weights = \"Q5_K_M\"\nctx_size = 32768\nparallel = 4\nn_gpu_layers = 40\nubatch_size = 1024\n\
             cache_type_k = \"q8_0\"\ncache_type_v = \"q8_0\"\nflash_attn = \"on\"\nn_cpu_moe = 12\nload_mode = \"none\"",
            "weights = \"Q5_K_M\"\nkv_cache_type = \"q8_0\"\nnum_gpu = 40\nnum_ctx = 8192\nnum_parallel = 4\n\
             num_batch = 1024\nflash_attention = \"on\"\nuse_mmap = false",
        ),
        // Automatic slots share the context, and any of them may have all of it.
        (
            "c = 8192\nnp = \"auto\"\nngl = \"all\"",
            "num_gpu = \"all\"\nnum_ctx = 8192",
        ),
        // Ollama has no word for the trained context, nor for other formats.
        (
            "ctx_size = 0\ncache_type_k = \"q5_1\"\nn_gpu_layers = -1",
            "num_gpu = \"auto\"",
        ),
        ("split_mode = \"none\"\nmain_gpu = 1", "main_gpu = 1"),
        ("main_gpu = 1", ""),
    ] {
        check(&LlamaCpp, &Ollama, written, expected);
    }
}

#[test]
fn from_ollama_to_llama_cpp() {
    for (written, expected) in [
        (
            "weights = \"Q4_K_M\"\nnum_ctx = 8192\nnum_parallel = 4\nnum_gpu = -1\nnum_batch = 4096\n\
             kv_cache_type = \"q4_0\"\nkeep_alive = \"1h\"",
            "weights = \"Q4_K_M\"\ncache_type_k = \"q4_0\"\ncache_type_v = \"q4_0\"\nn_gpu_layers = \"auto\"\n\
             ctx_size = 32768\nparallel = 4\nbatch_size = 4096\nubatch_size = 4096",
        ),
        (
            "num_batch = 512\nmain_gpu = 1",
            "split_mode = \"none\"\nmain_gpu = 1\nubatch_size = 512",
        ),
        ("main_gpu = \"auto\"\nnum_batch = \"auto\"", ""),
        ("use_mmap = true", "load_mode = \"mmap\""),
    ] {
        check(&Ollama, &LlamaCpp, written, expected);
    }
}

/// What both can say comes back.
#[test]
fn there_and_back() {
    let written = "weights = \"Q6_K\"\nkv_cache_type = \"q8_0\"\nnum_gpu = 12\nmain_gpu = 1\nnum_ctx = 10240\n\
                   num_parallel = 3\nnum_batch = 128\nflash_attention = \"off\"\nuse_mmap = false";
    let there = carry_over(&Ollama, &LlamaCpp, &settings(written));
    assert_eq!(carry_over(&LlamaCpp, &Ollama, &there), settings(written));
}

#[test]
fn a_plan_takes_its_pins_along() {
    let text = "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"Qwen3-8B\"\n[settings]\nctx = 4096\n\
                [fit]\npinned = [\"ctx_size\", \"n_cpu_moe\", \"cache_type_k\", \"cache_type_v\"]\n";
    let mut plan = Plan::from_toml(text).unwrap();
    switch(&mut plan, &Ollama);
    assert_eq!(plan.engine, "ollama");
    assert_eq!(plan.settings, settings("num_ctx = 4096"));
    assert_eq!(plan.fit.pinned, ["kv_cache_type", "num_ctx"]);
}

/// No two settings of an engine claim to be the other engine's same one, but for formats of keys and values.
#[test]
fn names_lead_back() {
    for from in ENGINES {
        for to in ENGINES {
            for setting in from.settings() {
                let Some(there) = counterpart(*from, *to, setting.name) else {
                    continue;
                };
                let back = counterpart(*to, *from, there);
                assert!(back.is_some(), "{} of {}", setting.name, from.id());
            }
        }
    }
    assert_eq!(counterpart(&LlamaCpp, &Ollama, "c"), Some("num_ctx"));
    assert_eq!(
        counterpart(&Ollama, &LlamaCpp, "num_batch"),
        Some("ubatch_size")
    );
    assert_eq!(counterpart(&Ollama, &LlamaCpp, "keep_alive"), None);
}
