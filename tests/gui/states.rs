//! Empty, waiting and failed; the keyboard; an idle window.

use eframe::egui::{Key, Role, Theme, Vec2};

use egui_kittest::kittest::Queryable as _;

use crate::desk::{Desk, detected};

fn plan(folder: &tempfile::TempDir, text: &str) -> std::path::PathBuf {
    let path = folder.path().join("plan.toml");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn an_empty_window_says_what_to_do() {
    let mut desk = Desk::new("cpu-only-32gb");
    desk.sees("Which model?");
    desk.sees("No GPU found");
    desk.sees("The launch appears here once a model is chosen");
    desk.misses("KV cache");
    assert!(!desk.app().document.unsaved());
    desk.click(Role::Button, "Choose a model");
    desk.sees("Search models");
}

#[test]
fn bad_files_are_told_and_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (text, told) in [
        ("schema = 1\n[", "this is no plan"),
        ("schema = 99\n", "schema 99"),
        (
            "schema = 1\nengine = \"llama.cpp\"\nenginee = 1\n[model]\npreset = \"x\"\n",
            "enginee",
        ),
        ("{\"a\": 1}", "this is no report"),
    ] {
        let path = plan(&folder, text);
        let desk = Desk::opening("1x-rtx-4090", &path);
        desk.sees(told);
        assert!(desk.app().document.path.is_none());
    }
    let desk = Desk::opening("1x-rtx-4090", &folder.path().join("nowhere.toml"));
    desk.sees("could not");
}

#[test]
fn a_plan_with_wrong_contents_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let head = "schema = 1\nengine = \"llama.cpp\"\n[model]\n";
    for (text, told) in [
        ("preset = \"no-such-model\"\n", "The model cannot be read"),
        (
            "preset = \"DeepSeek-R1\"\n[settings]\nctx_sise = 1\n",
            "did you mean `ctx_size`?",
        ),
        (
            "preset = \"DeepSeek-R1\"\n[machine]\nram_mib = 1\ngpus = [{ name = \"Voodoo 3\" }]\n",
            "no GPU in the catalogue",
        ),
        (
            "preset = \"DeepSeek-R1\"\n[settings]\nctx_size = 1099511627776\n",
            "fit",
        ),
    ] {
        let path = plan(&folder, &format!("{head}{text}"));
        let desk = Desk::opening("1x-rtx-4090", &path);
        desk.sees(told);
    }
}

#[test]
fn everything_can_be_done_with_the_keyboard() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.command(Key::M);
    desk.type_text("llama 3.1 8b");
    desk.key(Key::ArrowDown);
    desk.key(Key::ArrowUp);
    desk.key(Key::Enter);
    desk.sees("Fits");
    desk.command(Key::Num2);
    desk.sees("Click in the plot to set the value");
    desk.command(Key::Num1);
    let settings = desk.app().document.plan.settings.clone();
    desk.node(Role::Slider, "Context").focus();
    desk.run();
    desk.key(Key::ArrowRight);
    assert_ne!(desk.app().document.plan.settings, settings);
    desk.command(Key::G);
    desk.type_text("8x h100");
    desk.key(Key::Enter);
    desk.sees("GPU 7");
}

#[test]
fn an_idle_window_does_nothing() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    let made = desk.app().reports_made();
    desk.harness.run_steps(5);
    assert_eq!(desk.app().reports_made(), made);
    // `run` fails if the window never settles.
    desk.run();
}

#[test]
fn many_and_odd_devices_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = plan(
        &folder,
        "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"DeepSeek-R1\"\n[machine]\nram_mib = 1048576\n\
         gpus = [{ name = \"NVIDIA H100 80GB HBM3\", count = 6 }, { name = \"AMD Instinct MI300X\", count = 3 }, \
         { name = \"nothing\", vram_mib = 0 }]\n",
    );
    let desk = Desk::opening("cpu-only-32gb", &path);
    desk.sees("GPU 9");
}

