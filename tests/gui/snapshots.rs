//! Pictures of the whole window: few, for what no label can say.

use eframe::egui::Theme;
use egui_kittest::SnapshotOptions;

use crate::desk::{Desk, detected};

fn picture(name: &str, machine: &str, plan: &str, theme: Theme, size: [f32; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    std::fs::write(&path, plan).unwrap();
    let mut desk = Desk::open(detected(machine), Some(&path), theme, size);
    let options = SnapshotOptions::new().output_path("tests/snapshots");
    desk.harness.snapshot_options(name, &options);
}

const TWO_CARDS: &str = "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"DeepSeek-R1-Distill-Qwen-32B\"\n\
    [settings]\nengine_version = \"0.6.0\"\nweights = \"Q4_K_M\"\nctx_size = 32768\nparallel = 2\n\
    n_gpu_layers = \"all\"\n";

#[test]
fn dark() {
    picture(
        "dark",
        "2x-rtx-3090",
        TWO_CARDS,
        Theme::Dark,
        [1280.0, 720.0],
    );
}

#[test]
fn light_and_over() {
    picture(
        "light-over",
        "1x-rtx-3060-12gb",
        TWO_CARDS,
        Theme::Light,
        [1000.0, 600.0],
    );
}
