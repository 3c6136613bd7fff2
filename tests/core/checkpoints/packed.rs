//! Whole checkpoints of each form of weights, tensor by tensor as their makers write them: bytes as published, and
//! the parameters of the model whatever they are packed into.

use plimsoll::model::{Model, from_config};
use plimsoll::source::checkpoint;
use serde_json::{Map, Value, json};

use super::synthetic::{Folder, Tensor, safetensors, tensor};
use crate::models::preset;

/// How one matrix is written: its name, rows (outputs) and columns (inputs).
type Pack = fn(&str, u64, u64) -> Vec<Tensor>;

fn plain(name: &str, rows: u64, columns: u64) -> Vec<Tensor> {
    vec![tensor(format!("{name}.weight"), "BF16", &[rows, columns])]
}

fn fp8_block(name: &str, rows: u64, columns: u64) -> Vec<Tensor> {
    let scales = [rows.div_ceil(128), columns.div_ceil(128)];
    vec![
        tensor(format!("{name}.weight"), "F8_E4M3", &[rows, columns]),
        tensor(format!("{name}.weight_scale_inv"), "F32", &scales),
    ]
}

fn awq(name: &str, rows: u64, columns: u64) -> Vec<Tensor> {
    vec![
        tensor(format!("{name}.qweight"), "I32", &[columns, rows / 8]),
        tensor(format!("{name}.qzeros"), "I32", &[columns / 128, rows / 8]),
        tensor(format!("{name}.scales"), "F16", &[columns / 128, rows]),
    ]
}

fn gptq(name: &str, rows: u64, columns: u64) -> Vec<Tensor> {
    vec![
        tensor(format!("{name}.qweight"), "I32", &[columns / 8, rows]),
        tensor(format!("{name}.qzeros"), "I32", &[columns / 128, rows / 8]),
        tensor(format!("{name}.scales"), "F16", &[columns / 128, rows]),
        tensor(format!("{name}.g_idx"), "I32", &[columns]),
    ]
}

/// Three bits: 32 weights in three words.
fn gptq3(name: &str, rows: u64, columns: u64) -> Vec<Tensor> {
    let mut tensors = gptq(name, rows, columns);
    tensors[0].shape = vec![columns / 32 * 3, rows];
    tensors
}

fn w4a16(name: &str, rows: u64, columns: u64) -> Vec<Tensor> {
    vec![
        tensor(format!("{name}.weight_packed"), "I32", &[rows, columns / 8]),
        tensor(
            format!("{name}.weight_scale"),
            "BF16",
            &[rows, columns / 128],
        ),
        tensor(format!("{name}.weight_shape"), "I64", &[2]),
    ]
}

fn nvfp4_packed(name: &str, rows: u64, columns: u64) -> Vec<Tensor> {
    vec![
        tensor(format!("{name}.weight_packed"), "U8", &[rows, columns / 2]),
        tensor(
            format!("{name}.weight_scale"),
            "F8_E4M3",
            &[rows, columns / 16],
        ),
        tensor(format!("{name}.weight_global_scale"), "F32", &[1]),
        tensor(format!("{name}.input_global_scale"), "F32", &[1]),
    ]
}

fn nvfp4_modelopt(name: &str, rows: u64, columns: u64) -> Vec<Tensor> {
    vec![
        tensor(format!("{name}.weight"), "U8", &[rows, columns / 2]),
        tensor(
            format!("{name}.weight_scale"),
            "F8_E4M3",
            &[rows, columns / 16],
        ),
        tensor(format!("{name}.weight_scale_2"), "F32", &[]),
        tensor(format!("{name}.input_scale"), "F32", &[]),
    ]
}

fn w8a8(name: &str, rows: u64, columns: u64) -> Vec<Tensor> {
    vec![
        tensor(format!("{name}.weight"), "I8", &[rows, columns]),
        tensor(format!("{name}.weight_scale"), "BF16", &[rows, 1]),
    ]
}

fn fp8_channel(name: &str, rows: u64, columns: u64) -> Vec<Tensor> {
    vec![
        tensor(format!("{name}.weight"), "F8_E4M3", &[rows, columns]),
        tensor(format!("{name}.weight_scale"), "F32", &[rows, 1]),
    ]
}

