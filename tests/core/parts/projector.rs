use plimsoll::projection::{Category, Part};

use super::{bytes, has_note, project};

/// Buffers as `llama-server` b10434 reports them on a processor for towers of these shapes (`reserve_compute_meta`), and
/// files as published.
#[test]
fn buffers_and_files_are_the_engines() {
    for (model, compute_mib, file_mib) in [
        ("gemma-3-4b-it", 121.25, None),
        ("Qwen3.6-27B", 248.10, None),
        ("Qwen2.5-VL-7B-Instruct", 704.79, None),
        // https://qiita.com/ma2shita/items/044584d847836be21ed1: 782 MB in F16.
        ("Qwen3-VL-2B-Instruct", 0.0, Some(782.0)),
    ] {
        let report = project(
            model,
            None,
            "cpu-only-128gb",
            "ctx_size = 4096\nparallel = 1\nmmproj = true\n",
        );
        let mib = |category| {
            bytes(&report, "host", category, Part::Projector) as f64 / f64::from(1_u32 << 20)
        };
        if compute_mib > 0.0 {
            let found = mib(Category::Compute);
            assert!((found - compute_mib).abs() < 0.01, "{model}: {found}");
        }
        if let Some(file) = file_mib {
            let found = mib(Category::Weights);
            assert!((found - file).abs() < 1.0, "{model}: {found}");
        }
    }
}

#[test]
fn a_projector_lives_on_the_first_gpu() {
    let plan = "ctx_size = 4096\nparallel = 1\nn_gpu_layers = \"all\"\nmmproj = true\n";
    let gpu = project("Qwen3-VL-8B-Instruct", None, "2x-rtx-3090", plan);
    let weights = bytes(&gpu, "gpu0", Category::Weights, Part::Projector);
    assert!(weights > 0);
    assert_eq!(bytes(&gpu, "gpu1", Category::Weights, Part::Projector), 0);
    let host = format!("{plan}mmproj_offload = false\n");
    let host = project("Qwen3-VL-8B-Instruct", None, "2x-rtx-3090", &host);
    assert_eq!(
        bytes(&host, "host", Category::Weights, Part::Projector),
        weights
    );
    let small = format!("{plan}image_max_tokens = 256\n");
    let small = project("Qwen3-VL-8B-Instruct", None, "2x-rtx-3090", &small);
    assert!(
        bytes(&small, "gpu0", Category::Compute, Part::Projector)
            < bytes(&gpu, "gpu0", Category::Compute, Part::Projector) / 4
    );
    assert!(has_note(&gpu, "projector-buffer-grows"));
    assert!(!has_note(&small, "projector-buffer-grows"));
    let blind = project("Qwen3-8B", None, "2x-rtx-3090", plan);
    assert!(has_note(&blind, "no-projector"));
}
