//! The same content in several places is one model.

use std::fs;

use super::{Computer, content};

#[test]
fn copies_are_one_model_with_all_their_places() {
    let mut computer = Computer::linux();
    computer.add("backup");
    let sha = "1".repeat(64);
    let bytes = content("the same everywhere");
    computer.write("home/.lmstudio/models/o/r/m-Q4_0.gguf", &bytes);
    computer.write("backup/renamed.gguf", &bytes);
    let ollama = "home/.ollama/models";
    computer.write(&format!("{ollama}/blobs/sha256-{sha}"), &bytes);
    for tag in ["latest", "8b"] {
        computer.write(
            &format!("{ollama}/manifests/registry.ollama.ai/library/m/{tag}"),
            format!(r#"{{"layers": [{{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:{sha}"}}]}}"#),
        );
    }
    let library = computer.scan();
    let [model] = library.models.as_slice() else {
        panic!("{library:?}")
    };
    let places: Vec<_> = model
        .places
        .iter()
        .map(|place| (place.library, computer.short(&place.path)))
        .collect();
    assert_eq!(
        places,
        [
            ("Ollama", format!("{ollama}/blobs/sha256-{sha}")),
            (
                "LM Studio",
                "home/.lmstudio/models/o/r/m-Q4_0.gguf".to_owned()
            ),
            ("Folder", "backup/renamed.gguf".to_owned()),
        ]
    );
    // What the first place does not know, another does.
    assert_eq!(model.repository.as_deref(), Some("o/r"));
    assert_eq!(model.quant.as_deref(), Some("Q4_0"));
}

#[test]
fn equal_sizes_are_not_equal_contents() {
    let mut computer = Computer::linux();
    computer.add("models");
    // Large files that differ in one place only, near their middle.
    let mut bytes = content("x");
    bytes.resize(200_000, 7);
    computer.write("models/a.gguf", &bytes);
    for byte in &mut bytes[93_000..107_000] {
        *byte = 8;
    }
    computer.write("models/b.gguf", &bytes);
    assert_eq!(computer.titles().len(), 2);
}

#[test]
fn digests_decide_where_both_are_known() {
    let computer = Computer::linux();
    let ollama = "home/.ollama/models";
    for digit in ["1", "2"] {
        let sha = digit.repeat(64);
        // Equal files under digests that differ can only be a damaged store; it is not ours to judge.
        computer.write(&format!("{ollama}/blobs/sha256-{sha}"), content("x"));
        computer.write(
            &format!("{ollama}/manifests/registry.ollama.ai/library/m/{digit}"),
            format!(r#"{{"layers": [{{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:{sha}"}}]}}"#),
        );
    }
    assert_eq!(computer.titles().len(), 2);
}

#[cfg(unix)]
#[test]
fn a_link_to_a_model_is_another_place_of_it() {
    let mut computer = Computer::linux();
    computer.add("links");
    let file = computer.gguf("home/.lmstudio/models/o/r/m.gguf");
    computer.link(file.to_str().unwrap(), "links/here.gguf");
    fs::hard_link(&file, computer.path("links/hard.gguf")).unwrap();
    let library = computer.scan();
    assert_eq!(library.models.len(), 1, "{library:?}");
    assert_eq!(library.models[0].places.len(), 3);
}
