//! Models of one's own: opened, listed, told, watched.

use eframe::egui::{Event, Key, Modifiers, Role, Theme};
use plimsoll::plan::{ModelRef, Value};

use crate::desk::{Belongings, Desk, detected};
use crate::model_files::{CONFIG, Gguf, folder as model};

fn owner(own: Belongings) -> Desk {
    let machine = detected("1x-rtx-4090");
    Desk::with(machine, None, Theme::Dark, [1440.0, 900.0], own)
}

fn path_of(desk: &Desk) -> Option<&str> {
    desk.app().document.plan.model.path.as_deref()
}

#[test]
fn a_tab_tells_what_the_model_is() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "deepseek r1");
    desk.click(Role::Tab, "Model");
    desk.sees("num_hidden_layers: 61");
    desk.sees("58 layers (3–60)");
    desk.sees("experts, 97.4 %, 654 B");
    desk.sees("KiB per token");
    desk.sees("Counted from the configuration");
    desk.click(Role::Button, "Copy as JSON");
    desk.sees("Copied to the clipboard");
}

#[test]
fn a_folder_that_falls_on_the_window_is_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path(), "mine");
    let mut desk = Desk::new("1x-rtx-4090");
    desk.drop_file(&path);
    assert_eq!(path_of(&desk), path.to_str());
    desk.sees("Fits");
    desk.click(Role::Tab, "Model");
    desk.sees("num_hidden_layers: 28");
    desk.sees("config.json: ");
    desk.sees("model.safetensors: ");
}

#[test]
fn a_file_that_changes_is_told_and_its_last_reading_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path(), "mine");
    let mut desk = Desk::new("1x-rtx-4090");
    desk.drop_file(&path);
    desk.harness.event(Event::WindowFocused(true));
    desk.run();
    desk.misses("has changed");

    let other = CONFIG.replace("28", "280");
    std::fs::write(path.join("config.json"), other).unwrap();
    desk.harness.event(Event::WindowFocused(true));
    desk.run();
    desk.sees("mine has changed on disk");
    desk.click(Role::Tab, "Model");
    desk.sees("num_hidden_layers: 28");
    desk.click(Role::Button, "Read again");
    desk.sees("num_hidden_layers: 280");
    desk.misses("has changed");

    std::fs::remove_dir_all(&path).unwrap();
    desk.harness.event(Event::WindowFocused(true));
    desk.run();
    desk.sees("mine is no longer there");
    desk.sees("num_hidden_layers: 280");
}

#[test]
fn models_on_this_computer_are_listed_and_taken() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let kept = folder.path().join("kept");
    std::fs::create_dir_all(&home).unwrap();
    let path = model(&kept, "My own merge");
    std::fs::write(kept.join("broken.gguf"), b"no model").unwrap();
    let mut desk = owner(Belongings {
        home: Some(home),
        folders: vec![kept.clone()],
        ..Belongings::default()
    });
    desk.click(Role::ComboBox, "Model");
    desk.misses("My own merge");
    desk.click(Role::RadioButton, "On this computer");
    desk.sees("My own merge");
    desk.sees("1 models on this computer");
    desk.sees("broken.gguf");
    // What is broken cannot be taken.
    desk.node(Role::ListBoxOption, "broken.gguf").click();
    desk.run();
    assert_eq!(path_of(&desk), None);
    desk.type_text("merge");
    desk.misses("broken.gguf");
    desk.key(Key::Enter);
    assert_eq!(path_of(&desk), path.to_str());
    desk.sees("Fits");

    desk.click(Role::ComboBox, "Model");
    let forget = format!("Look no longer in {}", kept.display());
    desk.click(Role::Button, &forget);
    assert!(desk.app().preferences.model_folders.is_empty());
    desk.sees("0 models on this computer");
}

#[test]
fn a_folder_is_added_and_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    model(&kept, "My own merge");
    let mut desk = owner(Belongings {
        home: Some(folder.path().join("home")),
        ..Belongings::default()
    });
    desk.answer(&kept);
    desk.click(Role::ComboBox, "Model");
    desk.click(Role::RadioButton, "On this computer");
    desk.sees("0 models on this computer");
    desk.click(Role::Button, "Add folder…");
    assert_eq!(desk.app().preferences.model_folders, [kept]);
    desk.sees("My own merge");
}

