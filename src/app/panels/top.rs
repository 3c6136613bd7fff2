//! The bar at the top: whose window, which plan, what to do with it.

use eframe::egui::containers::menu::MenuButton;
use eframe::egui::{
    Align, Button, Frame, Label, Layout, Margin, Panel, RichText, Sense, Stroke, Ui, Vec2,
};

use crate::app::command::{Command, Queue};
use crate::app::document::Document;
use crate::app::preferences::Preferences;
use crate::app::texts::Texts;
use crate::app::theme::{self, GRID, Tokens};
use crate::app::widgets;

/// Shows the bar.
pub(crate) fn top_bar(
    ui: &mut Ui,
    texts: &Texts,
    document: &Document,
    preferences: &Preferences,
    queue: &mut Queue,
) {
    let tokens = Tokens::of(ui);
    let frame = Frame::new()
        .fill(tokens.panel)
        .inner_margin(Margin::symmetric(16, 4));
    Panel::top("top")
        .frame(frame)
        .exact_size(40.0)
        .show(ui, |ui| {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.spacing_mut().item_spacing.x = GRID;
                let switch = Command::SwitchTheme;
                let hover = switch.hover(texts, ui.ctx());
                if widgets::theme_switch(ui, switch.text(texts))
                    .on_hover_text(hover)
                    .clicked()
                {
                    queue.send(switch);
                }
                file_buttons(ui, texts, preferences, queue);
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    title(ui, texts, document);
                });
            });
        });
}

fn title(ui: &mut Ui, texts: &Texts, document: &Document) {
    let tokens = Tokens::of(ui);
    let (rect, _) = ui.allocate_exact_size(Vec2::new(22.0, 22.0), Sense::hover());
    widgets::mark(ui.painter(), rect.center(), 8.5, tokens.accent);
    ui.label(RichText::new(texts.product).text_style(theme::strong()));
    ui.add_space(GRID);
    let name = document.name();
    let name = name.as_deref().unwrap_or(texts.untitled);
    let text = RichText::new(name).color(tokens.text_weak);
    ui.add(Label::new(text).truncate());
    if document.unsaved() {
        let mark = RichText::new("•").color(tokens.text_weak);
        ui.add(Label::new(mark).sense(Sense::hover()))
            .accessible_name(texts.unsaved)
            .on_hover_text(texts.unsaved);
    }
}

fn file_buttons(ui: &mut Ui, texts: &Texts, preferences: &Preferences, queue: &mut Queue) {
    // From the right, since the layout runs that way.
    for command in [Command::SavePlan, Command::OpenPlan] {
        if quiet(ui, command.text(texts))
            .on_hover_text(command.hover(texts, ui.ctx()))
            .clicked()
        {
            queue.send(command);
        }
    }
    let menu = Button::new(texts.plan)
        .frame_when_inactive(false)
        .stroke(Stroke::NONE);
    MenuButton::from_button(menu).ui(ui, |ui| {
        ui.set_min_width(232.0);
        for command in [Command::NewPlan, Command::OpenPlan, Command::TypeOpenPath] {
            entry(ui, texts, command, queue);
        }
        ui.separator();
        for command in [
            Command::SavePlan,
            Command::SavePlanAs,
            Command::TypePlanPath,
        ] {
            entry(ui, texts, command, queue);
        }
        if !preferences.recent.is_empty() {
            ui.separator();
            widgets::fact(ui, texts.recent);
        }
        for path in &preferences.recent {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if ui
                .add(Button::new(name).frame(false).truncate())
                .on_hover_text(path.display().to_string())
                .clicked()
            {
                queue.send(Command::OpenPath(path.clone()));
            }
        }
        ui.separator();
        entry(ui, texts, Command::Quit, queue);
    });
}

fn entry(ui: &mut Ui, texts: &Texts, command: Command, queue: &mut Queue) {
    let mut button = Button::new(command.text(texts));
    if let Some(shortcut) = command.shortcut() {
        button = button.shortcut_text(ui.ctx().format_shortcut(&shortcut));
    }
    let mut response = ui.add(button);
    if !command.tooltip(texts).is_empty() {
        response = response.on_hover_text(command.tooltip(texts));
    }
    if response.clicked() {
        queue.send(command);
    }
}

/// A button without a frame until it is pointed at.
fn quiet(ui: &mut Ui, text: &str) -> eframe::egui::Response {
    ui.add(
        Button::new(text)
            .frame_when_inactive(false)
            .stroke(Stroke::NONE),
    )
}
