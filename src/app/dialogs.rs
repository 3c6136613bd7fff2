//! Questions in the middle of the window.

use std::path::{Path, PathBuf};

use eframe::egui::{
    Align2, Context, Frame, Id, Key, Label, LayerId, Margin, Modal, Order, RichText, Stroke,
    StrokeKind, Ui,
};

use crate::store::Overwrite;

use super::chooser::Purpose;
use super::command::{Command, Queue};
use super::document::Document;
use super::models::ModelCommand;
use super::state::{Dialog, UiState};
use super::texts::{Texts, fill};
use super::theme::{self, GRID, Tokens};
use super::widgets;

/// What an answer asks for.
enum Answer {
    /// Nothing; the question goes.
    Cancel,
    /// This; the question goes.
    Send(Command),
}

/// Shows the question that waits, if one does.
pub(super) fn show(
    context: &Context,
    texts: &Texts,
    state: &mut UiState,
    document: &Document,
    queue: &mut Queue,
) {
    let types_paths = state.types_paths;
    let Some(dialog) = &mut state.dialog else {
        return;
    };
    let frame = Frame::popup(&context.global_style()).inner_margin(Margin::same(20));
    let modal = Modal::new(Id::unique("dialog"))
        .frame(frame)
        .show(context, |ui| {
            ui.set_width(440.0);
            match dialog {
                Dialog::Path {
                    purpose,
                    text,
                    folder,
                    problem,
                } => {
                    title(ui, purpose.title(texts));
                    if types_paths {
                        widgets::fact(ui, texts.no_dialog);
                    }
                    path(ui, texts, *purpose, (text, folder), problem.as_deref())
                }
                Dialog::Overwrite { purpose, path } => overwrite(ui, texts, *purpose, path),
                Dialog::Dropped { path } => dropped(ui, texts, path),
                Dialog::Preset { id, taken, problem } => {
                    title(ui, texts.save_preset_title);
                    preset(ui, texts, id, *taken, problem.as_deref())
                }
                Dialog::Unsaved { then } => unsaved(ui, texts, document, then),
            }
        });
    let closed = modal.should_close();
    match modal.inner {
        Some(Answer::Send(command)) => {
            // A typed path stays in sight until it is known to be of use.
            let typed = matches!(
                state.dialog,
                Some(Dialog::Path { .. } | Dialog::Preset { .. })
            );
            if !typed {
                state.dialog = None;
            }
            queue.send(command);
        }
        Some(Answer::Cancel) => state.dialog = None,
        None if closed => state.dialog = None,
        None => {}
    }
}

/// Says that what hangs over the window can be dropped.
pub(super) fn drop_hint(context: &Context, texts: &Texts) {
    if context.input(|input| input.raw.hovered_files.is_empty()) {
        return;
    }
    let tokens = Tokens::for_dark(context.global_style().visuals.dark_mode);
    let layer = LayerId::new(Order::Foreground, Id::unique("drop"));
    let painter = context.layer_painter(layer);
    let rect = context.content_rect();
    painter.rect_filled(rect, 0.0, tokens.canvas.gamma_multiply(0.85));
    let edge = Stroke::new(2.0, tokens.accent);
    painter.rect_stroke(rect.shrink(16.0), theme::RADIUS, edge, StrokeKind::Inside);
    let font = eframe::egui::TextStyle::Heading.resolve(&context.global_style());
    painter.text(
        rect.center(),
        Align2::CENTER_CENTER,
        texts.drop_here,
        font,
        tokens.text,
    );
}

fn title(ui: &mut Ui, text: &str) {
    ui.label(RichText::new(text).text_style(theme::strong()));
    ui.add_space(GRID);
}

fn path(
    ui: &mut Ui,
    texts: &Texts,
    purpose: Purpose,
    (text, folder): (&mut String, &str),
    problem: Option<&str>,
) -> Option<Answer> {
    let field = widgets::line_edit(text)
        .hint_text(texts.path_hint)
        .desired_width(f32::INFINITY);
    let field = ui.add(field).accessible_name(texts.path);
    // Enter takes the keyboard from the field: to be asked before the field gets it back.
    let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
    if ui.memory(|memory| memory.focused().is_none()) {
        field.request_focus();
    }
    widgets::fact(ui, fill(texts.path_help, &[("folder", folder)]));
    if let Some(problem) = problem {
        let problem = RichText::new(problem).color(Tokens::of(ui).bad);
        ui.add(Label::new(problem).wrap());
    }
    ui.add_space(2.0 * GRID);
    let word = if purpose.saves() {
        texts.save
    } else {
        texts.open
    };
    let mut answer = None;
    ui.horizontal(|ui| {
        let ready = !text.trim().is_empty();
        ui.add_enabled_ui(ready, |ui| {
            if widgets::primary(ui, word).clicked() || (entered && ready) {
                answer = Some(Answer::Send(Command::Write {
                    purpose,
                    path: expand(text.trim()),
                    overwrite: Overwrite::Refuse,
                }));
            }
        });
        if widgets::ghost(ui, texts.cancel).clicked() {
            answer = Some(Answer::Cancel);
        }
    });
    answer
}