#[test]
fn presets_of_ones_own_are_marked_and_broken_ones_explained() {
    let folder = tempfile::tempdir().unwrap();
    let presets = folder.path();
    std::fs::write(presets.join("garbled.toml"), "this is no preset").unwrap();
    let mut desk = owner(Belongings {
        presets: Some(presets.to_owned()),
        ..Belongings::default()
    });
    desk.click(Role::ComboBox, "Model");
    desk.sees("garbled.toml");
    desk.node(Role::ListBoxOption, "garbled.toml").click();
    desk.run();
    assert_eq!(desk.app().document.plan.model, ModelRef::default());
}

/// A folder may be called anything.
#[cfg(unix)]
#[test]
fn names_from_strangers_stay_in_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path(), "a\nb\u{202e}c\u{7}d");
    let mut desk = Desk::new("1x-rtx-4090");
    desk.drop_file(&path);
    desk.click(Role::Tab, "Model");
    desk.sees("a b c d");
    for steering in ["\u{202e}", "\u{7}"] {
        desk.misses(steering);
    }
    let missing = folder.path().join("no\u{202e}such\u{1b}[31m");
    desk.drop_file(&missing);
    desk.sees("no such [31m");
    desk.misses("\u{1b}");
}

#[test]
fn a_gguf_file_that_falls_on_the_window_is_the_model_tensor_by_tensor() {
    let folder = tempfile::tempdir().unwrap();
    let path = Gguf::llama().write(&folder.path().join("small-F16.gguf"));
    let mut desk = Desk::new("1x-rtx-4090");
    desk.drop_file(&path);
    assert_eq!(path_of(&desk), path.to_str());
    desk.sees("Fits");
    desk.click(Role::Tab, "Model");
    desk.sees("num_hidden_layers: 2");
    desk.sees("Weights are exact");
    desk.sees("small-F16.gguf: ");
    desk.sees("as in the file (F16)");
    desk.sees("16.00 bits per weight");
    desk.sees("attention, ");
}

#[test]
fn what_goes_with_a_model_is_taken_up() {
    let folder = tempfile::tempdir().unwrap();
    let projector = Gguf::default()
        .text("general.architecture", "clip")
        .text("general.type", "mmproj")
        .tensor("v.patch_embd.weight", &[16, 16])
        .write(&folder.path().join("mmproj.gguf"));
    let adapter = Gguf::default()
        .text("general.architecture", "qwen2")
        .text("general.type", "adapter")
        .text("adapter.type", "lora")
        .tensor("blk.0.attn_q.weight.lora_a", &[5120, 8])
        .tensor("blk.0.attn_q.weight.lora_b", &[8, 5120])
        .write(&folder.path().join("lora.gguf"));
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    desk.drop_file(&projector);
    desk.sees("is a projector");
    desk.drop_file(&adapter);
    desk.sees("is a LoRA adapter");
    let plan = &desk.app().document.plan;
    assert_eq!(plan.launch.mmproj_path.as_deref(), projector.to_str());
    assert_eq!(plan.launch.lora_paths, [adapter.to_str().unwrap()]);
    let line = Value::Text("rank=8 targets=attn_q type=f16".to_owned());
    assert_eq!(plan.settings.get("lora"), Some(&Value::List(vec![line])));
    assert_eq!(plan.model.path, None);
}

#[test]
fn a_log_is_told_from_a_plan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.txt");
    std::fs::write(&path, "build: 1 (abc)\nllama_model_loader: loaded\n").unwrap();
    let mut desk = Desk::new("1x-rtx-4090");
    desk.drop_file(&path);
    desk.sees("this is a log");
}

#[test]
fn a_model_is_kept_as_a_preset() {
    let folder = tempfile::tempdir().unwrap();
    let presets = folder.path().join("presets");
    let path = model(folder.path(), "My own merge");
    let mut desk = owner(Belongings {
        presets: Some(presets.clone()),
        ..Belongings::default()
    });
    desk.drop_file(&path);
    desk.click(Role::Tab, "Model");
    desk.click(Role::Button, "Save as preset…");
    desk.replace_text("Name of the preset", "Qwen3-8B");
    desk.click(Role::Button, "Save");
    desk.sees("already");
    desk.replace_text("Name of the preset", "my-merge");
    desk.click(Role::Button, "Save");
    desk.sees("Kept as a preset");
    assert!(presets.join("my-merge.toml").exists());
    desk.search("Model", "my own merge");
    let plan = &desk.app().document.plan;
    assert_eq!(plan.model.preset.as_deref(), Some("my-merge"));
}

