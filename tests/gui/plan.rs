//! What the window may change of a plan by itself, and what it must not.

use std::path::PathBuf;

use eframe::egui::accesskit::Toggled;
use eframe::egui::{Key, Role};
use egui_kittest::Node;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use plimsoll::plan::Value;

use crate::desk::Desk;

const WITH_FILE: &str = "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"DeepSeek-R1-Distill-Qwen-32B\"\n\
     [machine]\npreset = \"1x-rtx-4090\"\n[settings]\nweights = \"Q4_K_M\"\nctx_size = 8192\n\
     [launch]\nmodel_path = \"/models/qwen-32b-q4_k_m.gguf\"\n";

fn saved(folder: &tempfile::TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("plan.toml");
    std::fs::write(&path, text).unwrap();
    path
}

impl Desk {
    fn script(&self) -> String {
        self.node(Role::MultilineTextInput, "Preview of the launch")
            .value()
            .unwrap()
    }

    /// The pill of GPU layers, which come before all other settings with the same words.
    fn pill(&self, word: &'static str) -> Node<'_> {
        let mut pills = self.harness.get_all_by_role_and_label(Role::Button, word);
        pills.next().unwrap()
    }

    fn add_gpu(&mut self, name: &str) {
        self.click(Role::Button, "Add a GPU…");
        self.type_text(name);
        self.key(Key::Enter);
    }
}

#[test]
fn another_model_leaves_the_last_ones_file_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::opening("cpu-only-32gb", &saved(&folder, WITH_FILE));
    assert!(desk.script().contains("/models/qwen-32b-q4_k_m.gguf"));
    desk.search("Model", "r1 distill llama 8b");
    assert_eq!(desk.app().document.plan.launch.model_path, None);
    assert!(!desk.script().contains("qwen-32b-q4_k_m.gguf"));
    desk.sees("/models/qwen-32b-q4_k_m.gguf");

    desk.click(Role::Button, "Use it for this model too");
    assert!(desk.script().contains("/models/qwen-32b-q4_k_m.gguf"));
    desk.misses("Use it for this model too");

    desk.search("Model", "r1 distill qwen 14b");
    desk.click(Role::Button, "Dismiss");
    desk.misses("qwen-32b-q4_k_m.gguf");
}

#[test]
fn a_file_of_another_type_than_projected_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::opening("cpu-only-32gb", &saved(&folder, WITH_FILE));
    desk.misses("is Q4_K_M by its name");
    desk.choose("Weights", "BF16");
    desk.sees("is Q4_K_M by its name");
    desk.choose("Weights", "Q4_K_M");
    desk.misses("is Q4_K_M by its name");
}

#[test]
fn a_saved_plan_keeps_its_settings_on_any_machine() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = Desk::opening("cpu-only-32gb", &saved(&folder, WITH_FILE));
    let before = desk.app().document.plan.settings.clone();
    desk.add_gpu("rtx 3090");
    desk.sees("GPU 1");
    assert_eq!(desk.app().document.plan.settings, before);
    desk.click(Role::Button, "Remove RTX 3090");
    assert_eq!(desk.app().document.plan.settings, before);
    desk.search("Machine", "4x a100");
    assert_eq!(desk.app().document.plan.settings, before);
    // What the file left to the engine stays with it whatever the model.
    desk.search("Model", "r1 distill llama 8b");
    assert_eq!(desk.app().document.plan.settings, before);
}

