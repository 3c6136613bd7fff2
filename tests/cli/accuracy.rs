//! `plimsoll accuracy`.

use crate::process::{code, err, out, plimsoll};

#[test]
fn accuracy_prints_errors_by_family_and_setting() {
    let folder = tempfile::tempdir().expect("a folder");
    let row = r#"{"preset":"Llama-3.1-8B-Instruct","model":"llama-3.1-8b","arch":"llama","types":"Q4_K_M","set":{"ctx_size":2048},"buf":{"CUDA0":[4403.4924,256.0,118.0138],"CUDA_Host":[281.8125,0.0,34.0176]},"out":{"CUDA_Host":0.49}}"#;
    // The same as measured, with another compute buffer.
    let long = r#"{"engine":"llama.cpp","version":"0.6.0-dev","backend_rules":"CUDA cc 8.9","model":"llama-3.1-8b","arch":"llama","tensor_types":"Q4_K_M","settings":{"ctx_size":2048,"batch":2048,"ubatch":512,"parallel":1,"n_outputs_max":1,"flash_attn":"auto","cache_type_k":"f16","cache_type_v":"f16","n_gpu_layers":-1,"n_gpus":1,"tensor_split":"","n_cpu_moe":0},"reported":{"buffers":{"CUDA0":{"model_MiB":4403.4924,"context_MiB":256.0,"compute_MiB":236.0276},"CUDA_Host":{"model_MiB":281.8125,"context_MiB":0.0,"compute_MiB":34.0176}},"output_buffer":{"CUDA_Host":0.49}},"preset":"Llama-3.1-8B-Instruct"}"#;
    std::fs::write(
        folder.path().join("rows.jsonl"),
        format!("{row}\n{long}\nno row\n"),
    )
    .expect("written");
    let path = folder.path().to_str().expect("UTF-8");
    let output = plimsoll(&["accuracy", path]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = out(&output);
    for part in [
        "llama ",
        "everything usual",
        "GPU compute: 1 figures",
        "236.03",
        "1 lines hold no",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let empty = tempfile::tempdir().expect("a folder");
    let output = plimsoll(&["accuracy", empty.path().to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 2);
    assert_eq!(code(&plimsoll(&["accuracy", "/no/such/folder"])), 3);
}

/// One bad file among the rows is named and left out.
#[cfg(unix)]
#[test]
fn accuracy_goes_on_without_what_cannot_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("latin.jsonl"), b"\xff\xfe\n").expect("written");
    std::fs::create_dir(path("folder.jsonl")).expect("made");
    let links = ["/dev/tty", "/dev/zero", "/proc/kmsg", "/dev/stdin"];
    for (number, target) in links.iter().enumerate() {
        let link = path(&format!("link{number}.jsonl"));
        std::os::unix::fs::symlink(target, link).expect("linked");
    }
    let row = r#"{"preset":"Llama-3.1-8B-Instruct","model":"llama-3.1-8b","arch":"llama","types":"Q4_K_M","set":{"ctx_size":2048},"buf":{"CUDA0":[4403.4924,256.0,118.0138],"CUDA_Host":[281.8125,0.0,34.0176]},"out":{"CUDA_Host":0.49}}"#;
    std::fs::write(path("rows.jsonl"), row).expect("written");
    let output = plimsoll(&["accuracy", folder.path().to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let left_out = err(&output)
        .lines()
        .filter(|line| line.starts_with("warning: left out: "))
        .count();
    assert_eq!(left_out, 2 + links.len(), "{}", err(&output));
    let text = out(&output);
    assert!(text.starts_with("Devices as a whole: 2 figures"), "{text}");
    assert!(text.contains("95th percentile"), "{text}");
}
