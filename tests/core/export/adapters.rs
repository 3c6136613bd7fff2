//! Adapters in launches of Ollama.

use super::case::Case;
use super::modelfile::parse;
use super::ollama::{text, yaml};

/// Adapters are lines of the Modelfile, and files that a container has to be given.
#[test]
fn adapters_are_lines_of_their_own() {
    let mut case = Case::of("ollama", "num_ctx = 2048").model_path("/models/a.gguf");
    case.plan.launch.lora_paths = vec!["/a/first one.gguf".to_owned(), "second.gguf".to_owned()];
    let made = parse(&case.write("modelfile").unwrap()).unwrap();
    let adapters = |made: &[(String, String)]| -> Vec<String> {
        let own = made.iter().filter(|(name, _)| name == "ADAPTER");
        own.map(|(_, value)| value.clone()).collect()
    };
    assert_eq!(adapters(&made), ["/a/first one.gguf", "second.gguf"]);
    let launch = case.launch();
    assert!(
        launch.not_expressible.is_empty(),
        "{:?}",
        launch.not_expressible
    );
    let relative = |launch: &plimsoll::engine::launch::Launch| {
        launch.remarks.concat().contains("named by relative paths")
    };
    assert!(relative(&launch));
    let whole = Case::of("ollama", "").model_path("/models/a.gguf");
    assert!(!relative(&whole.launch()));
    // They were not read here.
    let unread = launch
        .remarks
        .iter()
        .filter(|own| own.contains("is not projected"));
    assert_eq!(unread.count(), 2);
    let text_of = case.write("compose").unwrap();
    for source in ["/a/first one.gguf", "./second.gguf"] {
        assert!(
            text_of.contains(&format!("source: \"{source}\"")),
            "{text_of}"
        );
    }
    let file = yaml(&text_of);
    let made = parse(&text(&file, "configs.modelfile.content")).unwrap();
    assert_eq!(
        adapters(&made),
        ["/models/adapter-0.gguf", "/models/adapter-1.gguf"]
    );
    let mut published = Case::of("ollama", "").published_in("a/b");
    published.plan.launch.lora_paths = vec!["x.gguf".to_owned()];
    let text = published.write("compose").unwrap();
    assert!(text.contains("target: /models/adapter-0.gguf") && text.contains("FROM hf.co/a/b"));
}

/// A projector is a second file of the model, where that is a file too.
#[test]
fn a_projector_is_a_second_file() {
    let from = |text: &str| -> Vec<String> {
        let made = parse(text).unwrap().into_iter();
        made.filter(|(name, _)| name == "FROM")
            .map(|(_, value)| value)
            .collect()
    };
    let seeing = |case: Case| {
        let mut case = case;
        case.plan.launch.mmproj_path = Some("/m/mmproj.gguf".to_owned());
        case
    };
    let case = seeing(Case::of("ollama", "").model_path("/m/a.gguf"));
    assert_eq!(
        from(&case.write("modelfile").unwrap()),
        ["/m/a.gguf", "/m/mmproj.gguf"]
    );
    let written = case.write("compose").unwrap();
    assert!(
        written.contains("source: \"/m/mmproj.gguf\", target: /models/projector.gguf"),
        "{written}"
    );
    let file = yaml(&written);
    assert_eq!(
        from(&text(&file, "configs.modelfile.content")),
        ["/models/model.gguf", "/models/projector.gguf"]
    );
    let asked = seeing(Case::of("ollama", ""));
    assert_eq!(
        from(&asked.write("modelfile").unwrap()),
        ["./MODEL", "/m/mmproj.gguf"]
    );
    let published = seeing(Case::of("ollama", "").published_in("a/b"));
    assert_eq!(from(&published.write("modelfile").unwrap()).len(), 1);
    let missing = published.launch().not_expressible.concat();
    assert!(missing.contains("set model_path to that file"), "{missing}");
    assert!(
        !published
            .write("compose")
            .unwrap()
            .contains("mmproj.gguf, ")
    );
}
