use serde_json::json;

use super::{Device, Error, Placement, PlacementConfig, weights_terms};
use crate::engine::Memo;
use crate::engine::llamacpp::config::{Override, SplitMode};
use crate::engine::llamacpp::file_type::FileType;
use crate::engine::llamacpp::host::tests::{loader, machine};
use crate::engine::llamacpp::tensors::TensorTable;
use crate::hardware::Vendor;
use crate::model::from_config;
use crate::units::Bytes;

/// Four blocks with four experts each, tied.
fn table() -> TensorTable {
    let config = json!({
        "model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"],
        "hidden_size": 256, "num_hidden_layers": 4, "vocab_size": 1024,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
        "intermediate_size": 512, "moe_intermediate_size": 256, "num_experts": 4,
        "num_experts_per_tok": 2, "decoder_sparse_step": 1, "mlp_only_layers": [],
        "max_position_embeddings": 4096, "tie_word_embeddings": true, "hidden_act": "silu",
    });
    let model = from_config("test", &config, &serde_json::Map::new()).expect("a model");
    TensorTable::new(&model, FileType::F16, false).expect("a file")
}

fn place(gpus: usize, gpu_layers: u64, overrides: &[Override]) -> Result<Placement, Error> {
    let free = vec![Bytes::from_gib(8); gpus];
    let config = PlacementConfig {
        free: &free,
        gpu_layers,
        split_mode: SplitMode::Layer,
        tensor_split: &[],
        main_gpu: 0,
        overrides,
        overflows: &[],
        remote: &[],
        packing: None,
    };
    Placement::new(&config, &table(), &Memo::default())
}

fn pattern(regex: &str, target: &str) -> Override {
    Override::Pattern {
        regex: regex.to_owned(),
        target: target.to_owned(),
    }
}

/// Devices of the tensors whose name contains `part`, in the order of the table, copies last.
fn homes(placement: &Placement, part: &str) -> Vec<Option<usize>> {
    let table = table();
    let named = |index: &usize| table.rows[*index].tensor.name.contains(part);
    let originals = (0..table.rows.len())
        .filter(named)
        .filter_map(|index| placement.rows[index]);
    let copies = placement
        .copies
        .iter()
        .filter(|(index, _)| named(index))
        .map(|(_, device)| *device);
    originals.chain(copies).map(Device::gpu).collect()
}

#[test]
fn a_tied_head_is_a_second_copy_only_where_it_lives_elsewhere() {
    let offloaded = place(1, 99, &[]).expect("placed");
    assert_eq!(homes(&offloaded, "token_embd"), [None, Some(0)]);
    assert_eq!(
        offloaded.of(Device::Gpu(0)).copied,
        Bytes::new(256 * 1024 * 2)
    );
    let on_host = place(1, 0, &[]).expect("placed");
    assert_eq!(homes(&on_host, "token_embd"), [None]);
    let moved = place(1, 99, &[pattern("token_embd", "CUDA0")]).expect("placed");
    assert_eq!(homes(&moved, "token_embd"), [Some(0)]);
}

#[test]
fn the_last_layers_are_offloaded() {
    let placement = place(1, 2, &[]).expect("placed");
    let (host, gpu) = (Device::Host, Device::Gpu(0));
    assert_eq!(placement.blocks, [host, host, host, gpu]);
    assert_eq!(placement.output, gpu);
    assert_eq!(placement.of(gpu).blocks, 1);
    assert_eq!(
        placement.total(),
        placement.of(gpu).bytes + placement.host.bytes
    );
}

#[test]
fn the_first_matching_rule_wins() {
    let rules = [
        pattern(r"blk\.0\.ffn_up_exps", "CUDA1"),
        Override::Experts { blocks: 2 },
        pattern("ffn_up_exps", "CUDA0"),
    ];
    let placement = place(2, 99, &rules).expect("placed");
    assert_eq!(
        homes(&placement, "ffn_up_exps"),
        [Some(1), None, Some(0), Some(0)]
    );
    // Five units over two equal cards: three, then one and the output layer.
    assert_eq!(
        homes(&placement, "ffn_down_exps"),
        [None, None, Some(0), Some(1)]
    );
    assert_eq!(homes(&placement, "attn_q.weight")[0], Some(0));
}

#[test]
fn refusals_say_what_is_wrong() {
    let message = |rule| place(1, 99, &[rule]).unwrap_err().to_string();
    assert_eq!(
        message(pattern("x", "CUDA1")),
        "unknown buffer type `CUDA1`: this machine has CPU and CUDA0"
    );
    assert!(message(pattern("(", "CPU")).starts_with("cannot evaluate the pattern `(`: unclosed"));
}

#[test]
fn terms_say_what_a_device_holds() {
    let table = table();
    let texts = |placement: &Placement, device: Device| {
        let loader = loader(&machine(&[Vendor::Nvidia], &[]), &[]);
        let mut all = weights_terms(placement, &table, loader);
        let terms = all.remove(device.gpu().unwrap_or(placement.gpus.len()));
        let total: Bytes = terms.iter().map(|term| term.bytes).sum();
        assert_eq!(total, placement.of(device).bytes);
        let texts: Vec<String> = terms.iter().map(|term| term.why.text()).collect();
        texts
    };
    let placement = place(1, 3, &[Override::AllExperts]).expect("placed");
    assert_eq!(
        texts(&placement, Device::Gpu(0)),
        [
            "F16: 8 tensors in F16 = 768.0 KiB, 11 in F32 = 14.0 KiB over 2 of 4 blocks and the output layer; 16.03 bits per weight over the whole file",
            "held a second time, because a block or the output layer here needs it (the embedding as output head, rotary factors): 1 tensor in F16 = 512.0 KiB",
        ]
    );
    assert_eq!(
        texts(&placement, Device::Host),
        [
            "F16: 15 tensors in F16 = 4.2 MiB, 10 in F32 = 13.0 KiB over the input embedding and 2 of 4 blocks; pages of the file: every token needs them, and what the system drops is read from the disk again",
            "kept in main memory by expert offload or tensor overrides, or because the GPU lacks the operation: 6 tensors in F16 = 3.0 MiB; pages of the file: every token needs them, and what the system drops is read from the disk again",
        ]
    );
    let none = place(1, 0, &[]).expect("placed");
    assert!(texts(&none, Device::Gpu(0)).is_empty());
}
