//! Cases from Ollama's own code.

use plimsoll::engine::llamacpp::LlamaCpp;
use plimsoll::engine::ollama::Ollama;
use plimsoll::plan::Settings;
use plimsoll::projection::Category;
use serde_json::Value as Json;

use super::{cards, model, number, of, ollama, project, settings};

fn rows() -> Vec<Json> {
    include_str!("../../data/oracle/ollama.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|row: &Json| row.get("id").is_some())
        .collect()
}

#[test]
fn contexts_slots_and_caches_are_as_its_code_has_them() {
    let llama = model("Llama-3.1-8B-Instruct");
    let machine = cards(&[80], 256);
    let mut seen = 0;
    for row in rows() {
        let (Some(set), Some(bytes)) = (row.get("set"), row["kv_bytes"].as_u64()) else {
            continue;
        };
        let written: Settings = serde_json::from_value(set.clone()).unwrap();
        let outcome = project(&Ollama, &llama, &machine, &written);
        assert_eq!(of(&outcome, Category::KvCache), bytes, "{}", row["id"]);
        if let (Some(context), Some(slots)) = (row["ctx_size"].as_u64(), row["parallel"].as_u64()) {
            let below = settings(&format!("ctx_size = {context}\nparallel = {slots}"));
            let below = project(&LlamaCpp, &llama, &machine, &below);
            assert_eq!(of(&below, Category::KvCache), bytes, "{}", row["id"]);
        }
        seen += 1;
    }
    assert_eq!(seen, 3);
}

#[test]
fn the_default_context_follows_the_memory_of_all_cards() {
    let model = model("Qwen3-Coder-30B-A3B-Instruct");
    let mut seen = 0;
    for row in rows() {
        let (Some(gib), Some(context)) = (row["total_vram_gib"].as_f64(), row["num_ctx"].as_i64())
        else {
            continue;
        };
        let mut machine = cards(&[1, 1], 64);
        for gpu in &mut machine.gpus {
            let half = plimsoll::units::Bytes::from_mib((gib * 512.0) as u64);
            gpu.memory.usable = half;
            gpu.memory.total = half;
        }
        let outcome = ollama(&model, &machine, "");
        assert_eq!(number(&outcome, "num_ctx"), context, "{}", row["id"]);
        seen += 1;
    }
    assert_eq!(seen, 3);
}

/// What is started takes, byte for byte, what llama.cpp takes with the flags that Ollama passes.
#[test]
fn what_is_started_is_llama_server() {
    let version = "engine_version = \"b10488\"\n";
    for (id, gpus, own, below) in [
        (
            "Qwen3-8B",
            &[24_u64][..],
            "num_ctx = 8192\nnum_parallel = 2\nnum_batch = 256\nnum_gpu = 20\nkv_cache_type = \"q8_0\"\nuse_mmap = true",
            "ctx_size = 16384\nparallel = 2\nbatch_size = 256\nubatch_size = 256\nn_gpu_layers = 20\n\
             cache_type_k = \"q8_0\"\ncache_type_v = \"q8_0\"\nload_mode = \"auto\"",
        ),
        (
            "gpt-oss-20b",
            &[16, 12],
            "weights = \"MXFP4_MOE\"\nnum_ctx = 32768\nsched_spread = true\nflash_attention = \"on\"\nuse_mmap = false",
            // Believed to take 15.6 of 28 GiB: no more than three quarters, so the batch is 1024.
            "weights = \"MXFP4_MOE\"\nctx_size = 32768\nparallel = 1\nbatch_size = 1024\nubatch_size = 1024\n\
             flash_attn = \"on\"\nload_mode = \"none\"",
        ),
        (
            "DeepSeek-V2-Lite",
            &[24],
            "num_ctx = 4096\nnum_gpu = \"all\"\nflash_attention = \"off\"\nuse_mmap = true",
            "ctx_size = 4096\nparallel = 1\nbatch_size = 512\nubatch_size = 512\nn_gpu_layers = \"all\"\nflash_attn = \"off\"",
        ),
        (
            "Qwen3-8B",
            &[],
            "num_ctx = 40960",
            "ctx_size = 40960\nparallel = 1\nbatch_size = 2048\nubatch_size = 2048\nload_mode = \"none\"",
        ),
    ] {
        let (model, machine) = (model(id), cards(gpus, 128));
        let own = ollama(&model, &machine, own);
        let below = project(
            &LlamaCpp,
            &model,
            &machine,
            &settings(&format!("{version}{below}")),
        );
        assert!(!own.refused, "{id}: {:?}", own.notes);
        assert_eq!(own.projection, below.projection, "{id}");
        assert_eq!(own.traffic, below.traffic, "{id}");
    }
}
