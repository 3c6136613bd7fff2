//! The best settings, found, listed and taken.

use eframe::egui::{Key, Role};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use plimsoll::plan::{Plan, Value};

use crate::desk::Desk;

fn plan(desk: &Desk) -> Plan {
    desk.app().document.plan.clone()
}

fn context(desk: &Desk) -> i64 {
    match plan(desk).settings.get("ctx_size") {
        Some(Value::Integer(tokens)) => *tokens,
        other => panic!("{other:?}"),
    }
}

fn ready() -> Desk {
    let mut desk = Desk::new("1x-rtx-4090");
    desk.search("Model", "r1 distill qwen 14b");
    desk
}

#[test]
fn the_best_is_applied_told_and_taken_back_in_one_step() {
    let mut desk = ready();
    desk.slide("Context", 4096);
    desk.click(Role::Button, "Unpin Context");
    let before = plan(&desk);
    desk.click(Role::Button, "Longest context");
    assert!(context(&desk) > 8192, "{}", context(&desk));
    assert_eq!(plan(&desk).fit.objective.as_deref(), Some("context"));
    assert!(plan(&desk).fit.pinned.is_empty(), "fitting pins nothing");
    desk.sees("Longest context: ");
    desk.misses("Does not fit");
    desk.command(Key::Z);
    assert_eq!(plan(&desk), before);
}

#[test]
fn what_is_pinned_is_left_alone_and_can_be_let_go() {
    let mut desk = ready();
    desk.slide("Context", 4096);
    desk.choose("KV cache, keys", "q8_0");
    desk.choose("KV cache, values", "q8_0");
    desk.sees("3 pinned");
    desk.command(Key::F);
    assert_eq!(context(&desk), 4096);
    let settings = plan(&desk).settings;
    assert_eq!(
        settings.get("cache_type_k"),
        Some(&Value::Text("q8_0".to_owned()))
    );
    // A look at what is pinned lets nothing go.
    desk.click(Role::Button, "3 pinned");
    assert_eq!(plan(&desk).fit.pinned.len(), 3);
    let entries = desk
        .harness
        .query_all_by_role_and_label(Role::Button, "Unpin Context");
    entries.last().unwrap().click();
    desk.run();
    assert_eq!(plan(&desk).fit.pinned, ["cache_type_k", "cache_type_v"]);
    desk.click(Role::Button, "Unpin all");
    assert!(plan(&desk).fit.pinned.is_empty());
    desk.click(Role::Button, "Longest context");
    assert!(context(&desk) >= 8192, "{}", context(&desk));
}

#[test]
fn where_nothing_fits_it_is_said() {
    let mut desk = Desk::new("1x-rtx-3060-12gb");
    desk.search("Model", "deepseek-r1");
    let before = plan(&desk).settings;
    desk.click(Role::Button, "Fit");
    assert_eq!(plan(&desk).settings, before);
    desk.sees("Nothing fits on this machine. To begin with: ");
    desk.misses("Balanced: ");
}

#[test]
fn options_are_listed_and_taken() {
    let mut desk = ready();
    desk.click(Role::Tab, "Options");
    desk.sees("Cache, On GPU, ");
    let rows = desk.texts_with(" GiB");
    let rows: Vec<&String> = rows
        .iter()
        .filter(|row| row.contains("tokens/s, "))
        .collect();
    assert!(!rows.is_empty(), "no options");
    let best = rows[0].clone();
    desk.click(Role::Button, &best);
    desk.command(Key::Num1);
    desk.sees("Balanced: ");
}

#[test]
fn an_idle_list_of_options_searches_no_more() {
    let mut desk = ready();
    desk.click(Role::Tab, "Options");
    let made = desk.app().reports_made();
    desk.harness.run_steps(5);
    assert_eq!(desk.app().reports_made(), made);
    desk.run();
}

#[test]
fn estimates_are_ranges_and_say_that_they_are() {
    let mut desk = ready();
    let speed = desk.texts_with("tokens/s");
    assert!(
        speed
            .iter()
            .any(|text| text.starts_with("about ") && text.contains('–')),
        "{speed:?}"
    );
    desk.sees("loads in ");
    desk.choose("Weights", "Q2_K");
    desk.sees("loss");
}

#[test]
fn experts_move_to_main_memory_gpu_by_gpu_at_a_price() {
    let mut desk = Desk::new("8x-h200");
    desk.search("Model", "deepseek-r1");
    let before = desk.figure("Weights", "GPU 3");
    let folded = desk.texts_with("Experts in RAM: ");
    let folded = folded.first().unwrap().clone();
    desk.harness.get_by_label(&folded).scroll_to_me();
    desk.run();
    desk.harness.get_by_label(&folded).click();
    desk.run();
    desk.slide("Experts in RAM, GPU 3", 2);
    assert!(desk.figure("Weights", "GPU 3") < before - 2.0);
    desk.sees("on GPU 3, about −");
    let other = desk.node(Role::Slider, "Experts in RAM, GPU 4");
    assert_eq!(other.accesskit_node().numeric_value(), Some(0.0));
    assert!(!plan(&desk).fit.pinned.is_empty(), "it was set by hand");
    desk.slide("Experts in RAM, GPU 3", 0);
    assert!((desk.figure("Weights", "GPU 3") - before).abs() < 0.01);
}

#[test]
fn a_pin_that_stands_in_the_way_is_named_and_let_go() {
    let mut desk = Desk::new("1x-rtx-3060-12gb");
    desk.search("Model", "r1 distill qwen 32b");
    desk.choose("Weights", "BF16");
    desk.click(Role::Button, "Fit");
    desk.sees("pinned to BF16");
    let before = plan(&desk);
    desk.click(Role::Button, "Unpin Weights and fit");
    desk.misses("pinned to BF16");
    desk.misses("Does not fit");
    assert!(plan(&desk).fit.pinned.is_empty());
    assert_ne!(
        plan(&desk).settings.get("weights"),
        Some(&Value::Text("BF16".to_owned()))
    );
    desk.command(Key::Z);
    assert_eq!(plan(&desk), before);
}
