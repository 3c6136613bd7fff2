//! What a `quantization_config` says, of every kind.

use plimsoll::model::{Format, Grouping, Method, Quantization};
use serde_json::{Value, json};

fn read(config: &Value) -> Quantization {
    Quantization::read(config).unwrap_or_else(|| panic!("{config}"))
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn every_kind_has_a_label() {
    let cases = [
        (
            json!({"quant_method": "fp8", "activation_scheme": "static"}),
            "FP8",
        ),
        (
            json!({"quant_method": "fp8", "weight_block_size": [128, 128]}),
            "FP8 (block 128x128)",
        ),
        (
            json!({"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": true}),
            "AWQ 4-bit, groups of 64",
        ),
        (
            json!({"quant_method": "gptq", "bits": 8, "group_size": 32, "sym": true}),
            "GPTQ 8-bit, groups of 32",
        ),
        (
            json!({"quant_method": "gptq", "bits": 4, "group_size": -1}),
            "GPTQ 4-bit",
        ),
        (
            json!({"_load_in_4bit": true, "load_in_4bit": true}),
            "bitsandbytes 4-bit",
        ),
        (
            json!({"quant_method": "bitsandbytes", "load_in_8bit": true}),
            "bitsandbytes 8-bit",
        ),
        (json!({"quant_method": "mxfp4"}), "MXFP4"),
        (json!({"quant_algo": "NVFP4", "group_size": 16}), "NVFP4"),
        (json!({"quant_algo": "FP8"}), "FP8 (W8A8)"),
        (
            json!({"quant_algo": "W4A16_AWQ", "group_size": 128}),
            "INT4 (W4A16), groups of 128",
        ),
        (
            json!({"quant_algo": "FP8_PB_WO"}),
            "FP8 (W8A16) (block 128x128)",
        ),
        (
            json!({"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0}),
            "FP8",
        ),
        (json!({"quant_method": "eetq"}), "EETQ 8-bit"),
        (
            json!({"quant_method": "hqq", "nbits": 3, "group_size": 64}),
            "HQQ 3-bit, groups of 64",
        ),
        (
            json!({"quant_method": "aqlm", "num_codebooks": 2, "nbits_per_codebook": 8}),
            "AQLM 2-bit, groups of 8",
        ),
        (
            json!({"quant_method": "torchao", "quant_type": "int4_weight_only"}),
            "torchao",
        ),
        (json!({"quant_method": "exl2", "bits": 4.65}), "EXL2"),
        (json!({"quant_method": "bitnet"}), "BitNet 2-bit"),
        (
            json!({"quant_method": "squeezellm", "bits": 4}),
            "squeezellm 4-bit",
        ),
        (
            json!({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp8_e4m3", "qscheme": "per_tensor"},
                "input_tensors": {"dtype": "fp8_e4m3"}}}),
            "FP8 (W8A8)",
        ),
        (
            json!({"quant_algo": "MIXED_PRECISION", "quantized_layers": {"a": {"quant_algo": "FP8"},
                "b": {"quant_algo": "NVFP4", "group_size": 16}, "c": {"quant_algo": "FP8"}}}),
            "ModelOpt mixture of FP8 and NVFP4",
        ),
    ];
    for (config, label) in cases {
        assert_eq!(read(&config).label(), label, "{config}");
    }
    for nothing in [
        json!(null),
        json!([]),
        json!({}),
        json!({"quant_method": 7}),
        json!("awq"),
    ] {
        assert_eq!(Quantization::read(&nothing), None, "{nothing}");
    }
}

#[test]
fn what_is_left_alone_is_kept() {
    let awq = read(
        &json!({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true, "modules_to_not_convert": ["visual"]}),
    );
    assert_eq!(
        (awq.method, awq.skipped),
        (Method::Awq, vec!["visual".to_owned()])
    );
    assert_eq!(
        awq.schemes[0].weights,
        Format {
            bits: 4,
            float: false,
            grouping: Grouping::Group(128),
            symmetric: false
        }
    );
    let mixed = read(
        &json!({"quant_algo": "MIXED_PRECISION", "quantized_layers": {
        "a": {"quant_algo": "FP8"}, "b": {"quant_algo": "NVFP4", "group_size": 16}, "c": {"quant_algo": "FP8"}}}),
    );
    assert_eq!(mixed.schemes.len(), 2);
    assert_eq!(mixed.schemes[0].targets, ["a", "c"]);
    assert_eq!(mixed.weight_bits(), None);
}

#[test]
fn oddities_stay_open() {
    for config in [
        json!({"quant_method": "awq", "bits": 0}),
        json!({"quant_method": "gptq", "bits": "four", "group_size": 128}),
        json!({"quant_method": "compressed-tensors", "config_groups": [1]}),
        json!({"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": null}}}),
        json!({"quant_method": "modelopt", "quant_algo": "NEWEST"}),
    ] {
        let quantization = read(&config);
        assert_eq!(quantization.schemes, [], "{config}");
        assert!(!quantization.label().is_empty());
    }
    let wide = read(&json!({"quant_method": "fp8", "weight_block_size": [0, -1]}));
    assert_eq!(wide.label(), "FP8");
}
