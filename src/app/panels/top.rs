//! The bar at the top: whose window, which plan, what to do with it.

use eframe::egui::containers::menu::MenuButton;
use eframe::egui::{
    Align, Button, Frame, Label, Layout, Margin, Panel, Rect, RichText, Sense, Stroke, Ui,
    UiBuilder, Vec2,
};

use crate::app::command::{Command, Queue};
use crate::app::document::Document;
use crate::app::preferences::Preferences;
use crate::app::texts::Texts;
use crate::app::theme::{self, GRID, Tokens};
use crate::app::widgets;

/// Width of the buttons before it is known, in points.
const BUTTONS: f32 = 256.0;

/// Shows the bar.
pub(crate) fn top_bar(
    ui: &mut Ui,
    texts: &Texts,
    document: &Document,
    preferences: &Preferences,
    types_paths: bool,
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
            // Laid out from the left, so that Tab goes that way too; where the buttons begin is known from before.
            let id = ui.scope_id().with("buttons");
            let known: Option<f32> = ui.data(|data| data.get_temp(id));
            let rect = ui.available_rect_before_wrap();
            let start = rect.right() - known.unwrap_or(BUTTONS);
            let part = |ui: &mut Ui, rect: Rect| {
                let layout = Layout::left_to_right(Align::Center);
                ui.new_child(UiBuilder::new().max_rect(rect).layout(layout))
            };
            title(
                &mut part(ui, rect.with_max_x(start - GRID)),
                texts,
                document,
            );
            let mut buttons = part(ui, rect.with_min_x(start));
            buttons.spacing_mut().item_spacing.x = GRID;
            file_buttons(&mut buttons, texts, preferences, types_paths, queue);
            steps(&mut buttons, texts, document, queue);
            let switch = Command::SwitchTheme;
            let hover = switch.hover(texts, buttons.ctx());
            if widgets::theme_switch(&mut buttons, switch.text(texts))
                .on_hover_text(hover)
                .clicked()
            {
                queue.send(switch);
            }
            let width = buttons.min_rect().width();
            if known != Some(width) {
                ui.data_mut(|data| data.insert_temp(id, width));
                ui.ctx()
                    .request_discard("the top bar's buttons were measured");
            }
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

fn file_buttons(
    ui: &mut Ui,
    texts: &Texts,
    preferences: &Preferences,
    types_paths: bool,
    queue: &mut Queue,
) {
    let menu = Button::new(texts.plan)
        .frame_when_inactive(false)
        .stroke(Stroke::NONE);
    let (menu, _) = MenuButton::from_button(menu).ui(ui, |ui| {
        plan_menu(ui, texts, preferences, types_paths, queue);
    });
    widgets::focus_ring(ui, menu.rect, &menu);
    for command in [Command::OpenPlan, Command::SavePlan] {
        if quiet(ui, command.text(texts))
            .on_hover_text(command.hover(texts, ui.ctx()))
            .clicked()
        {
            queue.send(command);
        }
    }
}

/// Back and forth.
fn steps(ui: &mut Ui, texts: &Texts, document: &Document, queue: &mut Queue) {
    let steps = [
        (Command::Undo, document.can_undo()),
        (Command::Redo, document.can_redo()),
    ];
    for (command, possible) in steps {
        let hover = command.hover(texts, ui.ctx());
        let button = ui.add_enabled_ui(possible, |ui| quiet(ui, command.text(texts)));
        if button.inner.on_hover_text(hover).clicked() {
            queue.send(command);
        }
    }
}

fn plan_menu(
    ui: &mut Ui,
    texts: &Texts,
    preferences: &Preferences,
    types_paths: bool,
    queue: &mut Queue,
) {
    ui.set_min_width(232.0);
    // Without a desktop's dialog, the others ask for a path as well.
    let typed = |command| (!types_paths).then_some(command);
    let open = [Command::NewPlan, Command::OpenPlan];
    for command in open.into_iter().chain(typed(Command::TypeOpenPath)) {
        entry(ui, texts, command, queue);
    }
    ui.separator();
    let save = [Command::SavePlan, Command::SavePlanAs];
    for command in save.into_iter().chain(typed(Command::TypePlanPath)) {
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
    let response = ui.add(
        Button::new(text)
            .frame_when_inactive(false)
            .stroke(Stroke::NONE),
    );
    widgets::focus_ring(ui, response.rect, &response);
    response
}
