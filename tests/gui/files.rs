//! Saving and opening: nothing is lost, nothing is overwritten unasked.

use eframe::egui::{Key, Role};

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

    desk.click(Role::Button, "Save by path…");
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
