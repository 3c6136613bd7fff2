//! What can be done beside editing fields: one variant each, with its text, tooltip and shortcut.

use std::path::PathBuf;

use eframe::egui::{Context, Key, KeyboardShortcut, Modifiers};

use crate::advisor::Objective;
use crate::store::Overwrite;

use super::chooser::Purpose;
use super::models::ModelCommand;
use super::tab::Tab;
use super::texts::Texts;

/// Something that does I/O, changes the window, or replaces the plan as a whole.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Starts over.
    NewPlan,
    /// Asks for a plan file and opens it.
    OpenPlan,
    /// Opens what lies at a path: a plan, a detection report, a model file or folder.
    OpenPath(PathBuf),
    /// Asks for a path in the window and opens it.
    TypeOpenPath,
    /// Saves the plan where it came from, or asks.
    SavePlan,
    /// Asks where to save the plan.
    SavePlanAs,
    /// Asks in the window where to save the plan.
    TypePlanPath,
    /// Asks where to save the launch.
    SaveLaunch,
    /// Asks in the window where to save the launch.
    TypeLaunchPath,
    /// Puts the launch on the clipboard.
    CopyLaunch,
    /// Asks for a model file.
    OpenModelFile,
    /// Asks for a folder with a model.
    OpenModelFolder,
    /// Does something about models and where they come from.
    Models(ModelCommand),
    /// Looks at the machine again.
    Detect,
    /// Puts the report about this machine on the clipboard.
    CopyReport,
    /// Asks where to save the report about this machine.
    SaveReport,
    /// Asks for a report about another machine.
    OpenReport,
    /// Dark to light and back.
    SwitchTheme,
    /// Shows a tab of the picture.
    Show(Tab),
    /// Opens the list of models.
    ChooseModel,
    /// Opens the list of machines.
    ChooseMachine,
    /// Asks for a plan that runs beside this one.
    AddBeside,
    /// Counts a plan beside this one.
    RunBeside(PathBuf),
    /// Opens what fell on the window.
    OpenDropped(PathBuf),
    /// Finds the best settings for what the plan is fitted for, or for another objective.
    Fit(Option<Objective>),
    /// Lets fitting change settings again, and fits.
    Unpin(Vec<String>),
    /// Takes one of the settings that were found, by its place.
    Take(usize),
    /// Takes the last step back.
    Undo,
    /// Does again what was taken back.
    Redo,
    /// Closes the window.
    Quit,
    /// Gives up unsaved changes and goes on.
    Discard(Box<Command>),
    /// Saves the plan and goes on.
    SaveThen(Box<Command>),
    /// Writes to a path that was typed.
    Write {
        /// What.
        purpose: Purpose,
        /// Where.
        path: PathBuf,
        /// What to do about a file that is there.
        overwrite: Overwrite,
    },
}

/// Commands with a shortcut. Longer combinations first: a shorter one also matches with Shift held.
const SHORTCUTS: &[Command] = &[
    Command::SavePlanAs,
    Command::CopyLaunch,
    Command::Redo,
    Command::NewPlan,
    Command::OpenPlan,
    Command::SavePlan,
    Command::SaveLaunch,
    Command::ChooseModel,
    Command::ChooseMachine,
    Command::Show(Tab::Memory),
    Command::Show(Tab::Curves),
    Command::Show(Tab::Options),
    Command::Show(Tab::Model),
    Command::Fit(None),
    Command::Undo,
    Command::Detect,
    Command::SwitchTheme,
    Command::Quit,
];

