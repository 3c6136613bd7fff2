//! The main job, end to end: machine, model, settings, picture, launch.

use eframe::egui::Role;
use plimsoll::plan::Value;

use crate::desk::Desk;

#[test]
fn from_a_machine_to_a_launch() {
    let mut desk = Desk::new("cpu-only-32gb");
    desk.sees("Which model?");

    desk.search("Machine", "4x a100");
    desk.search("Model", "r1 distill qwen 32b");
    desk.sees("Fits");
    desk.sees("GPU 3");
    desk.choose("Weights", "Q4_K_M");
    let before = desk.figure("Weights", "GPU 0");
    assert!(before > 2.0, "{before}");

    // Twice the bits, nearly twice the bytes; bar and table both say so.
    desk.choose("Weights", "Q8_0");
    let after = desk.figure("Weights", "GPU 0");
    assert!((1.5..2.0).contains(&(after / before)), "{before} {after}");
    desk.sees(&format!("GPU 0, Weights, {after:.2} GiB"));

    // Layers that leave the GPUs go to main memory.
    let ram = desk.figure("Weights", "RAM");
    desk.slide("GPU layers", 20);
    assert!(desk.figure("Weights", "RAM") > ram + 10.0);
    assert!(desk.figure("Weights", "GPU 0") < after / 2.0);

    // A longer context takes a larger cache.
    let cache = desk.figure("KV cache", "GPU 3");
    desk.slide("Context", 65_536);
    assert!(desk.figure("KV cache", "GPU 3") > cache * 3.0);
    desk.click(Role::Switch, "KV cache on GPU");
    assert!(desk.figure("KV cache", "GPU 3") < 0.01);
    assert!(desk.figure("KV cache", "RAM") > 1.0);
    desk.click(Role::Switch, "KV cache on GPU");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("start it.sh");
    desk.answer(&path);
    desk.click(Role::Button, "Save…");
    desk.sees("Saved");
    let script = std::fs::read_to_string(&path).unwrap();
    let flag = |name: &str, value: &str| {
        let lines: Vec<&str> = script
            .lines()
            .filter(|line| line.trim_start().starts_with(name))
            .collect();
        assert_eq!(lines.len(), 1, "{name}: {lines:?}");
        assert!(lines[0].contains(&format!("{name} {value}")), "{lines:?}");
    };
    flag("--ctx-size", "65536");
    flag("--n-gpu-layers", "20");
    assert!(script.contains("Q8_0"), "{script}");
    assert!(!script.contains("--no-kv-offload"), "{script}");
    assert!(
        desk.suggested()[0].contains("Q8_0"),
        "{:?}",
        desk.suggested()
    );
    // What is saved is what is shown.
    assert_eq!(
        desk.node(Role::MultilineTextInput, "Preview of the launch")
            .value(),
        Some(script)
    );
}

#[test]
fn a_new_plan_starts_with_a_useful_context_written_out() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    let plan = &desk.app().document.plan;
    assert_eq!(
        plan.model.preset.as_deref(),
        Some("DeepSeek-R1-Distill-Qwen-32B")
    );
    let Some(Value::Integer(context)) = plan.settings.get("ctx_size") else {
        panic!("no context in {:?}", plan.settings);
    };
    assert!((8192..=16_384).contains(context), "{context}");
    desk.sees("comfortable up to");
    desk.sees("1 GiB kept free");
}

#[test]
fn what_the_user_set_outlives_another_model() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 14b");
    desk.choose("KV cache, keys", "q8_0");
    desk.search("Model", "r1 distill llama 8b");
    let settings = &desk.app().document.plan.settings;
    assert_eq!(
        settings.get("cache_type_k"),
        Some(&Value::Text("q8_0".to_owned()))
    );
    desk.click(Role::Button, "Reset KV cache, keys");
    assert_eq!(desk.app().document.plan.settings.get("cache_type_k"), None);
}

#[test]
fn a_card_that_is_unticked_is_not_used() {
    let mut desk = Desk::new("2x-rtx-3090");
    desk.search("Model", "r1 distill qwen 14b");
    desk.sees("GPU 1");
    let ticks: Vec<_> = desk.texts_with("RTX 3090");
    assert!(ticks.len() >= 2, "{ticks:?}");
    desk.harness.state_mut();
    let nodes = desk.check_boxes();
    assert_eq!(nodes, 2);
    desk.tick(1);
    assert_eq!(desk.app().document.plan.launch.gpus, ["GPU-0"]);
    desk.misses("Weights, GPU 0 0.00");
    desk.misses("GPU 1,");
}

#[test]
fn a_fix_can_be_taken() {
    let mut desk = Desk::new("1x-rtx-3060-12gb");
    desk.search("Model", "r1 distill qwen 32b");
    desk.choose("Weights", "Q8_0");
    desk.click(Role::Button, "all");
    desk.sees("Does not fit");
    desk.sees("over on GPU 0");
}

#[test]
fn curves_follow_the_plan() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    desk.click(Role::Tab, "Curves");
    desk.sees("Click in the plot to set the value");
    desk.click(Role::RadioButton, "GPU layers");
    desk.misses("Nothing to show");
}

#[test]
fn no_curve_is_drawn_on_the_axis_of_another_setting() {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 32b");
    desk.click(Role::Tab, "Curves");
    desk.sees("Click in the plot to set the value");
    let (mut waited, hint) = (false, "Click in the plot to set the value");
    desk.node(Role::RadioButton, "GPU layers").click();
    for _ in 0..6 {
        desk.harness.step();
        let computing = !desk.texts_with("Computing…").is_empty();
        assert!(!computing || desk.texts_with(hint).is_empty());
        waited |= computing;
    }
    assert!(waited, "the curve of the context stayed");
    desk.sees(hint);
}