/// What an earlier fit chose is nobody's wish, and no choice for another model.
#[test]
fn what_a_fit_chose_goes_with_its_model() {
    let folder = tempfile::tempdir().unwrap();
    let plan = "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"DeepSeek-R1-Distill-Qwen-32B\"\n\
                [machine]\npreset = \"1x-rtx-4090\"\n[settings]\nctx_size = 27904\nparallel = 1\n\
                cache_type_k = \"q8_0\"\n[fit]\npinned = [\"cache_type_k\"]\n[fit.chosen]\nctx_size = 27904\n\
                cache_type_k = \"q8_0\"\n";
    let mut desk = Desk::opening("cpu-only-32gb", &saved(&folder, plan));
    desk.sees("Fits");
    desk.search("Model", "r1 distill llama 8b");
    let left: Vec<&str> = desk
        .app()
        .document
        .plan
        .settings
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(left, ["parallel", "cache_type_k"]);
    desk.sees("but for what was chosen for the last model: Context 27,904");
    // What the file says itself stays, and that is what is said then.
    desk.search("Model", "r1 distill qwen 14b");
    desk.sees("The settings stay as they are");
}

#[test]
fn what_was_left_to_the_engine_stays_with_it() {
    let mut desk = Desk::new("cpu-only-32gb");
    desk.search("Machine", "1x rtx 4090, 64");
    desk.search("Model", "r1 distill qwen 32b");
    let start = desk.app().document.plan.settings.clone();
    assert!(start.contains_key("n_gpu_layers"));
    // Untouched settings of a new plan follow the machine, there and back.
    desk.add_gpu("rtx 3090");
    desk.click(Role::Button, "Remove RTX 3090");
    assert_eq!(desk.app().document.plan.settings, start);

    desk.click(Role::Button, "Reset GPU layers");
    desk.add_gpu("rtx 3090");
    assert_eq!(desk.app().document.plan.settings.get("n_gpu_layers"), None);
    desk.click(Role::Button, "Remove RTX 3090");
    desk.pill("auto").click();
    desk.run();
    desk.add_gpu("rtx 3090");
    desk.click(Role::Button, "Remove RTX 3090");
    assert_eq!(
        desk.app().document.plan.settings.get("n_gpu_layers"),
        Some(&Value::Text("auto".to_owned()))
    );
}

#[test]
fn layers_left_to_the_engine_are_called_auto() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    desk.choose("Weights", "Q8_0");
    let is_on = |node: Node<'_>| node.accesskit_node().toggled() == Some(Toggled::True);
    desk.click(Role::Button, "all");
    assert!(is_on(desk.pill("all")) && !is_on(desk.pill("auto")));
    desk.click(Role::Button, "Reset GPU layers");
    assert!(is_on(desk.pill("auto")) && !is_on(desk.pill("all")));
    assert!(desk.script().contains("--fit on"));

    // What the launch does is what the switch says.
    desk.harness.get_by_label("ADVANCED").scroll_to_me();
    desk.run();
    desk.harness.get_by_label("ADVANCED").click();
    desk.run();
    assert!(is_on(desk.node(Role::Switch, "Automatic fit")));
    desk.click(Role::Button, "all");
    assert!(desk.script().contains("--fit off"));
    assert!(!is_on(desk.node(Role::Switch, "Automatic fit")));
}

#[test]
fn layers_that_the_engine_fits_are_no_alarm() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    desk.choose("Weights", "Q8_0");
    desk.pill("auto").click();
    desk.run();
    // The driver's context comes out of the margin that the engine keeps.
    desk.sees("Fits");
    desk.misses("Tight");
    desk.misses("only 0.");
}

#[test]
fn the_total_is_the_plans_and_the_rest_stands_below() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    for device in ["GPU 0", "RAM"] {
        let [total, in_use, capacity, free] =
            ["Total", "In use", "Capacity", "Free"].map(|row| desk.figure(row, device));
        assert!(total > 0.0 && in_use > 0.0);
        assert!((capacity - in_use - total - free).abs() < 0.03, "{device}");
    }
    // What grows as requests come is visible from the start.
    desk.sees("Host cache, GPU 0");
}

#[test]
fn what_is_called_as_one_searches_comes_first() {
    let mut desk = Desk::new("cpu-only-32gb");
    desk.search("Machine", "8x h100");
    let machine = desk.app().document.plan.machine.clone().unwrap();
    assert!(machine.preset.unwrap().starts_with("8x-h100"));
}
