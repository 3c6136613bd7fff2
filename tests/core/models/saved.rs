//! Presets of the user, written and read again.

use std::path::Path;
use std::sync::Arc;

use plimsoll::accuracy::modelled;
use plimsoll::catalog::models::{ModelCatalog, Preset, SaveError};
use plimsoll::engine::llamacpp::LlamaCpp;
use plimsoll::engine::{Engine as _, Inputs, Margin, Memo};
use plimsoll::model::{Checkpoint, Container, FileTensor, Model};
use plimsoll::plan::{ModelRef, Value};
use plimsoll::source;
use plimsoll::store::Overwrite;
use plimsoll::units::Bytes;
use serde_json::{Map, json};

fn by_id(catalog: &ModelCatalog, id: &str) -> Model {
    let reference = ModelRef {
        preset: Some(id.to_owned()),
        ..ModelRef::default()
    };
    source::model(&reference, catalog).unwrap()
}

fn with(folder: &Path) -> ModelCatalog {
    let mut catalog = ModelCatalog::embedded();
    catalog.add_folder(folder);
    catalog
}

/// Whatever comes with the program can be kept under another name, and is then the same model.
#[test]
fn every_preset_can_be_saved_and_is_the_same_model_again() {
    let folder = tempfile::tempdir().unwrap();
    let embedded = ModelCatalog::embedded();
    let mut originals = Vec::new();
    for entry in embedded.list() {
        let id = format!("own-{}", entry.id);
        let model = by_id(&embedded, &entry.id);
        let preset = Preset::of_user(&id, &model, None).unwrap();
        let path = embedded.save(folder.path(), &preset, Overwrite::Refuse);
        let path = path.unwrap_or_else(|error| panic!("{id}: {error}"));
        assert!(path.starts_with(folder.path()), "{}", path.display());
        originals.push((id, model));
    }
    assert!(originals.len() > 100);
    let catalog = with(folder.path());
    assert_eq!(catalog.broken(), []);
    for (id, original) in originals {
        let mut again = by_id(&catalog, &id);
        again.name.clone_from(&original.name);
        assert!(again.sealed() == original, "{id}");
    }
}

#[test]
fn overrides_are_kept_in_the_language_model() {
    let folder = tempfile::tempdir().unwrap();
    let embedded = ModelCatalog::embedded();
    for id in ["Qwen3-8B", "Qwen3-VL-2B-Instruct"] {
        let overrides = Map::from_iter([("num_hidden_layers".to_owned(), json!(3))]);
        let model = embedded.find(id).unwrap().model(&overrides).unwrap();
        let name = format!("short-{id}");
        let preset = Preset::of_user(&name, &model, None).unwrap();
        embedded
            .save(folder.path(), &preset, Overwrite::Refuse)
            .unwrap();
        assert_eq!(by_id(&with(folder.path()), &name).layers.len(), 3);
    }
}

#[test]
fn nothing_is_replaced_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let embedded = ModelCatalog::embedded();
    let model = by_id(&embedded, "Qwen3-8B");
    let save = |catalog: &ModelCatalog, id: &str, overwrite| {
        let preset = Preset::of_user(id, &model, None).unwrap();
        catalog.save(folder.path(), &preset, overwrite)
    };
    // One that comes with the program.
    let error = save(&embedded, "qwen3-4b", Overwrite::Refuse).unwrap_err();
    assert!(
        matches!(error, SaveError::Taken { ref id } if id == "Qwen3-4B"),
        "{error}"
    );
    // One of the user, by a catalogue that knows it and by one that does not yet.
    let first = save(&embedded, "mine", Overwrite::Refuse).unwrap();
    let text = std::fs::read_to_string(&first).unwrap();
    for catalog in [&embedded, &with(folder.path())] {
        assert!(save(catalog, "mine", Overwrite::Refuse).is_err());
    }
    assert_eq!(std::fs::read_to_string(&first).unwrap(), text);
    assert_eq!(
        save(&with(folder.path()), "MINE", Overwrite::Replace).unwrap(),
        first
    );
    save(&embedded, "Qwen3-4B", Overwrite::Replace).unwrap();
    assert_eq!(by_id(&with(folder.path()), "Qwen3-4B").layers, model.layers);
}