/// Asks under which name to keep the model.
fn preset(
    ui: &mut Ui,
    texts: &Texts,
    id: &mut String,
    taken: bool,
    problem: Option<&str>,
) -> Option<Answer> {
    let field = widgets::line_edit(id).desired_width(f32::INFINITY);
    let field = ui.add(field).accessible_name(texts.preset_name);
    let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
    if ui.memory(|memory| memory.focused().is_none()) {
        field.request_focus();
    }
    widgets::fact(ui, texts.save_preset_help);
    if let Some(problem) = problem {
        let problem = RichText::new(problem).color(Tokens::of(ui).bad);
        ui.add(Label::new(problem).wrap());
    }
    ui.add_space(2.0 * GRID);
    let mut answer = None;
    let mut send = |overwrite| {
        let id = id.trim().to_owned();
        let command = ModelCommand::SavePreset { id, overwrite };
        answer = Some(Answer::Send(Command::Models(command)));
    };
    let mut cancelled = false;
    ui.horizontal(|ui| {
        if widgets::primary(ui, texts.save).clicked() || entered {
            send(Overwrite::Refuse);
        }
        if taken && widgets::ghost(ui, texts.replace).clicked() {
            send(Overwrite::Replace);
        }
        cancelled = widgets::ghost(ui, texts.cancel).clicked();
    });
    if cancelled {
        return Some(Answer::Cancel);
    }
    answer
}

/// `~/` is the home folder, as everywhere.
fn expand(text: &str) -> PathBuf {
    match text.strip_prefix("~/") {
        Some(rest) => {
            std::env::home_dir().map_or_else(|| PathBuf::from(text), |home| home.join(rest))
        }
        None => PathBuf::from(text),
    }
}

fn overwrite(ui: &mut Ui, texts: &Texts, purpose: Purpose, path: &Path) -> Option<Answer> {
    title(ui, texts.overwrite_title);
    let shown = path.display().to_string();
    ui.label(fill(texts.overwrite_help, &[("path", &shown)]));
    ui.add_space(2.0 * GRID);
    let mut answer = None;
    ui.horizontal(|ui| {
        if widgets::primary(ui, texts.replace).clicked() {
            answer = Some(Answer::Send(Command::Write {
                purpose,
                path: path.to_owned(),
                overwrite: Overwrite::Replace,
            }));
        }
        if widgets::ghost(ui, texts.cancel).clicked() {
            answer = Some(Answer::Cancel);
        }
    });
    answer
}

fn dropped(ui: &mut Ui, texts: &Texts, path: &Path) -> Option<Answer> {
    title(ui, texts.dropped_title);
    let name = path.file_name().unwrap_or(path.as_os_str());
    let shown = name.to_string_lossy();
    ui.label(fill(texts.dropped_help, &[("path", &shown)]));
    ui.add_space(2.0 * GRID);
    let mut answer = None;
    ui.horizontal(|ui| {
        if widgets::primary(ui, texts.open_instead).clicked() {
            answer = Some(Answer::Send(Command::OpenPath(path.to_owned())));
        }
        if widgets::ghost(ui, texts.run_beside).clicked() {
            answer = Some(Answer::Send(Command::RunBeside(path.to_owned())));
        }
        if widgets::ghost(ui, texts.cancel).clicked() {
            answer = Some(Answer::Cancel);
        }
    });
    answer
}

fn unsaved(ui: &mut Ui, texts: &Texts, document: &Document, then: &Command) -> Option<Answer> {
    title(ui, texts.unsaved_title);
    let name = document.name();
    let name = name.as_deref().unwrap_or(texts.untitled);
    ui.label(fill(texts.unsaved_help, &[("name", name)]));
    ui.add_space(2.0 * GRID);
    let mut answer = None;
    ui.horizontal(|ui| {
        let then = || Box::new(then.clone());
        if widgets::primary(ui, texts.save).clicked() {
            answer = Some(Answer::Send(Command::SaveThen(then())));
        }
        if widgets::ghost(ui, texts.discard).clicked() {
            answer = Some(Answer::Send(Command::Discard(then())));
        }
        if widgets::ghost(ui, texts.cancel).clicked() {
            answer = Some(Answer::Cancel);
        }
    });
    answer
}
