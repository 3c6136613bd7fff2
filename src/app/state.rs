//! What the window remembers during one session and no longer.

use std::path::PathBuf;

use crate::plain::one_line;
use crate::projection::Category;

use super::aside::Aside;
use super::chooser::Purpose;
use super::command::Command;
use super::notice::{Notice, Topic};
use super::tab::Tab;

/// State of this session only.
#[derive(Debug, Default)]
pub struct UiState {
    /// Which picture is shown.
    pub tab: Tab,
    /// The list of models.
    pub models: Search,
    /// Where the list of models takes them from.
    pub shelf: Shelf,
    /// Where the list of models that may draft does.
    pub draft_shelf: Shelf,
    /// The model's file is not as it was when it was read.
    pub stale: bool,
    /// The list of machines.
    pub machines: Search,
    /// The list of GPUs to add.
    pub gpus: Search,
    /// The list of models that may draft.
    pub drafts: Search,
    /// Category that bars and table point out.
    pub highlight: Option<Category>,
    /// Name of the moment that the bars show; absent: the one that decides.
    pub moment: Option<&'static str>,
    /// Place of the axis shown in the curves.
    pub axis: usize,
    /// Identity of the device shown in the curves; absent: the fullest.
    pub curve_device: Option<String>,
    /// The question that waits for an answer.
    pub dialog: Option<Dialog>,
    /// Messages, the newest last.
    pub notices: Vec<Notice>,
    /// The desktop has no dialog, as a try showed: paths are typed.
    pub types_paths: bool,
    /// Where the launch took another model from, before the plan's model changed.
    pub set_aside: Option<SetAside>,
    /// What the plan's settings were under other engines.
    pub engines: Aside,
    /// What fell on the window and is being opened.
    pub dropped: Option<PathBuf>,
    /// What is to happen once the plan is saved.
    pub after_saving: Option<Command>,
    /// Closing was confirmed.
    pub quitting: bool,
    /// Title last given to the window.
    pub title: String,
}

/// Where models are taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shelf {
    /// The catalogue.
    #[default]
    Presets,
    /// This computer.
    Local,
    /// A hub, by the name of a repository.
    Hub,
}

impl Shelf {
    /// Every one, in order.
    pub const ALL: [Self; 3] = [Self::Presets, Self::Local, Self::Hub];
}

/// A list that is searched by typing.
#[derive(Debug, Default)]
pub struct Search {
    /// Text in the search box.
    pub text: String,
    /// Row that Enter takes.
    pub cursor: usize,
    /// The list is to be opened in this frame.
    pub asked: bool,
}

/// Where a launch takes its model from; it belongs to one model and goes with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetAside {
    /// The plan's `model_path`.
    pub model_path: Option<String>,
    /// The plan's `hf_repo`.
    pub hf_repo: Option<String>,
}

/// A question in the middle of the window.
#[derive(Debug)]
pub enum Dialog {
    /// A path, typed.
    Path {
        /// What for.
        purpose: Purpose,
        /// As typed so far.
        text: String,
        /// Where paths start that do not start at the root.
        folder: String,
        /// Why it could not be used, after a try.
        problem: Option<String>,
    },
    /// A file is already there.
    Overwrite {
        /// What is to be written.
        purpose: Purpose,
        /// Where.
        path: PathBuf,
    },
    /// A plan fell on the window while there was one on the desk.
    Dropped {
        /// Where it lies.
        path: PathBuf,
    },
    /// The model is to be kept as a preset.
    Preset {
        /// The name, as typed so far.
        id: String,
        /// A preset of the name is there.
        taken: bool,
        /// Why it could not be kept, after a try.
        problem: Option<String>,
    },
    /// The plan has changes that would be lost.
    Unsaved {
        /// What was asked for.
        then: Command,
    },
}

impl UiState {
    /// Tells that something was done. Only the last success is news, and it ends an older failure of its kind.
    pub fn tell(&mut self, topic: Topic, text: &str) {
        self.notices
            .retain(|notice| notice.failed && notice.topic != topic);
        self.notices.push(Notice {
            topic,
            text: one_line(text),
            failed: false,
            until: None,
        });
    }

    /// The path that was asked for could be used.
    pub fn path_taken(&mut self, topic: Topic) {
        if let Some(Dialog::Path { purpose, .. }) = &self.dialog
            && purpose.topic() == topic
        {
            self.dialog = None;
        }
    }

    /// Ends an older failure of this kind without a word.
    pub fn forget_failure(&mut self, topic: Topic) {
        self.notices
            .retain(|notice| !notice.failed || notice.topic != topic);
    }

    /// Tells that something failed: in the question that asked for a path, where it is still open, else in a message.
    pub fn fail(&mut self, topic: Topic, text: &str) {
        if let Some(Dialog::Path {
            purpose, problem, ..
        }) = &mut self.dialog
            && purpose.topic() == topic
        {
            *problem = Some(one_line(text));
            return;
        }
        self.notices.retain(|notice| notice.topic != topic);
        self.notices.push(Notice {
            topic,
            text: one_line(text),
            failed: true,
            until: None,
        });
    }
}