#[test]
fn ids_stay_in_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let embedded = ModelCatalog::embedded();
    let model = by_id(&embedded, "Qwen3-8B");
    for id in [
        "../x",
        "a/b",
        "",
        ".x",
        "nul",
        "a\0b",
        "a b",
        "x\u{1b}[31m",
        "ü",
    ] {
        let preset = Preset::of_user(id, &model, None).unwrap();
        let error = embedded.save(folder.path(), &preset, Overwrite::Replace);
        assert!(matches!(error, Err(SaveError::Id { .. })), "{id:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn files_are_opened_while_they_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("model");
    std::fs::create_dir(&files).unwrap();
    let config = |layers: u64| {
        json!({
            "model_type": "llama", "hidden_size": 64, "vocab_size": 100, "num_hidden_layers": layers,
            "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 512,
            "rope_scaling": null, "torch_dtype": "bfloat16",
        })
    };
    let write =
        |layers| std::fs::write(files.join("config.json"), config(layers).to_string()).unwrap();
    write(2);
    let reference = ModelRef {
        path: Some(files.to_str().unwrap().to_owned()),
        ..ModelRef::default()
    };
    let embedded = ModelCatalog::embedded();
    let model = source::model(&reference, &embedded).unwrap();
    let presets = folder.path().join("presets");
    let preset = Preset::of_user("mine", &model, Some(&files)).unwrap();
    embedded.save(&presets, &preset, Overwrite::Refuse).unwrap();
    let catalog = with(&presets);

    let there = by_id(&catalog, "mine");
    assert_eq!((there.name.as_str(), there.layers.len()), ("mine", 2));
    assert_eq!(there.assumptions, Vec::<String>::new());
    // The files speak for themselves.
    write(5);
    assert_eq!(by_id(&catalog, "mine").layers.len(), 5);
    std::fs::remove_dir_all(&files).unwrap();
    let gone = by_id(&catalog, "mine");
    assert_eq!(gone.layers.len(), 2);
    assert!(
        gone.assumptions[0].contains("not at"),
        "{:?}",
        gone.assumptions
    );
    assert_eq!(catalog.broken(), []);
}

/// A GGUF file kept as a preset is that file, tensor by tensor, as long as it is there; what differs without it is said.
#[test]
fn a_preset_of_a_gguf_file_projects_as_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.gguf");
    let tiny = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/gguf/tiny.gguf");
    std::fs::copy(tiny, &file).unwrap();
    let reference = ModelRef {
        path: Some(file.to_str().unwrap().to_owned()),
        ..ModelRef::default()
    };
    let embedded = ModelCatalog::embedded();
    let model = source::model(&reference, &embedded).unwrap();
    let presets = folder.path().join("presets");
    let preset = Preset::of_user("mine", &model, Some(&file)).unwrap();
    embedded.save(&presets, &preset, Overwrite::Refuse).unwrap();
    let catalog = with(&presets);
    assert_eq!(catalog.broken(), []);

    let project = |model: &Model| {
        LlamaCpp.project(&Inputs {
            model,
            draft: None,
            machine: &modelled(&[Bytes::from_gib(24)], (8, 9)),
            settings: &toml::from_str("n_gpu_layers = 2\nctx_size = 512").unwrap(),
            margin: Margin::DEFAULT,
            memo: &Memo::default(),
        })
    };
    let (own, kept) = (project(&model), project(&by_id(&catalog, "mine")));
    assert!(!own.refused, "{:?}", own.notes);
    assert_eq!(kept.projection, own.projection);
    assert_eq!(kept.derived, own.derived);
    assert_eq!(kept.resolved, own.resolved);
    assert_eq!(kept.resolved["weights"], Value::Text("native".to_owned()));

    std::fs::remove_file(&file).unwrap();
    let without = project(&by_id(&catalog, "mine"));
    assert!(!without.refused, "{:?}", without.notes);
    // Another form of the weights, and that is said.
    assert_ne!(without.resolved["weights"], own.resolved["weights"]);
    let said = without
        .notes
        .iter()
        .find(|note| note.code == "model-assumed");
    assert!(
        said.unwrap()
            .message
            .contains("sizes follow from its configuration alone")
    );
}

/// Weights alone make no preset, and the reason says so.
#[test]
fn weights_alone_are_no_preset() {
    let tensors = vec![FileTensor {
        name: "blk.0.x.weight".to_owned(),
        shape: [64, 64, 1, 1],
        kind: None,
        type_name: "F16".into(),
        bytes: Bytes::new(8192),
        role: plimsoll::model::TensorRole::Parameters,
    }];
    let model = Model {
        name: "nobody".to_owned(),
        checkpoint: Some(Arc::new(Checkpoint::new(Container::Gguf, None, tensors))),
        ..Model::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let embedded = ModelCatalog::embedded();
    let saved = Preset::of_user("nobody", &model.sealed(), None)
        .and_then(|preset| embedded.save(folder.path(), &preset, Overwrite::Refuse));
    let reason = saved.unwrap_err().to_string();
    assert!(reason.contains("cannot be kept as a preset"), "{reason}");
}