fn nf4(name: &str, rows: u64, columns: u64) -> Vec<Tensor> {
    let weights = rows * columns;
    vec![
        tensor(format!("{name}.weight"), "U8", &[weights / 2, 1]),
        tensor(format!("{name}.weight.absmax"), "U8", &[weights / 64]),
        tensor(format!("{name}.weight.quant_map"), "F32", &[16]),
        tensor(
            format!("{name}.weight.nested_absmax"),
            "F32",
            &[weights / 64 / 256],
        ),
        tensor(format!("{name}.weight.nested_quant_map"), "F32", &[256]),
        tensor(
            format!("{name}.weight.quant_state.bitsandbytes__nf4"),
            "U8",
            &[85],
        ),
    ]
}

fn llm_int8(name: &str, rows: u64, columns: u64) -> Vec<Tensor> {
    vec![
        tensor(format!("{name}.weight"), "I8", &[rows, columns]),
        tensor(format!("{name}.SCB"), "F32", &[rows]),
        tensor(format!("{name}.weight_format"), "U8", &[]),
    ]
}

fn hqq(name: &str, rows: u64, columns: u64) -> Vec<Tensor> {
    let groups = rows * columns / 64;
    vec![
        tensor(format!("{name}.W_q"), "U8", &[rows * columns / 2 / 64, 64]),
        tensor(format!("{name}.scale"), "F16", &[groups, 1]),
        tensor(format!("{name}.zero"), "F16", &[groups, 1]),
    ]
}

fn aqlm(name: &str, rows: u64, columns: u64) -> Vec<Tensor> {
    vec![
        tensor(format!("{name}.codes"), "I16", &[rows, columns / 8, 1]),
        tensor(format!("{name}.codebooks"), "F16", &[1, 65_536, 1, 8]),
        tensor(format!("{name}.scales"), "F16", &[rows, 1, 1, 1]),
    ]
}

fn exl3(name: &str, rows: u64, columns: u64) -> Vec<Tensor> {
    vec![
        tensor(
            format!("{name}.trellis"),
            "I16",
            &[columns / 16, rows / 16, 64],
        ),
        tensor(format!("{name}.suh"), "F16", &[columns]),
        tensor(format!("{name}.svh"), "F16", &[rows]),
    ]
}

/// Qwen3-8B with its matrices written this way.
fn qwen(pack: Pack) -> Vec<Tensor> {
    let mut tensors = vec![
        tensor("model.embed_tokens.weight", "BF16", &[151_936, 4096]),
        tensor("lm_head.weight", "BF16", &[151_936, 4096]),
        tensor("model.norm.weight", "BF16", &[4096]),
    ];
    for layer in 0..36 {
        let of = |module: &str| format!("model.layers.{layer}.{module}");
        for (module, rows, columns) in [
            ("self_attn.q_proj", 4096, 4096),
            ("self_attn.k_proj", 1024, 4096),
            ("self_attn.v_proj", 1024, 4096),
            ("self_attn.o_proj", 4096, 4096),
            ("mlp.gate_proj", 12_288, 4096),
            ("mlp.up_proj", 12_288, 4096),
            ("mlp.down_proj", 4096, 12_288),
        ] {
            tensors.extend(pack(&of(module), rows, columns));
        }
        for norm in ["self_attn.q_norm", "self_attn.k_norm"] {
            tensors.push(tensor(of(norm) + ".weight", "BF16", &[128]));
        }
        for norm in ["input_layernorm", "post_attention_layernorm"] {
            tensors.push(tensor(of(norm) + ".weight", "BF16", &[4096]));
        }
    }
    tensors
}

/// The model of a preset's configuration with this quantization and these tensors, in two files with an index.
fn open(id: &str, quantization: &Value, tensors: &[Tensor]) -> Model {
    let catalog = plimsoll::catalog::models::ModelCatalog::embedded();
    let mut config: Value =
        serde_json::from_str(&catalog.find(id).unwrap().config().to_string()).unwrap();
    if !quantization.is_null() {
        config["quantization_config"] = quantization.clone();
    }
    let (one, two) = tensors.split_at(tensors.len() / 2);
    let files = [
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ];
    let mut map = Map::new();
    for (file, part) in files.iter().zip([one, two]) {
        for tensor in part {
            map.insert(tensor.name.clone(), json!(file));
        }
    }
    let folder = Folder::default()
        .with_json("config.json", &config)
        .with_json(
            "model.safetensors.index.json",
            &json!({"metadata": {}, "weight_map": map}),
        )
        .with(files[0], safetensors(one))
        .with(files[1], safetensors(two));
    checkpoint::model(&folder, id, &Map::new()).unwrap()
}