#[test]
fn a_list_is_driven_by_the_keyboard() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 14b");
    let weights = |desk: &Desk| {
        let value = desk.node(Role::ComboBox, "Weights").value();
        value.unwrap()
    };
    desk.choose("Weights", "Q4_K_M");
    desk.node(Role::ComboBox, "Weights").focus();
    desk.run();
    desk.key(Key::Enter);
    assert!(desk.node(Role::ListBoxOption, "Q4_K_M").is_focused());

    for _ in 0..3 {
        desk.key(Key::ArrowUp);
    }
    assert!(desk.node(Role::ListBoxOption, "Q5_K_S").is_focused());
    desk.key(Key::Escape);
    assert_eq!(weights(&desk), "Q4_K_M");
    assert!(desk.node(Role::ComboBox, "Weights").is_focused());

    desk.key(Key::Enter);
    desk.key(Key::ArrowUp);
    desk.key(Key::ArrowUp);
    desk.key(Key::ArrowUp);
    desk.key(Key::Enter);
    assert_eq!(weights(&desk), "Q5_K_S");
    assert!(desk.node(Role::ComboBox, "Weights").is_focused());

    desk.key(Key::Enter);
    desk.type_text("q8");
    assert!(desk.node(Role::ListBoxOption, "Q8_0").is_focused());
    desk.key(Key::Enter);
    assert_eq!(weights(&desk), "Q8_0");

    // Far rows are reached, and come into sight.
    desk.key(Key::Enter);
    desk.key(Key::End);
    let list = desk.harness.query_all_by_role(Role::ListBoxOption);
    assert!(list.last().unwrap().is_focused());
    desk.key(Key::Escape);

    desk.node(Role::ComboBox, "Launch target").focus();
    desk.run();
    desk.key(Key::Enter);
    desk.key(Key::End);
    desk.key(Key::Enter);
    desk.misses("#!/bin/sh");
}

#[test]
fn tab_goes_through_the_top_bar_from_the_left() {
    let mut desk = Desk::new("1x-rtx-4090");
    let mut places = Vec::new();
    desk.node(Role::Button, "Plan").focus();
    desk.run();
    for name in [
        "Plan",
        "Open…",
        "Save plan",
        "Switch between dark and light",
    ] {
        let node = desk.node(Role::Button, name);
        assert!(node.is_focused(), "{name} is not next");
        places.push(node.rect().left());
        desk.key(Key::Tab);
    }
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn a_small_window_has_room_for_bars_and_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = plan(
        &folder,
        "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"DeepSeek-R1\"\n[machine]\n\
         preset = \"8x-h100\"\n",
    );
    let mut desk = Desk::open(
        detected("cpu-only-32gb"),
        Some(&path),
        Theme::Dark,
        [1600.0, 900.0],
    );
    // Wide panels give way when the window gets small.
    desk.harness.set_size(Vec2::new(960.0, 540.0));
    desk.run();
    let bars = desk.harness.query_all_by(|node| {
        node.label()
            .is_some_and(|label| label.starts_with("GPU 7, Weights"))
    });
    let bar: Vec<f32> = bars.map(|node| node.rect().width()).collect();
    assert!(
        !bar.is_empty() && bar.iter().all(|width| *width > 40.0),
        "{bar:?}"
    );
    let left = desk.node(Role::ComboBox, "Machine").rect();
    let right = desk.node(Role::ComboBox, "Launch target").rect();
    assert!(right.left() - left.right() > 360.0, "{left:?} {right:?}");

    // Lines of the launch are as wide as the panel at most.
    let preview = desk.node(Role::MultilineTextInput, "Preview of the launch");
    assert!(preview.rect().right() <= 960.0, "{:?}", preview.rect());
}

#[test]
fn what_a_fix_offers_moves_nothing() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    let place = |desk: &Desk| desk.node(Role::Tab, "Curves").rect().top();
    let before = place(&desk);
    desk.misses("Does not fit");
    desk.choose("Weights", "Q8_0");
    desk.click(Role::Button, "all");
    desk.sees("Does not fit");
    assert!((place(&desk) - before).abs() < 0.5, "the tabs moved");
}
