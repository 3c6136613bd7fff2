//! The window's own frame: its name, and that it does not close over unsaved changes.

use eframe::egui::{Context, ViewportCommand};

use crate::plain::one_line;

use super::App;
use super::command::Command;
use super::state::Dialog;

impl App {
    /// Asks before closing a window with unsaved changes.
    pub(super) fn guard_closing(&mut self, context: &Context) {
        let asked = context.input(|input| input.viewport().close_requested());
        if asked && self.document.unsaved() && !self.state.quitting {
            context.send_viewport_cmd(ViewportCommand::CancelClose);
            self.state.dialog = Some(Dialog::Unsaved {
                then: Command::Quit,
            });
        }
    }

    /// Says in the title which plan it is.
    pub(super) fn name_window(&mut self, context: &Context) {
        let name = self.document.name();
        let mark = if self.document.unsaved() { "• " } else { "" };
        let title = format!(
            "{mark}{} — {}",
            one_line(name.as_deref().unwrap_or(self.texts.untitled)),
            self.texts.product
        );
        if title != self.state.title {
            context.send_viewport_cmd(ViewportCommand::Title(title.clone()));
            self.state.title = title;
        }
    }
}