fn check(quantization: &Value, pack: Pack, label: &str) -> u64 {
    let tensors = qwen(pack);
    let model = open("Qwen3-8B", quantization, &tensors);
    let checkpoint = model
        .checkpoint
        .as_ref()
        .unwrap_or_else(|| panic!("{label}: {:?}", model.assumptions));
    assert_eq!(model.assumptions, [""; 0], "{label}");
    assert_eq!(checkpoint.label.as_deref(), Some(label));
    assert_eq!(checkpoint.parameters(), 8_190_735_360, "{label}");
    assert_eq!(checkpoint.tensors.len(), tensors.len());
    let bytes = tensors.iter().map(Tensor::bytes).sum::<u64>();
    assert_eq!(checkpoint.bytes.get(), bytes, "{label}");
    bytes
}

fn group(bits: u64, kind: &str, strategy: &str, size: Option<u64>, activations: &Value) -> Value {
    let weights = json!({"num_bits": bits, "type": kind, "strategy": strategy, "group_size": size, "symmetric": true});
    json!({"quant_method": "compressed-tensors", "ignore": ["lm_head"], "config_groups": {"group_0":
        {"targets": ["Linear"], "weights": weights, "input_activations": activations}}})
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn whatever_they_are_packed_into_parameters_are_counted() {
    let activation = |bits: u64, kind: &str, strategy: &str| json!({"num_bits": bits, "type": kind, "strategy": strategy});
    // The published counterpart: 2 bytes for each of the published parameters.
    assert_eq!(check(&Value::Null, plain, "BF16"), 2 * 8_190_735_360);
    let fp8 = json!({"quant_method": "fp8", "weight_block_size": [128, 128]});
    check(&fp8, fp8_block, "FP8 (block 128x128)");
    let four = |method: &str| json!({"quant_method": method, "bits": 4, "group_size": 128});
    // Qwen/Qwen3-8B-AWQ: 5.68 GiB.
    assert_eq!(
        check(&four("awq"), awq, "AWQ 4-bit, groups of 128"),
        6_098_479_104
    );
    check(&four("gptq"), gptq, "GPTQ 4-bit, groups of 128");
    let three = json!({"quant_method": "gptq", "bits": 3, "group_size": -1, "sym": true});
    check(&three, gptq3, "GPTQ 3-bit");
    check(
        &group(4, "int", "group", Some(128), &Value::Null),
        w4a16,
        "INT4 (W4A16), groups of 128",
    );
    let by_group = group(
        4,
        "float",
        "tensor_group",
        Some(16),
        &activation(4, "float", "tensor_group"),
    );
    check(&by_group, nvfp4_packed, "NVFP4");
    check(
        &group(8, "int", "channel", None, &activation(8, "int", "token")),
        w8a8,
        "INT8 (W8A8)",
    );
    check(
        &group(
            8,
            "float",
            "channel",
            None,
            &activation(8, "float", "token"),
        ),
        fp8_channel,
        "FP8 (W8A8)",
    );
    let optimizer = json!({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16, "kv_cache_quant_algo": "FP8"});
    check(&optimizer, nvfp4_modelopt, "NVFP4");
    check(&json!({"quant_method": "fbgemm_fp8"}), fp8_channel, "FP8");
    let nf4_config =
        json!({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4"});
    check(&nf4_config, nf4, "bitsandbytes 4-bit");
    check(
        &json!({"load_in_8bit": true}),
        llm_int8,
        "bitsandbytes 8-bit",
    );
    let half = json!({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}});
    check(&half, hqq, "HQQ 4-bit, groups of 64");
    let additive = json!({"quant_method": "aqlm", "in_group_size": 8, "num_codebooks": 1, "nbits_per_codebook": 16});
    check(&additive, aqlm, "AQLM 2-bit, groups of 8");
    check(&json!({"quant_method": "exl3", "bits": 4.0}), exl3, "EXL3");
    check(
        &json!({"quant_method": "eetq"}),
        |name, rows, columns| {
            vec![
                tensor(format!("{name}.weight"), "I8", &[columns, rows]),
                tensor(format!("{name}.weight_scales"), "F16", &[rows]),
            ]
        },
        "EETQ 8-bit",
    );
}

/// DeepSeek-R1 as published, 91,991 tensors with their scales.
fn deepseek() -> Vec<Tensor> {
    let mut tensors = Vec::new();
    let head = |name: &str| tensor(name, "BF16", &[129_280, 7168]);
    tensors.extend([head("model.embed_tokens.weight"), head("lm_head.weight")]);
    tensors.push(tensor("model.norm.weight", "BF16", &[7168]));
    for layer in 0..=61 {
        let of = |module: &str| format!("model.layers.{layer}.{module}");
        let norm = |module: &str, width: u64| tensor(of(module) + ".weight", "BF16", &[width]);
        let mut matrix =
            |module: &str, rows, columns| tensors.extend(fp8_block(&of(module), rows, columns));
        matrix("self_attn.q_a_proj", 1536, 7168);
        matrix("self_attn.q_b_proj", 128 * 192, 1536);
        matrix("self_attn.kv_a_proj_with_mqa", 576, 7168);
        matrix("self_attn.kv_b_proj", 128 * 256, 512);
        matrix("self_attn.o_proj", 7168, 128 * 128);
        let mut network = |module: &str, width: u64| {
            matrix(&format!("{module}.gate_proj"), width, 7168);
            matrix(&format!("{module}.up_proj"), width, 7168);
            matrix(&format!("{module}.down_proj"), 7168, width);
        };
        if layer < 3 {
            network("mlp", 18_432);
        } else {
            (0..256).for_each(|expert| network(&format!("mlp.experts.{expert}"), 2048));
            network("mlp.shared_experts", 2048);
            tensors.push(tensor(of("mlp.gate.weight"), "BF16", &[256, 7168]));
            tensors.push(tensor(
                of("mlp.gate.e_score_correction_bias"),
                "F32",
                &[256],
            ));
        }
        tensors.push(norm("self_attn.q_a_layernorm", 1536));
        tensors.push(norm("self_attn.kv_a_layernorm", 512));
        tensors.extend(
            ["input_layernorm", "post_attention_layernorm"].map(|module| norm(module, 7168)),
        );
        if layer == 61 {
            tensors.extend(["enorm", "hnorm", "shared_head.norm"].map(|module| norm(module, 7168)));
            tensors.push(tensor(of("eh_proj.weight"), "BF16", &[7168, 14_336]));
            tensors.extend([
                head(&of("embed_tokens.weight")),
                head(&of("shared_head.head.weight")),
            ]);
        }
    }
    tensors
}

#[test]
fn deepseek_has_the_bytes_and_parameters_that_were_published() {
    let tensors = deepseek();
    assert_eq!(tensors.len(), 91_991);
    let config = json!({"quant_method": "fp8", "weight_block_size": [128, 128]});
    let started = std::time::Instant::now();
    let model = open("DeepSeek-R1", &config, &tensors);
    eprintln!(
        "two headers of {} tensors in {:?}",
        tensors.len(),
        started.elapsed()
    );
    let checkpoint = model.checkpoint.as_ref().unwrap();
    // One byte for each FP8 weight and four for each of 41,540,496 scales, two for the rest, four for the router's
    // correction; the repository's 688,586,727,753 bytes have the headers of 163 files beside.
    assert_eq!(checkpoint.bytes.get(), 688_574_839_360);
    // Published for DeepSeek-V3 with scales: 684,531,386,000.
    assert_eq!(checkpoint.parameters(), 684_489_845_504);
    assert_eq!(checkpoint.elements(), 684_531_386_000);
    assert_eq!(checkpoint.label.as_deref(), Some("FP8 (block 128x128)"));
    let mtp = model.mtp.as_ref().unwrap();
    assert!(mtp.stored && mtp.copies_embedding);

    // Without the last layer's tensors there are no prediction blocks.
    let short: Vec<_> = tensors
        .into_iter()
        .filter(|tensor| !tensor.name.contains("layers.61."))
        .collect();
    let model = open("DeepSeek-R1", &config, &short);
    assert!(!model.mtp.as_ref().unwrap().stored);
    assert_eq!(
        model.checkpoint.as_ref().unwrap().parameters(),
        671_026_419_200
    );
}

/// gpt-oss as published, with its experts in MXFP4.
fn gpt_oss(layers: u64, experts: u64) -> Vec<Tensor> {
    let mut tensors = vec![
        tensor("model.embed_tokens.weight", "BF16", &[201_088, 2880]),
        tensor("lm_head.weight", "BF16", &[201_088, 2880]),
        tensor("model.norm.weight", "BF16", &[2880]),
    ];
    for layer in 0..layers {
        let mut add = |module: &str, dtype, shape: &[u64]| {
            tensors.push(tensor(
                format!("model.layers.{layer}.{module}"),
                dtype,
                shape,
            ));
        };
        for (name, rows, columns) in [
            ("q", 4096, 2880),
            ("k", 512, 2880),
            ("v", 512, 2880),
            ("o", 2880, 4096),
        ] {
            add(
                &format!("self_attn.{name}_proj.weight"),
                "BF16",
                &[rows, columns],
            );
            add(&format!("self_attn.{name}_proj.bias"), "BF16", &[rows]);
        }
        add("self_attn.sinks", "BF16", &[64]);
        add("input_layernorm.weight", "BF16", &[2880]);
        add("post_attention_layernorm.weight", "BF16", &[2880]);
        add("mlp.router.weight", "BF16", &[experts, 2880]);
        add("mlp.router.bias", "BF16", &[experts]);
        for (name, rows) in [("gate_up", 5760), ("down", 2880)] {
            add(
                &format!("mlp.experts.{name}_proj_blocks"),
                "U8",
                &[experts, rows, 90, 16],
            );
            add(
                &format!("mlp.experts.{name}_proj_scales"),
                "U8",
                &[experts, rows, 90],
            );
            add(
                &format!("mlp.experts.{name}_proj_bias"),
                "BF16",
                &[experts, rows],
            );
        }
    }
    tensors
}

#[test]
fn gpt_oss_has_the_bytes_and_parameters_that_were_published() {
    for (id, layers, experts, bytes) in [
        ("gpt-oss-20b", 24, 32, 13_761_264_768),
        ("gpt-oss-120b", 36, 128, 65_248_815_744),
    ] {
        let model = open(
            id,
            &json!({"quant_method": "mxfp4"}),
            &gpt_oss(layers, experts),
        );
        let checkpoint = model.checkpoint.as_ref().unwrap();
        assert_eq!(checkpoint.bytes.get(), bytes);
        assert_eq!(checkpoint.label.as_deref(), Some("MXFP4"));
        assert_eq!(checkpoint.parameters(), preset(id).parameters().total());
    }
}

#[test]
fn experts_of_two_weights_per_byte_are_counted() {
    // DeepSeek-V4: FP8 with scales of its own name, experts packed by two.
    let tensors = [
        tensor("layers.0.ffn.experts.0.w1.weight", "I8", &[2048, 2048]),
        tensor("layers.0.ffn.experts.0.w1.scale", "F8_E8M0", &[2048, 128]),
        tensor("layers.0.attn.wq_a.weight", "F8_E4M3", &[1024, 4096]),
        tensor("layers.0.attn.wq_a.scale", "F8_E8M0", &[8, 32]),
        tensor("layers.0.ffn.gate.tid2eid", "I64", &[100, 6]),
    ];
    let model = open("Qwen3-8B", &json!({"quant_method": "fp8"}), &tensors);
    let checkpoint = model.checkpoint.as_ref().unwrap();
    assert_eq!(checkpoint.parameters(), 2048 * 4096 + 1024 * 4096 + 600);
    assert_eq!(checkpoint.tensors[0].shape, [4096, 2048, 1, 1]);
}

#[test]
fn weights_tell_whether_the_head_is_the_embedding() {
    let config = json!({
        "model_type": "zyxw", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "vocab_size": 100,
        "intermediate_size": 128, "max_position_embeddings": 512,
    });
    let guessed = from_config("m", &config, &Map::new()).unwrap();
    assert!(guessed.tie_word_embeddings);
    let folder = |tensors: &[Tensor]| {
        let folder = Folder::default().with_json("config.json", &config);
        let folder = folder.with("model.safetensors", safetensors(tensors));
        checkpoint::model(&folder, "m", &Map::new()).unwrap()
    };
    let embedding = tensor("model.embed_tokens.weight", "F32", &[100, 64]);
    let head = tensor("lm_head.weight", "F32", &[100, 64]);
    assert!(folder(std::slice::from_ref(&embedding)).tie_word_embeddings);
    assert!(!folder(&[embedding, head]).tie_word_embeddings);
}
