//! Pictures of the whole window before a model is chosen: type, colours, spacing, the house's widgets. Figures are
//! asserted by their labels elsewhere; a picture of them would change with every rule that is learned.

use eframe::egui::Theme;
use egui_kittest::SnapshotOptions;

use crate::desk::{Desk, detected};

fn picture(name: &str, machine: &str, theme: Theme, size: [f32; 2]) {
    let mut desk = Desk::open(detected(machine), None, theme, size);
    let options = SnapshotOptions::new().output_path("tests/snapshots");
    desk.harness.snapshot_options(name, &options);
}

#[test]
fn dark() {
    picture("dark", "2x-rtx-3090", Theme::Dark, [1000.0, 520.0]);
}

#[test]
fn light() {
    picture("light", "cpu-only-32gb", Theme::Light, [1000.0, 520.0]);
}
