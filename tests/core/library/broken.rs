//! What cannot be used, in the folder of every program: each is explained, and what is sound beside it is still listed.

use super::{Computer, config, content, tensors};

const SHA: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const COMMIT: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// A computer with one sound model at `sound` lists it for this program, and of these files says these things.
fn check(program: &str, sound: &str, files: &[(&str, Vec<u8>)], said: &[&str]) {
    let mut computer = Computer::linux();
    computer.gguf(sound);
    check_on(&mut computer, program, files, said);
}

fn check_on(computer: &mut Computer, program: &str, files: &[(&str, Vec<u8>)], said: &[&str]) {
    for (path, content) in files {
        computer.write(path, content);
    }
    let library = computer.scan();
    let of: Vec<_> = library
        .models
        .iter()
        .map(|model| model.places[0].library)
        .collect();
    assert_eq!(of, [program], "{library:?}");
    assert!(
        library
            .broken
            .iter()
            .all(|broken| broken.library == program)
    );
    assert_eq!(computer.complaints(), said, "{program}");
}

/// A GGUF file without its last bytes.
fn cut() -> Vec<u8> {
    let mut cut = content("cut");
    cut.truncate(cut.len() - 16);
    cut
}

#[test]
fn hugging_face() {
    let hub = "home/.cache/huggingface/hub/models--o--r";
    let sound = format!("{hub}/snapshots/{COMMIT}/sound.gguf");
    let short = format!("{hub}/snapshots/{COMMIT}/short.gguf");
    let unfinished = format!("{hub}/blobs/{SHA}.incomplete");
    check(
        "Hugging Face",
        &sound,
        &[(&short, cut()), (&unfinished, vec![0; 1024])],
        &[
            &format!("{unfinished}: its download is not finished (1.0 KiB so far)"),
            &format!("{short}: the file ends after 176 of 192 bytes: the download is not complete"),
        ],
    );
}

#[test]
fn llama_cpp_flat_and_as_hugging_face_does() {
    // 0.6.0-dev `common/download.cpp`: `.downloadInProgress` while it lasts, `.etag` beside what is done (before: `.json`).
    let cache = "home/.cache/llama.cpp";
    let unfinished = format!("{cache}/o_r_late.gguf.downloadInProgress");
    check(
        "llama.cpp",
        &format!("{cache}/o_r_sound.gguf"),
        &[
            (&format!("{cache}/o_r_sound.gguf.etag"), b"\"x\"".to_vec()),
            (&format!("{cache}/o_r_sound.gguf.json"), b"{".to_vec()),
            (&unfinished, vec![0; 10]),
        ],
        &[&format!(
            "{unfinished}: its download is not finished (10 B so far)"
        )],
    );
}

#[cfg(unix)]
#[test]
fn llama_cpp_in_a_folder_of_choice() {
    let mut computer = Computer::linux();
    computer.set("LLAMA_CACHE", "l");
    let repository = "l/models--o--r";
    computer.write(&format!("{repository}/refs/main"), COMMIT);
    let blob = computer.gguf(&format!("{repository}/blobs/{SHA}"));
    let link = format!("{repository}/snapshots/{COMMIT}/sound.gguf");
    computer.link(&blob.to_string_lossy(), &link);
    let gone = format!("{repository}/snapshots/{COMMIT}/gone.gguf");
    computer.link("../../blobs/gone", &gone);
    check_on(
        &mut computer,
        "llama.cpp",
        &[],
        &[&format!(
            "{gone}: it is a link to ../../blobs/gone, which is not there"
        )],
    );
}

#[test]
fn lm_studio_in_its_new_and_its_older_home() {
    for home in ["home/.lmstudio", "home/.cache/lm-studio"] {
        let folder = format!("{home}/models/o/r");
        let short = format!("{folder}/short.gguf");
        let unfinished = format!("{folder}/late.gguf.part");
        check(
            "LM Studio",
            &format!("{folder}/sound.gguf"),
            &[(&short, cut()), (&unfinished, vec![0; 10])],
            &[
                &format!("{unfinished}: its download is not finished (10 B so far)"),
                &format!(
                    "{short}: the file ends after 176 of 192 bytes: the download is not complete"
                ),
            ],
        );
    }
}

#[test]
fn jan_where_older_versions_kept_its_settings() {
    for settings in [
        "home/.local/share/Jan/settings.json",
        "home/.local/share/jan.ai.app/settings.json",
        "home/.config/Jan/settings.json",
    ] {
        let mut computer = Computer::linux();
        let data = computer.path("chosen");
        let text = serde_json::json!({ "data_folder": data }).to_string();
        computer.write(settings, text);
        let models = "chosen/llamacpp/models";
        computer.gguf(&format!("{models}/sound/model.gguf"));
        let described = b"model_path: llamacpp/models/sound/model.gguf\nname: Sound\n";
        let nameless = format!("{models}/nameless/model.yml");
        check_on(
            &mut computer,
            "Jan",
            &[
                (&format!("{models}/sound/model.yml"), described.to_vec()),
                (&nameless, b"name: x\n".to_vec()),
            ],
            &[&format!(
                "{nameless}: it names no model file (`model_path`)"
            )],
        );
    }
}

#[test]
fn gpt4all() {
    let folder = "home/.local/share/nomic.ai/GPT4All";
    let unfinished = format!("{folder}/incomplete-late.gguf");
    check(
        "GPT4All",
        &format!("{folder}/sound.gguf"),
        &[(&unfinished, vec![0; 10])],
        &[&format!(
            "{unfinished}: its download is not finished (10 B so far)"
        )],
    );
}

#[test]
fn folders_of_the_user() {
    let mut computer = Computer::linux();
    computer.add("models");
    computer.gguf("models/sound.gguf");
    computer.write("models/half/config.json", config(""));
    let index = r#"{"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}"#;
    check_on(
        &mut computer,
        "Folder",
        &[
            (
                "models/half/model.safetensors.index.json",
                index.as_bytes().to_vec(),
            ),
            ("models/half/one.safetensors", tensors("a")),
            (
                "models/page.gguf",
                b"<!doctype html><title>Sign in</title>".to_vec(),
            ),
        ],
        &[
            "models/page.gguf: this is a web page, not a GGUF file",
            "models/half: `two.safetensors` is missing: the download is not complete",
        ],
    );
}
