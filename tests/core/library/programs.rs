//! Where each program keeps its models.

use std::fs;

use plimsoll::hardware::Os;

use super::{Computer, config, content, tensors};

const SHA: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const COMMIT: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const OLD: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn folders_of_a_program_follow_the_system_and_the_environment() {
    let nothing: &[(&str, &str)] = &[];
    let hub = "models--a--b/snapshots/c/m-Q8_0.gguf";
    let cases = [
        (
            Os::Linux,
            nothing,
            format!("home/.cache/huggingface/hub/{hub}"),
            "Hugging Face",
        ),
        (
            Os::Windows,
            nothing,
            format!("home/.cache/huggingface/hub/{hub}"),
            "Hugging Face",
        ),
        (
            Os::Linux,
            &[("XDG_CACHE_HOME", "x")],
            format!("x/huggingface/hub/{hub}"),
            "Hugging Face",
        ),
        (
            Os::Macos,
            &[("HF_HOME", "hf")],
            format!("hf/hub/{hub}"),
            "Hugging Face",
        ),
        (
            Os::Linux,
            &[("HUGGINGFACE_HUB_CACHE", "c"), ("HF_HOME", "h")],
            format!("c/{hub}"),
            "Hugging Face",
        ),
        (
            Os::Linux,
            &[("HF_HUB_CACHE", "d"), ("HUGGINGFACE_HUB_CACHE", "c")],
            format!("d/{hub}"),
            "Hugging Face",
        ),
        (
            Os::Linux,
            nothing,
            "home/.cache/llama.cpp/m-Q8_0.gguf".to_owned(),
            "llama.cpp",
        ),
        (
            Os::Macos,
            nothing,
            "home/Library/Caches/llama.cpp/m-Q8_0.gguf".to_owned(),
            "llama.cpp",
        ),
        (
            Os::Windows,
            nothing,
            "home/AppData/Local/llama.cpp/m-Q8_0.gguf".to_owned(),
            "llama.cpp",
        ),
        (
            Os::Windows,
            &[("LOCALAPPDATA", "l")],
            "l/llama.cpp/m-Q8_0.gguf".to_owned(),
            "llama.cpp",
        ),
        (
            Os::Linux,
            &[("LLAMA_CACHE", "l")],
            format!("l/{hub}"),
            "llama.cpp",
        ),
        (
            Os::Linux,
            nothing,
            "home/.lmstudio/models/o/r/m-Q8_0.gguf".to_owned(),
            "LM Studio",
        ),
        (
            Os::Macos,
            nothing,
            "home/.cache/lm-studio/models/o/r/m-Q8_0.gguf".to_owned(),
            "LM Studio",
        ),
        (
            Os::Linux,
            nothing,
            "home/.local/share/nomic.ai/GPT4All/m-Q8_0.gguf".to_owned(),
            "GPT4All",
        ),
        (
            Os::Windows,
            nothing,
            "home/AppData/Local/nomic.ai/GPT4All/m-Q8_0.gguf".to_owned(),
            "GPT4All",
        ),
        (
            Os::Linux,
            nothing,
            "home/.cache/gpt4all/m-Q8_0.gguf".to_owned(),
            "GPT4All",
        ),
        (
            Os::Macos,
            nothing,
            "home/Library/Application Support/Jan/data/models/m-Q8_0.gguf".to_owned(),
            "Jan",
        ),
    ];
    for (os, variables, path, library) in cases {
        let mut computer = Computer::new(os);
        computer.gguf(&path);
        for (name, value) in variables {
            computer.set(name, value);
        }
        let expect = format!("m-Q8_0 Q8_0 {library} {path}");
        assert_eq!(computer.titles(), [expect], "{os:?} {variables:?}");
    }
}

#[test]
fn a_tilde_in_a_variable_is_the_home_folder() {
    let mut computer = Computer::linux();
    computer.gguf("home/hub/models--a--b/snapshots/c/m.gguf");
    let variables = &mut computer.places.environment;
    variables.insert("HF_HOME".to_owned(), "~".to_owned());
    assert_eq!(computer.titles().len(), 1);
}

/// What huggingface_hub leaves: links into blobs, references, an older snapshot that nothing refers to.
#[cfg(unix)]
#[test]
fn the_cache_of_hugging_face_shows_the_snapshots_that_are_referred_to() {
    let computer = Computer::linux();
    let repository = "home/.cache/huggingface/hub/models--Qwen--Qwen3-8B-GGUF";
    computer.write(&format!("{repository}/blobs/{SHA}"), content("weights"));
    computer.write(&format!("{repository}/refs/main"), COMMIT);
    for commit in [OLD, COMMIT] {
        let link = format!("{repository}/snapshots/{commit}/Qwen3-8B-Q4_K_M.gguf");
        computer.link(&format!("../../blobs/{SHA}"), &link);
    }
    let library = computer.scan();
    assert_eq!(library.broken, []);
    let [model] = library.models.as_slice() else {
        panic!("{library:?}")
    };
    assert_eq!(model.title, "Qwen3-8B-Q4_K_M");
    assert_eq!(model.repository.as_deref(), Some("Qwen/Qwen3-8B-GGUF"));
    assert_eq!(model.revision.as_deref(), Some(COMMIT));
    assert_eq!(model.bytes.get(), content("weights").len() as u64);
    assert!(
        model
            .path
            .ends_with(format!("{COMMIT}/Qwen3-8B-Q4_K_M.gguf"))
    );
}