impl Command {
    /// What a button or menu entry says.
    pub fn text(&self, texts: &Texts) -> &'static str {
        match self {
            Self::NewPlan => texts.new_plan,
            Self::OpenPlan => texts.open_plan,
            Self::OpenPath(_) | Self::OpenDropped(_) => texts.open,
            Self::AddBeside => texts.add_beside,
            Self::RunBeside(_) => texts.run_beside,
            Self::TypeOpenPath => texts.type_open_path,
            Self::SavePlan => texts.save_plan,
            Self::SavePlanAs => texts.save_plan_as,
            Self::TypePlanPath | Self::TypeLaunchPath => texts.type_save_path,
            Self::SaveLaunch => texts.save_launch,
            Self::CopyLaunch => texts.copy,
            Self::OpenModelFile => texts.open_model_file,
            Self::OpenModelFolder => texts.open_model_folder,
            Self::Models(command) => command.text(texts),
            Self::Detect => texts.detect_again,
            Self::CopyReport => texts.copy_report,
            Self::SaveReport => texts.save_report,
            Self::OpenReport => texts.open_report,
            Self::SwitchTheme => texts.switch_theme,
            Self::Show(tab) => tab.text(texts),
            Self::ChooseModel => texts.choose_model,
            Self::ChooseMachine => texts.choose_machine,
            Self::Fit(_) => texts.fit,
            Self::Unpin(_) => texts.unpin_all,
            Self::Take(_) => texts.take,
            Self::Undo => texts.undo,
            Self::Redo => texts.redo,
            Self::Quit => texts.quit,
            Self::Discard(_) => texts.discard,
            Self::Write { .. } | Self::SaveThen(_) => texts.save,
        }
    }

    /// What it does, in a sentence; empty where the text says it all.
    pub fn tooltip(&self, texts: &Texts) -> &'static str {
        match self {
            Self::SaveLaunch => texts.save_launch_help,
            Self::TypeLaunchPath | Self::TypePlanPath | Self::TypeOpenPath => texts.type_path_help,
            Self::CopyLaunch => texts.copy_launch_help,
            Self::AddBeside => texts.add_beside_help,
            Self::Fit(_) => texts.fit_help,
            Self::Unpin(_) => texts.unpin_all_help,
            Self::Detect => texts.detect_help,
            Self::CopyReport => texts.copy_report_help,
            Self::SaveReport => texts.save_report_help,
            Self::OpenReport => texts.open_report_help,
            Self::OpenModelFile => texts.open_model_file_help,
            Self::OpenModelFolder => texts.open_model_folder_help,
            Self::Models(command) => command.tooltip(texts),
            Self::NewPlan
            | Self::OpenPlan
            | Self::OpenPath(_)
            | Self::OpenDropped(_)
            | Self::RunBeside(_)
            | Self::SavePlan
            | Self::SavePlanAs
            | Self::SwitchTheme
            | Self::Show(_)
            | Self::ChooseModel
            | Self::ChooseMachine
            | Self::Take(_)
            | Self::Undo
            | Self::Redo
            | Self::Quit
            | Self::Discard(_)
            | Self::SaveThen(_)
            | Self::Write { .. } => "",
        }
    }

    /// The keys for it.
    pub fn shortcut(&self) -> Option<KeyboardShortcut> {
        let with = |modifiers, key| Some(KeyboardShortcut::new(modifiers, key));
        let shift = Modifiers::COMMAND | Modifiers::SHIFT;
        match self {
            Self::NewPlan => with(Modifiers::COMMAND, Key::N),
            Self::OpenPlan => with(Modifiers::COMMAND, Key::O),
            Self::SavePlan => with(Modifiers::COMMAND, Key::S),
            Self::SavePlanAs => with(shift, Key::S),
            Self::SaveLaunch => with(Modifiers::COMMAND, Key::E),
            Self::CopyLaunch => with(shift, Key::C),
            Self::ChooseModel => with(Modifiers::COMMAND, Key::M),
            Self::ChooseMachine => with(Modifiers::COMMAND, Key::G),
            Self::Show(Tab::Memory) => with(Modifiers::COMMAND, Key::Num1),
            Self::Show(Tab::Curves) => with(Modifiers::COMMAND, Key::Num2),
            Self::Detect => with(Modifiers::NONE, Key::F5),
            Self::SwitchTheme => with(Modifiers::COMMAND, Key::T),
            Self::Show(Tab::Options) => with(Modifiers::COMMAND, Key::Num3),
            Self::Show(Tab::Model) => with(Modifiers::COMMAND, Key::Num4),
            Self::Fit(None) => with(Modifiers::COMMAND, Key::F),
            Self::Undo => with(Modifiers::COMMAND, Key::Z),
            Self::Redo => with(shift, Key::Z),
            Self::Quit => with(Modifiers::COMMAND, Key::Q),
            _ => None,
        }
    }

    /// Tooltip and shortcut together, for a hover; empty where there is neither.
    pub fn hover(&self, texts: &Texts, context: &Context) -> String {
        let keys = self
            .shortcut()
            .map(|shortcut| context.format_shortcut(&shortcut));
        match (self.tooltip(texts), keys) {
            (tooltip, None) => tooltip.to_owned(),
            ("", Some(keys)) => keys,
            (tooltip, Some(keys)) => format!("{tooltip} ({keys})"),
        }
    }
}

/// Commands waiting for the end of the frame.
#[derive(Debug, Default)]
pub struct Queue(Vec<Command>);

impl Queue {
    /// Adds one.
    pub fn send(&mut self, command: Command) {
        self.0.push(command);
    }

    /// Adds those whose keys were pressed.
    pub fn send_shortcuts(&mut self, context: &Context) {
        // A field in which one types takes back what was typed there.
        let typing = context.text_edit_focused();
        context.input_mut(|input| {
            for command in SHORTCUTS {
                if typing && matches!(command, Command::Undo | Command::Redo) {
                    continue;
                }
                if command
                    .shortcut()
                    .is_some_and(|shortcut| input.consume_shortcut(&shortcut))
                {
                    self.0.push(command.clone());
                }
            }
        });
    }

    /// Takes all of them.
    pub fn take(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::texts::ENGLISH;

    #[test]
    fn shortcuts_are_unique_and_longest_first() {
        let keys: Vec<KeyboardShortcut> = SHORTCUTS.iter().filter_map(Command::shortcut).collect();
        assert_eq!(keys.len(), SHORTCUTS.len());
        for (index, first) in keys.iter().enumerate() {
            for second in keys.iter().skip(index + 1) {
                assert_ne!(first, second);
                assert!(!second.modifiers.shift || first.modifiers.shift);
            }
        }
        for command in SHORTCUTS {
            assert!(!command.text(&ENGLISH).is_empty(), "{command:?}");
        }
    }
}
