use crate::desk::{Belongings, Desk, detected};
use crate::model_files::{Gguf, folder as model};
use eframe::egui::{Role, Theme};
fn shot(desk: &mut Desk, name: &str) {
    desk.harness
        .render()
        .unwrap()
        .save(format!("/tmp/insp/{name}.png"))
        .unwrap();
}
#[test]
fn look() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    for name in [
        "My own merge",
        "Another model with a rather long name that goes on and on",
        "qwen-tuned",
    ] {
        model(&kept, name);
    }
    std::fs::write(kept.join("broken-Q4_K_M.gguf"), b"no model").unwrap();
    let path = Gguf::llama().write(&kept.join("small-F16.gguf"));
    for (theme, t) in [(Theme::Dark, "dark"), (Theme::Light, "light")] {
        for size in [[1440.0, 900.0], [1280.0, 720.0]] {
            let own = Belongings {
                home: Some(folder.path().join("home")),
                folders: vec![kept.clone()],
                hub: Some(std::sync::Arc::new(plimsoll::source::hub::Hub::of_user)),
                presets: Some(folder.path().join("presets")),
            };
            let mut desk = Desk::with(detected("1x-rtx-4090"), None, theme, size, own);
            let s = format!("{t}-{}", size[0]);
            desk.search("Model", "deepseek r1");
            desk.click(Role::Tab, "Model");
            shot(&mut desk, &format!("preset-{s}"));
            desk.click(Role::ComboBox, "Model");
            shot(&mut desk, &format!("presets-{s}"));
            desk.click(Role::RadioButton, "On this computer");
            shot(&mut desk, &format!("local-{s}"));
            desk.click(Role::RadioButton, "From a hub");
            desk.type_text("owner/name");
            shot(&mut desk, &format!("hub-{s}"));
            desk.key(eframe::egui::Key::Escape);
            desk.drop_file(&path);
            shot(&mut desk, &format!("gguf-{s}"));
            desk.click(Role::Button, "Save as preset…");
            shot(&mut desk, &format!("keep-{s}"));
        }
    }
}
