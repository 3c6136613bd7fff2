//! Messages at the foot of the window.

use eframe::egui::{Align2, Area, Frame, Id, Label, Margin, Order, RichText, Stroke, Ui, Vec2};

use crate::app::state::Notice;
use crate::app::texts::Texts;
use crate::app::theme::{RADIUS, Tokens};
use crate::app::widgets;

/// How long good news stays, in seconds.
const STAY: f64 = 5.0;

/// Shows messages. Good news goes by itself; bad news stays until it is closed.
pub(crate) fn notices(ui: &Ui, texts: &Texts, notices: &mut Vec<Notice>) {
    if notices.is_empty() {
        return;
    }
    let tokens = Tokens::of(ui);
    let context = ui.ctx().clone();
    let now = context.input(|input| input.time);
    let mut closed = None;
    Area::new(Id::unique("notices"))
        .anchor(Align2::CENTER_BOTTOM, Vec2::new(0.0, -16.0))
        .order(Order::Foreground)
        .show(&context, |ui| {
            for (index, notice) in notices.iter_mut().enumerate() {
                let colour = if notice.failed {
                    tokens.bad
                } else {
                    tokens.good
                };
                Frame::new()
                    .fill(tokens.field)
                    .stroke(Stroke::new(1.0, tokens.edge))
                    .corner_radius(RADIUS)
                    .inner_margin(Margin::symmetric(12, 8))
                    .show(ui, |ui| {
                        ui.set_max_width(640.0);
                        ui.horizontal(|ui| {
                            widgets::dot(ui, colour);
                            let text = Label::new(RichText::new(&notice.text)).wrap();
                            ui.add(text);
                            if widgets::reset(ui, texts.close_notice, true).clicked() {
                                closed = Some(index);
                            }
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
