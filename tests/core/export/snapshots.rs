//! One representative launch per target, to be read.

use super::case::{Case, gpu, machine};
use plimsoll::hardware::Vendor;

fn check(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn everyday() {
    let case = Case::everyday();
    check("llama_server_sh", &case.write("sh").unwrap());
    check(
        "llama_server_powershell",
        &case.write("powershell").unwrap(),
    );
    check("llama_server_cmd", &case.write("cmd").unwrap());
    check("llama_server_json", &case.write("json").unwrap());
    check(
        "llama_server_models_preset",
        &case.write("models-preset").unwrap(),
    );
    check("llama_server_plan", &case.write("plan").unwrap());
}

/// A server with four cards of which two are used, experts in main memory, open to the network, an older build, and no
/// place to download from.
#[test]
fn server() {
    let uuid = |index: usize| format!("GPU-1b2c3d4e-0000-0000-0000-00000000000{index}");
    let gpus: Vec<_> = (0..4)
        .map(|index| gpu("NVIDIA A100-PCIE-40GB", Vendor::Nvidia, Some(&uuid(index))))
        .collect();
    let mut case = Case::new(
        "weights = \"Q4_K_M\"\nctx_size = 65536\nparallel = 4\nn_gpu_layers = \"all\"\nn_cpu_moe = 40\n\
         tensor_split = [3, 1]\nload_mode = \"none\"\nengine_version = \"2026-05\"\nubatch_size = 2048\nn_outputs_max = 0\n",
    )
    .on(machine(&gpus));
    case.model.name = "DeepSeek-R1".to_owned();
    case.plan.launch.host = Some("0.0.0.0".to_owned());
    case.plan.launch.port = Some(9000);
    case.plan.launch.gpus = vec![uuid(2), uuid(0)];
    check("llama_server_shared_sh", &case.write("sh").unwrap());
    case.plan.launch.api_key_env = Some("TEAM_KEY".to_owned());
    check("llama_server_shared_cmd", &case.write("cmd").unwrap());
    check(
        "llama_server_shared_powershell",
        &case.write("powershell").unwrap(),
    );
}

/// Ollama with a quantized cache, two requests at once and a file of one's own.
#[test]
fn ollama() {
    let mut case = Case::of(
        "ollama",
        "weights = \"Q4_K_M\"\nnum_ctx = 8192\nnum_parallel = 2\nnum_gpu = 65\nkv_cache_type = \"q8_0\"\n\
         flash_attention = \"on\"\nkeep_alive = \"30m\"\nuse_mmap = false\n",
    )
    .model_path("/srv/models/r1 32b.gguf")
    .chosen("num_batch = 1024");
    case.plan.launch.port = Some(11500);
    for target in [
        "modelfile",
        "sh",
        "powershell",
        "systemd",
        "compose",
        "json",
    ] {
        check(&format!("ollama_{target}"), &case.write(target).unwrap());
    }
}
