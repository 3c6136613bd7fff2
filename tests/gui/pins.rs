//! What the user decided stays decided; what was done can be taken back.

use eframe::egui::accesskit::Toggled;
use eframe::egui::{Key, Modifiers, Role};
use egui_kittest::kittest::NodeT as _;
use plimsoll::plan::{Plan, Value};

use crate::desk::Desk;

fn pinned(desk: &Desk) -> Vec<&str> {
    let pinned = &desk.app().document.plan.fit.pinned;
    pinned.iter().map(String::as_str).collect()
}

fn plan(desk: &Desk) -> Plan {
    desk.app().document.plan.clone()
}

fn ready() -> Desk {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 14b");
    desk
}

#[test]
fn what_is_set_by_hand_is_pinned_and_seen_to_be() {
    let mut desk = ready();
    assert!(
        pinned(&desk).is_empty(),
        "the window decides nothing for the user"
    );
    desk.choose("KV cache, keys", "q8_0");
    assert_eq!(pinned(&desk), ["cache_type_k"]);
    let pin = desk.node(Role::Button, "Unpin KV cache, keys");
    assert_eq!(pin.accesskit_node().toggled(), Some(Toggled::True));
    // What is left to the engine by hand stays with it too.
    desk.click(Role::Button, "Reset KV cache, keys");
    assert_eq!(pinned(&desk), ["cache_type_k"]);
    desk.click(Role::Button, "Unpin KV cache, keys");
    assert!(pinned(&desk).is_empty());
}

#[test]
fn a_pin_is_saved_and_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    let mut desk = ready();
    desk.click(Role::Button, "Pin Context");
    desk.answer(&path);
    desk.command(Key::S);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("pinned = [\"ctx_size\"]"), "{text}");
    // Other spellings are the same setting.
    std::fs::write(
        &path,
        text.replace("pinned = [\"ctx_size\"]", "pinned = [\"c\"]"),
    )
    .unwrap();
    let desk = Desk::opening("1x-rtx-4090", &path);
    assert_eq!(pinned(&desk), ["ctx_size"]);
    assert!(!desk.texts_with("Unpin Context").is_empty());
}

#[test]
fn a_pin_can_be_set_with_the_keyboard() {
    let mut desk = ready();
    desk.node(Role::Button, "Pin Weights").focus();
    desk.run();
    desk.key(Key::Enter);
    assert_eq!(pinned(&desk), ["weights"]);
}

#[test]
fn what_another_model_changes_is_told_and_pins_hold() {
    let mut desk = ready();
    desk.sees("Chosen for this plan: Weights ");
    desk.slide("Context", 4096);
    desk.search("Model", "r1 distill llama 8b");
    assert_eq!(
        plan(&desk).settings.get("ctx_size"),
        Some(&Value::Integer(4096))
    );
    assert_eq!(pinned(&desk), ["ctx_size"]);
}

#[test]
fn a_step_is_taken_back_and_done_again() {
    let mut desk = ready();
    let first = plan(&desk);
    desk.choose("Weights", "Q8_0");
    let second = plan(&desk);
    desk.search("Model", "r1 distill llama 8b");
    let third = plan(&desk);
    assert_ne!(third.model, second.model);

    desk.command(Key::Z);
    assert_eq!(plan(&desk), second, "model and what followed are one step");
    desk.click(Role::Button, "Undo");
    assert_eq!(plan(&desk), first);
    desk.click(Role::Button, "Redo");
    desk.harness
        .key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    desk.run();
    assert_eq!(plan(&desk), third);

    // What is done anew leaves nothing to do again.
    desk.command(Key::Z);
    desk.choose("Weights", "Q6_K");
    desk.harness
        .key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    desk.run();
    assert_eq!(
        plan(&desk).settings.get("weights"),
        Some(&Value::Text("Q6_K".to_owned()))
    );
}

#[test]
fn a_margin_is_written_in_mib_or_in_percent() {
    let mut desk = ready();
    desk.click(Role::Button, "%");
    assert_eq!(plan(&desk).fit.margin_percent, Some(4));
    desk.sees("(4 % kept free)");
    desk.click(Role::Button, "MiB");
    assert_eq!(plan(&desk).fit.margin_percent, None);
    assert!(plan(&desk).fit.margin_mib.is_some());
    desk.click(Role::Button, "Reset keep free per GPU");
    assert_eq!(plan(&desk).fit.margin_mib, None);
}

#[test]
fn another_engine_takes_over_what_was_decided_in_one_step() {
    let mut desk = ready();
    desk.choose("KV cache, keys", "q8_0");
    desk.slide("Context", 8192);
    let before = plan(&desk);
    desk.click(Role::RadioButton, "Ollama");
    let after = plan(&desk);
    assert_eq!(after.engine, "ollama");
    assert_eq!(after.fit.pinned.len(), 2, "{:?}", after.fit.pinned);
    desk.sees("Fits");
    desk.command(Key::Z);
    assert_eq!(plan(&desk), before);
}
