use serde_json::{Value, json};

use super::{Sliced, Slicer};
use crate::engine::Memo;
use crate::engine::llamacpp::config::SplitMode;
use crate::engine::llamacpp::file_type::FileType;
use crate::engine::llamacpp::placement::{Placement, PlacementConfig};
use crate::engine::llamacpp::tensors::TensorTable;
use crate::model::{Model, from_config};
use crate::units::Bytes;

/// Four blocks of Llama's kind: 8 heads of 128, 3 of keys, 2816 inside.
fn model(change: &[(&str, Value)]) -> Model {
    let mut config = json!({
        "model_type": "llama", "architectures": ["LlamaForCausalLM"],
        "hidden_size": 1024, "num_hidden_layers": 4, "vocab_size": 1000,
        "num_attention_heads": 12, "num_key_value_heads": 3, "head_dim": 128,
        "intermediate_size": 2816, "max_position_embeddings": 4096,
        "tie_word_embeddings": false, "hidden_act": "silu", "rms_norm_eps": 1e-5,
    });
    for (name, value) in change {
        config[*name] = value.clone();
    }
    from_config("test", &config, &serde_json::Map::new()).expect("a model")
}

fn extents(model: &Model, shares: &[f64], gpus: usize, name: &str) -> Option<Vec<u64>> {
    let table = TensorTable::new(model, FileType::F16, false).expect("a file");
    let slicer = Slicer::new(&table, model, shares, gpus);
    let row = table.rows.iter().find(|row| row.tensor.name == name);
    slicer
        .weight(row.expect("there"))
        .map(|parts| parts.extents)
}

#[test]
fn heads_stay_whole_and_the_rest_moves_on() {
    let model = model(&[]);
    let of = |name: &str| extents(&model, &[], 2, name).expect("split");
    // Three key heads over two GPUs: one and two, turned around in the next block.
    assert_eq!(of("blk.0.attn_k.weight"), [128, 256]);
    assert_eq!(of("blk.1.attn_k.weight"), [256, 128]);
    // Queries and the output's inputs go along, four query heads to each key head.
    assert_eq!(of("blk.0.attn_q.weight"), [512, 1024]);
    assert_eq!(of("blk.0.attn_output.weight"), [512, 1024]);
    // 2816 is eleven times 256: half of it is rounded down to a multiple of 128.
    assert_eq!(of("blk.0.ffn_up.weight"), [1408, 1408]);
    assert_eq!(of("blk.0.ffn_down.weight"), [1408, 1408]);
    assert_eq!(of("output.weight"), [500, 500]);
    assert_eq!(extents(&model, &[], 2, "blk.0.attn_norm.weight"), None);
}

#[test]
fn shares_are_followed() {
    let model = model(&[]);
    let of = |name: &str| extents(&model, &[3.0, 1.0], 2, name).expect("split");
    assert_eq!(of("blk.0.ffn_up.weight"), [2048, 768]);
    // Shares turn with the rounding, so that each GPU keeps its own.
    assert_eq!(of("blk.1.ffn_up.weight"), [2176, 640]);
    assert_eq!(of("blk.0.attn_k.weight"), [256, 128]);
}

#[test]
fn parts_make_the_whole() {
    let model = model(&[]);
    let table = TensorTable::new(&model, FileType::Q8_0, false).expect("a file");
    let free = [Bytes::from_gib(64)];
    let config = PlacementConfig {
        free: &free,
        gpu_layers: 99,
        split_mode: SplitMode::Layer,
        tensor_split: &[],
        main_gpu: 0,
        overrides: &[],
        overflows: &[],
        remote: &[],
        packing: None,
    };
    let placement = Placement::new(&config, &table, &Memo::default()).expect("placed");
    for gpus in [1, 2, 3, 4] {
        let sliced = Sliced::new(&placement, &table, &model, &[], gpus);
        let all: Bytes = sliced.shares.iter().map(|share| share.bytes).sum();
        let further = sliced.mirrored * (gpus as u64 - 1);
        let whole = placement.gpus[0].bytes + further;
        // Each part is aligned for itself, and rows that got shorter end with room for the kernels.
        assert!(all >= whole, "{gpus}: {all} of {whole}");
        let room = Bytes::new(table.rows.len() as u64 * gpus as u64 * 1024);
        assert!(all <= whole + room, "{gpus}: {all} of {whole}");
        for layer in 0..4 {
            let rows = (0..gpus).filter_map(|gpu| sliced.cache(layer, gpu));
            let (k, v) = rows.fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
            assert_eq!((k, v), (3 * 128, 3 * 128));
        }
    }
}

#[test]
fn a_tied_head_is_held_whole() {
    let tied = model(&[("tie_word_embeddings", json!(true))]);
    let table = TensorTable::new(&tied, FileType::F16, false).expect("a file");
    let free = [Bytes::from_gib(64)];
    let config = PlacementConfig {
        free: &free,
        gpu_layers: 99,
        split_mode: SplitMode::Layer,
        tensor_split: &[],
        main_gpu: 0,
        overrides: &[],
        overflows: &[],
        remote: &[],
        packing: None,
    };
    let placement = Placement::new(&config, &table, &Memo::default()).expect("placed");
    let sliced = Sliced::new(&placement, &table, &tied, &[], 2);
    let head = Bytes::new(1000 * 1024 * 2);
    assert!(sliced.shares.iter().all(|share| share.copied == head));
}
