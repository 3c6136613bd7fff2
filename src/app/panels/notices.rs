//! Messages at the foot of the picture, which keeps clear of them.

use eframe::egui::{Align, Frame, Label, Layout, Margin, Panel, RichText, Ui};

use crate::app::command::{Command, Queue};
use crate::app::models::ModelCommand;
use crate::app::notice::Notice;
use crate::app::texts::Texts;
use crate::app::theme::{GRID, Tokens};
use crate::app::widgets;

/// How long good news stays, in seconds.
const STAY: f64 = 5.0;

/// Shows messages. Good news goes by itself; bad news stays until it is closed.
pub(crate) fn notices(
    ui: &mut Ui,
    texts: &Texts,
    notices: &mut Vec<Notice>,
    opening: bool,
    queue: &mut Queue,
) {
    if notices.is_empty() && !opening {
        return;
    }
    let tokens = Tokens::of(ui);
    let context = ui.ctx().clone();
    let now = context.input(|input| input.time);
    let mut closed = None;
    let frame = Frame::new()
        .fill(tokens.field)
        .inner_margin(Margin::symmetric(22, 8));
    Panel::bottom("notices")
        .frame(frame)
        .resizable(false)
        .show(ui, |ui| {
            if opening {
                reading(ui, texts, queue);
            }
            for (index, notice) in notices.iter_mut().enumerate() {
                let colour = if notice.failed {
                    tokens.bad
                } else {
                    tokens.good
                };
                ui.with_layout(Layout::right_to_left(Align::Min), |ui| {
                    if widgets::reset(ui, texts.close_notice, true).clicked() {
                        closed = Some(index);
                    }
                    ui.add_space(2.0 * GRID);
                    ui.with_layout(Layout::left_to_right(Align::Min), |ui| {
                        widgets::dot(ui, colour);
                        ui.add(Label::new(RichText::new(&notice.text)).wrap());
                    });
                });
                if !notice.failed {
                    let until = *notice.until.get_or_insert(now + STAY);
                    context.request_repaint_after_secs((until - now).max(0.05) as f32);
                }
            }
        });
    if let Some(index) = closed {
        notices.remove(index);
    }
    notices.retain(|notice| notice.until.is_none_or(|until| until > now));
}

/// A file is being read, which takes a while where the disk is slow.
fn reading(ui: &mut Ui, texts: &Texts, queue: &mut Queue) {
    ui.horizontal(|ui| {
        ui.spinner();
        ui.label(texts.reading_file);
        let stop = Command::Models(ModelCommand::StopReading);
        if widgets::link(ui, stop.text(texts)).clicked() {
            queue.send(stop);
        }
    });
}