/// In which form weights are is a matter of their file: with another model the choice is given up, and comes back with it.
#[test]
fn the_form_of_the_weights_goes_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = Gguf::llama().write(&folder.path().join("own.gguf"));
    let plan = format!(
        "schema = 1\nengine = \"llama.cpp\"\n[model]\npath = {file:?}\n[machine]\npreset = \"1x-rtx-4090\"\n\
         [settings]\nweights = \"native\"\nctx_size = 4096\nn_gpu_layers = \"all\"\n[fit]\npinned = [\"weights\"]\n"
    );
    let path = folder.path().join("plan.toml");
    std::fs::write(&path, plan).unwrap();
    let mut desk = Desk::opening("1x-rtx-4090", &path);
    let weights = |desk: &Desk| desk.app().document.plan.settings.get("weights").cloned();
    let pinned = |desk: &Desk| desk.app().document.plan.fit.pinned.clone();
    let word = |word: &str| Some(Value::Text(word.to_owned()));
    assert_eq!(weights(&desk), word("native"));
    desk.sees("as in the file (F16)");
    desk.search("Model", "qwen3 8b");
    assert_eq!(weights(&desk), None);
    assert!(pinned(&desk).is_empty());
    desk.sees("Weights native");
    desk.sees("Fits");
    // One step back has the file, its form and the pin.
    desk.command(Key::Z);
    assert_eq!(weights(&desk), word("native"));
    assert_eq!(pinned(&desk), ["weights"]);
    desk.sees("as in the file (F16)");
    desk.click(Role::Button, "Redo");
    assert_eq!(weights(&desk), None);

    // The other way round: what was chosen of a preset says nothing of a file.
    desk.choose("Weights", "Q5_K_M");
    assert_eq!(pinned(&desk), ["weights"]);
    desk.drop_file(&file);
    assert_eq!(weights(&desk), None);
    desk.sees("as in the file (F16)");
    desk.command(Key::Z);
    assert_eq!(weights(&desk), word("Q5_K_M"));
    // Among presets the choice stays.
    desk.search("Model", "qwen3 4b");
    assert_eq!(weights(&desk), word("Q5_K_M"));
}

/// Of a model that is known by its weights alone every panel tells the same: at least so much, and nothing else.
#[test]
fn weights_alone_promise_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path(), "strange");
    std::fs::write(
        path.join("config.json"),
        r#"{"model_type": "nobody_knows_this"}"#,
    )
    .unwrap();
    let mut desk = Desk::new("1x-rtx-4090");
    desk.drop_file(&path);
    desk.sees("At least");
    desk.sees("only weights are counted");
    for promise in ["Fits", "comfortable", "Would not start", "Context 16,384 "] {
        desk.misses(promise);
    }
    desk.sees("at most ");
    desk.sees("AT LEAST this much");
    desk.click(Role::Tab, "Curves");
    desk.sees("nothing tells how its memory grows");
    desk.click(Role::Tab, "Options");
    desk.sees("No search for better settings");
    desk.sees("Options need to know");
    desk.click(Role::Tab, "Model");
    desk.sees("model.safetensors: ");
    desk.sees("Only the weights are known");
    for claim in ["per token", "positions: ", "Save as preset"] {
        desk.misses(claim);
    }
}

/// A plan and its model can be moved together; saved elsewhere, it still means the same file.
#[test]
fn a_model_is_found_from_its_plans_folder() {
    let folder = tempfile::tempdir().unwrap();
    Gguf::llama().write(&folder.path().join("own.gguf"));
    Gguf::llama().write(&folder.path().join("small.gguf"));
    let plan = "schema = 1\nengine = \"llama.cpp\"\n[model]\npath = \"own.gguf\"\n[draft]\npath = \"small.gguf\"\n\
                [machine]\npreset = \"1x-rtx-4090\"\n[settings]\nctx_size = 4096\nn_gpu_layers = \"all\"\n";
    let path = folder.path().join("plan.toml");
    std::fs::write(&path, plan).unwrap();
    let mut desk = Desk::opening("1x-rtx-4090", &path);
    desk.sees("Fits");
    desk.sees("as in the file (F16)");
    assert_eq!(path_of(&desk), Some("own.gguf"));
    desk.click(Role::Tab, "Model");
    desk.sees("own.gguf: ");
    let sub = folder.path().join("sub");
    std::fs::create_dir(&sub).unwrap();
    desk.answer(&sub.join("plan.toml"));
    let shift = Modifiers::COMMAND | Modifiers::SHIFT;
    desk.harness.key_press_modifiers(shift, Key::S);
    desk.run();
    let own = folder.path().join("own.gguf");
    assert_eq!(path_of(&desk), own.to_str());
    let text = std::fs::read_to_string(sub.join("plan.toml")).unwrap();
    assert!(text.contains(own.to_str().unwrap()), "{text}");
    desk.sees("Fits");
}
