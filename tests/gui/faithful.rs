//! The window shows a plan as it is, and a small window shows all of it.

use std::path::PathBuf;

use eframe::egui::{Key, Role, Theme};
use egui_kittest::kittest::Queryable as _;
use plimsoll::plan::Plan;

use crate::desk::{Desk, detected};

fn saved(folder: &tempfile::TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("plan.toml");
    std::fs::write(&path, text).unwrap();
    path
}

/// Figures beyond what any field offers, and finer than any shows.
const ODD: &str = "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"DeepSeek-R1-Distill-Qwen-14B\"\n\
     [machine]\nram_mib = 17000001\nram_in_use_mib = 1003\n\
     gpus = [{ name = \"NVIDIA GeForce RTX 4090\", count = 17, vram_mib = 24577, in_use_mib = 17 }]\n\
     [settings]\nweights = \"Q4_K_M\"\nctx_size = 8192\ntensor_split = [5000000, 2500.125]\n\
     [fit]\nmargin_mib = 2000000\n[launch]\nport = 0\n";

#[test]
fn a_plan_that_is_shown_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = saved(&folder, ODD);
    let mut desk = Desk::opening("1x-rtx-4090", &path);
    let plan = Plan::from_toml(ODD).unwrap();
    assert_eq!(desk.app().document.plan, plan);
    let options = "Model path, address, further arguments";
    desk.harness.get_by_label(options).scroll_to_me();
    desk.run();
    desk.harness.get_by_label(options).click();
    desk.run();
    desk.sees("2,000,000");
    let fields = desk.harness.query_all_by_role(Role::SpinButton).count();
    assert!(fields > 20, "{fields}");
    // Nor does the keyboard change what it walks through.
    for index in 0..fields {
        let mut fields = desk.harness.query_all_by_role(Role::SpinButton);
        let Some(field) = fields.nth(index) else {
            continue;
        };
        field.focus();
        drop(fields);
        desk.run();
        desk.key(Key::Tab);
    }
    assert_eq!(desk.app().document.plan, plan);
    assert!(!desk.app().document.unsaved());
}

#[test]
fn a_number_is_typed() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::opening("1x-rtx-4090", &saved(&folder, ODD));
    desk.node(Role::SpinButton, "Number of RTX 4090").focus();
    desk.run();
    desk.harness
        .key_press_modifiers(eframe::egui::Modifiers::COMMAND, Key::A);
    desk.type_text("12");
    desk.key(Key::Enter);
    let machine = desk.app().document.plan.machine.clone().unwrap();
    assert_eq!(machine.gpus.unwrap()[0].count, Some(12));
}

fn on_nodes(nodes: u8) -> String {
    format!(
        "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"Qwen3-8B\"\n[machine]\nram_mib = 131072\n\
         nodes = {nodes}\ngpus = [{{ name = \"NVIDIA GeForce RTX 4090\", count = 2 }}]\n[settings]\n\
         weights = \"Q8_0\"\nctx_size = 32768\n"
    )
}

#[test]
fn many_nodes_leave_the_panels_in_the_window() {
    let folder = tempfile::tempdir().unwrap();
    for nodes in [8, 16] {
        for size in [[960.0, 540.0], [1280.0, 720.0]] {
            let path = saved(&folder, &on_nodes(nodes));
            let desk = Desk::open(detected("1x-rtx-4090"), Some(&path), Theme::Dark, size);
            for node in [
                desk.node(Role::MultilineTextInput, "Preview of the launch"),
                desk.node(Role::ComboBox, "Launch target"),
                desk.node(Role::Button, "Save…"),
            ] {
                assert!(node.rect().right() <= size[0], "{nodes} nodes: {node:?}");
            }
            desk.sees("GPUs of other nodes");
        }
    }
}

#[test]
fn figures_are_seen_in_a_small_window() {
    let folder = tempfile::tempdir().unwrap();
    for text in [ODD.to_owned(), on_nodes(1)] {
        for size in [[960.0, 540.0], [1000.0, 700.0], [1280.0, 720.0]] {
            let path = saved(&folder, &text);
            let desk = Desk::open(detected("1x-rtx-4090"), Some(&path), Theme::Dark, size);
            let right = desk.node(Role::ComboBox, "Launch target").rect().left();
            let left = desk.node(Role::ComboBox, "Model").rect().right();
            let figures = desk.harness.query_all_by(|node| {
                let label = node.label().or_else(|| node.value()).unwrap_or_default();
                label.ends_with(" GiB free") || label.ends_with(" GiB over")
            });
            let mut count = 0;
            for figure in figures {
                let rect = figure.rect();
                assert!(
                    rect.left() > left && rect.right() < right,
                    "{size:?}: {rect:?}"
                );
                count += 1;
            }
            assert!(count > 1, "{size:?}: {count}");
            for chip in ["Fit", "Most users"] {
                let rect = desk.node(Role::Button, chip).rect();
                assert!(rect.right() < right, "{size:?}: {chip} {rect:?}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_told_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe.toml");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let desk = Desk::opening("1x-rtx-4090", &path);
    desk.sees("pipe.toml");
    assert!(desk.app().document.path.is_none());
}

#[test]
fn what_another_engine_cannot_say_waits_for_the_way_back() {
    let folder = tempfile::tempdir().unwrap();
    let text = "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"Qwen3-30B-A3B\"\n[machine]\n\
         preset = \"1x-rtx-4090\"\n[settings]\nweights = \"Q4_K_M\"\nctx_size = 8192\nn_cpu_moe = 7\n\
         [fit]\npinned = [\"n_cpu_moe\"]\n";
    let mut desk = Desk::opening("1x-rtx-4090", &saved(&folder, text));
    let before = desk.app().document.plan.clone();
    assert!(before.settings.contains_key("n_cpu_moe"));
    desk.click(Role::RadioButton, "Ollama");
    assert!(!desk.app().document.plan.settings.contains_key("n_cpu_moe"));
    desk.click(Role::RadioButton, "llama.cpp");
    let after = &desk.app().document.plan;
    assert_eq!(
        after.settings.get("n_cpu_moe"),
        before.settings.get("n_cpu_moe")
    );
    assert_eq!(after.fit.pinned, before.fit.pinned);
}

#[test]
fn a_plan_that_is_refused_is_not_asked_for_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let text = "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"DeepSeek-R1\"\n[settings]\nctx_sise = 1\n";
    let desk = Desk::opening("1x-rtx-4090", &saved(&folder, text));
    desk.sees("No launch: ");
    desk.misses("once a model is chosen");
}

#[test]
fn experts_have_a_price_where_layers_stay() {
    let folder = tempfile::tempdir().unwrap();
    let text = "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"Qwen3-30B-A3B\"\n[machine]\n\
         preset = \"1x-rtx-4090\"\n[settings]\nweights = \"Q4_K_M\"\nctx_size = 8192\nn_cpu_moe = 7\n";
    let desk = Desk::opening("1x-rtx-4090", &saved(&folder, text));
    desk.sees("Experts in RAM");
    desk.misses("per layer ");
    let text = format!("{text}n_gpu_layers = \"all\"\n");
    let desk = Desk::opening("1x-rtx-4090", &saved(&folder, &text));
    desk.sees("per layer ");
}
