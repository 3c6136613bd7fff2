use plimsoll::projection::{Category, Part};

use super::{bytes, has_note, project};

const PLAN: &str = "ctx_size = 4096\nparallel = 1\n";

/// 41,943,040 parameters: what PEFT prints for rank 16 on all linear layers of Llama 3.1 8B.
#[test]
fn an_adapter_is_two_factors_per_matrix() {
    for (lora, parameters) in [
        ("rank=16 targets=all-linear", 41_943_040),
        ("rank=32 targets=all-linear", 83_886_080),
        // (4,096 + 4,096) and (4,096 + 1,024) × 16 × 32 layers.
        ("rank=16 targets=attn_q,attn_v", 6_815_744),
    ] {
        let report = project(
            "Llama-3.1-8B-Instruct",
            None,
            "1x-rtx-3090",
            &format!("{PLAN}n_gpu_layers = \"all\"\nlora = [\"{lora}\"]\n"),
        );
        let found = bytes(&report, "gpu0", Category::Weights, Part::Adapter);
        assert_eq!(found, 2 * parameters, "{lora}");
    }
}

#[test]
fn an_adapter_follows_the_weights() {
    let plan = |layers: u32| {
        let lines = "lora = [\"rank=16 targets=all-linear\"]\ncontrol_vector = true\n";
        project(
            "Llama-3.1-8B-Instruct",
            None,
            "1x-rtx-3090",
            &format!("{PLAN}n_gpu_layers = {layers}\n{lines}"),
        )
    };
    let of = |layers, device| bytes(&plan(layers), device, Category::Weights, Part::Adapter);
    let all = of(33, "gpu0");
    assert_eq!(of(33, "host"), 0);
    assert_eq!(of(17, "gpu0") + of(17, "host"), all);
    assert_eq!(of(0, "host"), all);
}

#[test]
fn what_is_no_adapter_is_refused() {
    for (lora, code) in [
        ("rank", "lora-malformed"),
        ("targets=attn_qqq", "lora-target-unknown"),
    ] {
        let settings = format!("{PLAN}lora = [\"{lora}\"]\n");
        let report = project("Llama-3.1-8B-Instruct", None, "1x-rtx-3090", &settings);
        assert!(has_note(&report, code), "{lora}: {:?}", report.notes);
    }
}