#[cfg(unix)]
#[test]
fn the_cache_of_hugging_face_explains_what_is_missing() {
    let computer = Computer::linux();
    let repository = "home/.cache/huggingface/hub/models--a--b";
    computer.write(&format!("{repository}/refs/main"), COMMIT);
    computer.write(
        &format!("{repository}/blobs/{SHA}.incomplete"),
        vec![0; 2048],
    );
    let link = format!("{repository}/snapshots/{COMMIT}/m.gguf");
    computer.link("../../blobs/gone", &link);
    assert_eq!(
        computer.complaints(),
        [
            format!(
                "{repository}/blobs/{SHA}.incomplete: its download is not finished (2.0 KiB so far)"
            ),
            format!("{link}: it is a link to ../../blobs/gone, which is not there"),
        ]
    );
}

#[test]
fn windows_keeps_copies_in_snapshots_and_a_checkpoint_is_named_after_its_repository() {
    let computer = Computer::new(Os::Windows);
    let snapshot = format!("home/.cache/huggingface/hub/models--org--Tiny/snapshots/{COMMIT}");
    computer.write(
        &format!("{snapshot}/config.json"),
        config(r#""torch_dtype": "bfloat16""#),
    );
    computer.write(
        &format!("{snapshot}/model-00001-of-00002.safetensors"),
        tensors("one"),
    );
    computer.write(
        &format!("{snapshot}/model-00002-of-00002.safetensors"),
        tensors("two"),
    );
    assert_eq!(
        computer.titles(),
        [format!("org/Tiny F32 Hugging Face {snapshot}")]
    );
    fs::remove_file(computer.path(&format!("{snapshot}/model-00001-of-00002.safetensors")))
        .unwrap();
    assert_eq!(
        computer.complaints(),
        [format!(
            "{snapshot}: `model-00001-of-00002.safetensors` is missing: the download is not complete"
        )]
    );
}

#[test]
fn older_downloads_of_llama_cpp_say_where_they_came_from() {
    let computer = Computer::linux();
    let cache = "home/.cache/llama.cpp";
    let stem = "ggml-org_gemma-3-4b-it-GGUF_";
    computer.gguf(&format!("{cache}/{stem}gemma-3-4b-it-Q4_K_M.gguf"));
    computer.write(
        &format!("{cache}/{stem}gemma-3-4b-it-Q4_K_M.gguf.json"),
        r#"{"etag": "\"x\"", "url": "https://huggingface.co/ggml-org/gemma-3-4b-it-GGUF/resolve/main/gemma-3-4b-it-Q4_K_M.gguf"}"#,
    );
    let projector = computer.gguf(&format!("{cache}/{stem}mmproj-model-f16.gguf"));
    computer.gguf(&format!("{cache}/other_llama_llama-Q8_0.gguf"));
    let library = computer.scan();
    let [gemma, llama] = library.models.as_slice() else {
        panic!("{library:?}")
    };
    assert_eq!(
        gemma.repository.as_deref(),
        Some("ggml-org/gemma-3-4b-it-GGUF")
    );
    assert_eq!(gemma.projector, Some(projector));
    assert_eq!((&llama.repository, &llama.projector), (&None, &None));
}

fn manifest(layers: &[(&str, &str)]) -> String {
    let layers: Vec<_> = layers
        .iter()
        .map(|(kind, digest)| {
            serde_json::json!({
                "mediaType": format!("application/vnd.ollama.image.{kind}"),
                "digest": format!("sha256:{digest}"),
                "size": 1,
            })
        })
        .collect();
    let config = serde_json::json!({ "digest": format!("sha256:{}", SHA.replace('0', "f")) });
    serde_json::json!({ "schemaVersion": 2, "config": config, "layers": layers }).to_string()
}

#[test]
fn ollama_models_are_the_layers_of_their_manifests() {
    let eyes = SHA.replace('0', "e");
    for root in ["home/.ollama/models", "usr/share/ollama/.ollama/models"] {
        let computer = Computer::linux();
        computer.gguf(&format!("{root}/blobs/sha256-{SHA}"));
        computer.gguf(&format!("{root}/blobs/sha256-{eyes}"));
        let config = format!("{root}/blobs/sha256-{}", SHA.replace('0', "f"));
        computer.write(
            &config,
            r#"{"file_type": "Q4_K_M", "model_family": "gemma3"}"#,
        );
        let text = manifest(&[("template", "x"), ("model", SHA), ("projector", &eyes)]);
        let names = [
            ("registry.ollama.ai/library/gemma3/4b", "gemma3:4b", None),
            ("registry.ollama.ai/me/mine/latest", "me/mine:latest", None),
            (
                "hf.co/org/repo/Q4_K_M",
                "hf.co/org/repo:Q4_K_M",
                Some("org/repo"),
            ),
        ];
        for (path, title, repository) in names {
            let file = computer.write(&format!("{root}/manifests/{path}"), &text);
            let library = computer.scan();
            assert_eq!(library.broken, []);
            let model = &library.models[0];
            assert_eq!(model.title, title);
            assert_eq!(model.quant.as_deref(), Some("Q4_K_M"));
            assert_eq!(model.repository.as_deref(), repository);
            assert!(
                model
                    .projector
                    .as_ref()
                    .unwrap()
                    .ends_with(format!("sha256-{eyes}"))
            );
            assert!(model.path.ends_with(format!("blobs/sha256-{SHA}")));
            fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn ollama_says_which_blob_is_missing_and_never_leaves_its_folder() {
    let mut computer = Computer::linux();
    computer.set("OLLAMA_MODELS", "models");
    let path = "models/manifests/registry.ollama.ai/library";
    computer.write(&format!("{path}/a/b"), manifest(&[("model", SHA)]));
    computer.write(
        &format!("{path}/c/d"),
        manifest(&[("model", "../../secret")]),
    );
    computer.write(&format!("{path}/e/f"), "{");
    computer.write(&format!("models/blobs/sha256-{SHA}-partial"), [0; 10]);
    computer.gguf("secret");
    assert_eq!(
        computer.complaints(),
        [
            format!("{path}/a/b: its blob sha256-{SHA} cannot be used: it is not there"),
            format!(
                "{path}/e/f: its manifest is no JSON (EOF while parsing an object at line 1 column 1)"
            ),
            format!("models/blobs/sha256-{SHA}-partial: its download of 10 B is not finished"),
        ]
    );
    assert_eq!(computer.scan().models, []);
}

#[test]
fn lm_studio_is_found_by_its_pointer_and_its_settings() {
    let computer = Computer::linux();
    let home = computer.path("elsewhere");
    computer.write(
        "home/.lmstudio-home-pointer",
        format!("{}\n", home.display()),
    );
    computer.gguf("elsewhere/models/unsloth/Qwen3-4B-GGUF/Qwen3-4B-UD-Q4_K_XL.gguf");
    let chosen = computer.path("big disk");
    let settings = serde_json::json!({ "downloadsFolder": chosen });
    computer.write("elsewhere/settings.json", settings.to_string());
    computer.gguf("big disk/o/r/m.gguf");
    let library = computer.scan();
    let rows: Vec<_> = library
        .models
        .iter()
        .map(|model| computer.row(model))
        .collect();
    assert_eq!(
        rows,
        [
            "m - LM Studio big disk/o/r/m.gguf",
            "Qwen3-4B-UD-Q4_K_XL UD-Q4_K_XL LM Studio elsewhere/models/unsloth/Qwen3-4B-GGUF/Qwen3-4B-UD-Q4_K_XL.gguf",
        ]
    );
    assert_eq!(
        library.models[1].repository.as_deref(),
        Some("unsloth/Qwen3-4B-GGUF")
    );
}

#[test]
fn jan_describes_its_models() {
    let computer = Computer::linux();
    let data = "home/.local/share/Jan/data";
    computer.gguf(&format!("{data}/llamacpp/models/org/m/model.gguf"));
    computer.gguf(&format!("{data}/llamacpp/models/org/m/mmproj.gguf"));
    computer.write(
        &format!("{data}/llamacpp/models/org/m/model.yml"),
        "model_path: llamacpp/models/org/m/model.gguf\nmmproj_path: llamacpp/models/org/m/mmproj.gguf\nname: 'M 1.0'\nsize_bytes: 64\n",
    );
    computer.write(
        &format!("{data}/llamacpp/models/gone/model.yml"),
        "model_path: /nowhere/x.gguf\nname: x\n",
    );
    let library = computer.scan();
    let [model] = library.models.as_slice() else {
        panic!("{library:?}")
    };
    assert_eq!(model.title, "M 1.0");
    assert!(model.projector.is_some());
    assert_eq!(
        computer.complaints(),
        ["/nowhere/x.gguf: its file x.gguf cannot be used: it is not there"]
    );
}

#[test]
fn gpt4all_has_a_folder_of_choice() {
    let computer = Computer::linux();
    let chosen = computer.path("chosen");
    computer.write(
        "home/.config/nomic.ai/GPT4All.ini",
        format!("[General]\ndevice=Auto\nmodelPath={}\n", chosen.display()),
    );
    computer.gguf("chosen/Meta-Llama-3-8B-Instruct.Q4_0.gguf");
    computer.gguf("chosen/incomplete-Phi-3.gguf");
    let library = computer.scan();
    assert_eq!(
        computer.row(&library.models[0]),
        "Meta-Llama-3-8B-Instruct.Q4_0 Q4_0 GPT4All chosen/Meta-Llama-3-8B-Instruct.Q4_0.gguf"
    );
    assert_eq!(library.broken.len(), 1);
}
