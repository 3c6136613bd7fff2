//! Saving and opening: nothing is lost, nothing is overwritten unasked.

use eframe::egui::{Key, Role};

use plimsoll::app::notice::Notice;

use crate::desk::Desk;

#[test]
fn where_no_dialog_exists_a_path_is_asked_for_here() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b'c.sh");
    std::fs::write(&path, "precious").unwrap();

    desk.click(Role::Button, "Save…");
    desk.sees("Save the launch");
    desk.replace_text("Path", path.to_str().unwrap());
    desk.click(Role::Button, "Save");
    desk.sees("Replace the file?");
    desk.click(Role::Button, "Cancel");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");

    // The two buttons are one where there is no dialog.
    desk.misses("Save by path…");
    desk.click(Role::Button, "Save…");
    desk.sees("No file dialog of the desktop was found");
    desk.replace_text("Path", path.to_str().unwrap());
    desk.click(Role::Button, "Save");
    desk.click(Role::Button, "Replace");
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .contains("llama-server")
    );
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    desk.answer(std::path::Path::new("/no/such/folder/x.sh"));
    desk.click(Role::Button, "Save…");
    desk.sees("there is no such folder");
}

#[test]
fn a_plan_comes_back_as_it_was_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    desk.choose("Weights", "Q5_K_M");
    assert!(desk.app().document.unsaved());
    desk.answer(&path);
    desk.click(Role::Button, "Save plan");
    assert!(!desk.app().document.unsaved());
    assert_eq!(desk.app().preferences.recent, std::slice::from_ref(&path));
    let saved = desk.app().document.plan.clone();
    // What was fitted is written down as chosen, what was decided is not.
    assert!(saved.fit.chosen.contains_key("ctx_size"), "{saved:?}");
    assert!(!saved.fit.chosen.contains_key("weights"), "{saved:?}");

    let desk = Desk::opening("1x-rtx-4090", &path);
    assert_eq!(desk.app().document.plan, saved);
    assert!(!desk.app().document.unsaved());
    desk.sees("plan.toml");
}

#[test]
fn changes_are_not_lost_silently() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    desk.command(Key::N);
    desk.sees("Save the plan first?");
    desk.click(Role::Button, "Cancel");
    assert!(desk.app().document.has_model());

    desk.command(Key::N);
    desk.click(Role::Button, "Discard changes");
    assert!(!desk.app().document.has_model());
    desk.sees("Which model?");
}

#[test]
fn saving_first_then_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.toml");
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    desk.answer(&path);
    desk.command(Key::N);
    desk.click(Role::Button, "Save");
    assert!(path.exists());
    assert!(!desk.app().document.has_model());
}

#[test]
fn a_report_from_another_machine_can_be_planned_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine.json");
    let mut desk = Desk::new("2x-rtx-3090");
    desk.answer(&path);
    desk.click(Role::Button, "Save report…");
    assert!(path.exists());

    let mut desk = Desk::opening("cpu-only-32gb", &path);
    desk.search("Model", "r1 distill qwen 32b");
    desk.sees("GPU 1");
    assert_eq!(
        desk.app()
            .document
            .plan
            .machine
            .as_ref()
            .unwrap()
            .gpus
            .as_ref()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn the_target_changes_the_launch() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    desk.sees("#!/bin/sh");
    desk.choose("Launch target", "JSON for deployment scripts");
    desk.misses("#!/bin/sh");
}

#[test]
fn closing_with_changes_asks_first() {
    let mut desk = Desk::new("1x-rtx-4090");
    assert!(!desk.close(), "nothing to lose, nothing to ask");
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    assert!(desk.close(), "closed with unsaved changes");
    desk.sees("Save the plan first?");
    desk.click(Role::Button, "Discard changes");
    assert!(!desk.close(), "asked again after the changes were given up");
}

#[test]
fn files_can_be_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dropped.toml");
    std::fs::write(
        &path,
        "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"DeepSeek-R1\"\n",
    )
    .unwrap();
    let mut desk = Desk::new("1x-rtx-4090");
    desk.drop_file(&path);
    desk.sees("dropped.toml");
}

#[test]
fn enter_saves_and_a_bad_folder_keeps_the_question() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("no").join("launch.sh");
    desk.click(Role::Button, "Save…");
    let here = std::env::current_dir().unwrap();
    desk.sees(&format!("starts from {}", here.display()));
    desk.replace_text("Path", bad.to_str().unwrap());
    desk.key(Key::Enter);
    desk.sees("there is no such folder");
    desk.sees("Save the launch");
    assert_eq!(
        desk.node(Role::TextInput, "Path").value().as_deref(),
        bad.to_str()
    );
    assert!(desk.app().state.notices.is_empty());

    let good = folder.path().join("launch.sh");
    desk.replace_text("Path", good.to_str().unwrap());
    desk.key(Key::Enter);
    desk.misses("Save the launch");
    desk.sees("Saved");
    assert!(good.exists());
}

#[test]
fn enter_opens_and_what_cannot_be_opened_is_said_in_the_question() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, "GGUF and more").unwrap();
    let mut desk = Desk::new("1x-rtx-4090");
    desk.click(Role::Button, "Open…");
    desk.replace_text("Path", path.to_str().unwrap());
    desk.key(Key::Enter);
    desk.sees("newer than this program knows");
    desk.sees("Open a plan, a model or a report");
    desk.key(Key::Escape);
    desk.misses("Open a plan, a model or a report");
}

#[test]
fn messages_do_not_pile_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    for name in ["model.gguf", "other.gguf"] {
        let path = folder.path().join(name);
        std::fs::write(&path, "anything").unwrap();
        desk.drop_file(&path);
    }
    let notices = |desk: &Desk| desk.app().state.notices.clone();
    let failures = |desk: &Desk| {
        let failed = |notice: &Notice| notice.failed;
        let all = notices(desk).into_iter();
        all.filter(failed).collect::<Vec<_>>()
    };
    assert_eq!(failures(&desk).len(), 1);
    assert!(failures(&desk)[0].text.contains("other.gguf"));
    desk.sees("this is no GGUF file");
    desk.click(Role::Button, "Copy");
    desk.click(Role::Button, "Copy");
    assert_eq!(notices(&desk).len(), 2);

    // The failure stays until something can be opened; good news leaves by itself.
    let plan = folder.path().join("good.toml");
    std::fs::write(
        &plan,
        "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"DeepSeek-R1\"\n",
    )
    .unwrap();
    desk.command(Key::N);
    desk.click(Role::Button, "Discard changes");
    desk.drop_file(&plan);
    assert!(notices(&desk).iter().all(|notice| !notice.failed));
    desk.harness.input_mut().time = Some(1e3);
    desk.harness.step();
    desk.harness.step();
    assert!(notices(&desk).is_empty(), "{:?}", notices(&desk));
}
