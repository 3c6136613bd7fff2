//! Other plans on the same machine, and the model that drafts.

use std::path::{Path, PathBuf};

use eframe::egui::{Key, Role};
use egui_kittest::kittest::Queryable as _;

use crate::desk::Desk;

const EMBEDDING: &str = "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"DeepSeek-R1-Distill-Qwen-1.5B\"\n\
     [settings]\nweights = \"Q8_0\"\nctx_size = 4096\nn_gpu_layers = \"all\"\n";

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn ready() -> Desk {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 14b");
    desk
}

#[test]
fn a_neighbour_takes_its_memory_and_gives_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let neighbour = write(folder.path(), "embedding.toml", EMBEDDING);
    let mut desk = ready();
    let before = desk.figure("Free", "GPU 0");
    desk.answer(&neighbour);
    desk.click(Role::Button, "Run a plan beside this one…");
    let taken = desk.figure("Beside", "GPU 0");
    assert!(taken > 1.5, "{taken}");
    assert!((before - taken - desk.figure("Free", "GPU 0")).abs() < 0.03);
    desk.sees("GPU 0, embedding, ");
    // Others' use is no more than it was.
    assert!((desk.figure("In use", "GPU 0") - 0.625).abs() < 0.01);

    desk.click(Role::Button, "Remove embedding beside this plan");
    assert!((desk.figure("Free", "GPU 0") - before).abs() < 0.01);
    desk.command(Key::Z);
    desk.sees("GPU 0, embedding, ");
}

#[test]
fn a_neighbour_that_cannot_be_read_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let neighbour = write(folder.path(), "broken.toml", "schema = 1\n");
    let mut desk = ready();
    desk.answer(&neighbour);
    desk.click(Role::Button, "Run a plan beside this one…");
    // Nobody can say whether it fits, and why is said once.
    desk.sees("Cannot be judged");
    desk.misses("Fits");
    assert_eq!(desk.texts_with("is not counted").len(), 1);
    desk.sees("broken.toml");
    desk.click(Role::Button, "Remove broken beside this plan");
    desk.misses("Cannot be judged");
}

#[test]
fn neighbours_follow_a_plan_to_another_folder() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(first.path(), "embedding.toml", EMBEDDING);
    let text = EMBEDDING.replace(
        "schema = 1\n",
        "schema = 1\nbeside = [\"embedding.toml\"]\n",
    );
    let chat = write(first.path(), "chat.toml", &text);
    let mut desk = Desk::opening("1x-rtx-4090", &chat);
    desk.sees("GPU 0, embedding, ");
    let copy = second.path().join("chat.toml");
    desk.answer(&copy);
    desk.harness.key_press_modifiers(
        eframe::egui::Modifiers::COMMAND | eframe::egui::Modifiers::SHIFT,
        Key::S,
    );
    desk.run();
    desk.sees("GPU 0, embedding, ");
    assert!(!desk.app().document.unsaved());
    let desk = Desk::opening("1x-rtx-4090", &copy);
    desk.sees("GPU 0, embedding, ");
}

#[test]
fn a_plan_that_is_dropped_may_run_beside() {
    let folder = tempfile::tempdir().unwrap();
    let neighbour = write(folder.path(), "embedding.toml", EMBEDDING);
    let mut desk = ready();
    let model = desk.app().document.plan.model.clone();
    desk.drop_file(&neighbour);
    desk.sees("Open this plan?");
    desk.click(Role::Button, "Run it beside");
    assert_eq!(desk.app().document.plan.model, model);
    desk.sees("GPU 0, embedding, ");
    desk.drop_file(&neighbour);
    desk.click(Role::Button, "Open it");
    desk.click(Role::Button, "Discard changes");
    assert_ne!(desk.app().document.plan.model, model);
}

#[test]
fn a_draft_model_is_chosen_and_given_up() {
    let mut desk = ready();
    desk.click(Role::ComboBox, "Draft model");
    // What knows other tokens comes last.
    let place = |desk: &Desk, name: &str| {
        let mut rows = desk
            .harness
            .query_all_by_role_and_label(Role::ListBoxOption, name);
        rows.next().unwrap().rect().top()
    };
    let near = place(&desk, "DeepSeek R1 Distill Qwen 1.5B");
    let far = place(&desk, "DeepSeek R1 Distill Llama 8B");
    assert!(near < far, "{near} {far}");
    desk.key(Key::Escape);
    desk.search("Draft model", "r1 distill qwen 1.5b");
    let draft = desk.app().document.plan.draft.clone().unwrap();
    assert_eq!(
        draft.preset.as_deref(),
        Some("DeepSeek-R1-Distill-Qwen-1.5B")
    );
    desk.click(Role::ComboBox, "Draft model");
    desk.node(Role::Button, "No draft model").click();
    desk.run();
    assert_eq!(desk.app().document.plan.draft, None);
}
