//! Asking for a path: the desktop's dialog, behind a trait so that tests need none.

use std::path::{Path, PathBuf};

use super::notice::Topic;
use super::texts::Texts;

/// What a path is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A plan, report, model file or folder to open.
    Open,
    /// Where to save the plan.
    SavePlan,
    /// Where to save the launch.
    SaveLaunch,
    /// A model file to plan with.
    ModelFile,
    /// A folder with a model to plan with.
    ModelFolder,
    /// A folder in which to look for models.
    LibraryFolder,
    /// A plan that runs beside the one on the desk.
    BesidePlan,
    /// Where to save the report about this machine.
    SaveReport,
    /// A report about another machine.
    OpenReport,
}

impl Purpose {
    /// A file will be written there.
    pub const fn saves(self) -> bool {
        matches!(self, Self::SavePlan | Self::SaveLaunch | Self::SaveReport)
    }

    /// What news about the answer are about.
    pub const fn topic(self) -> Topic {
        if self.saves() {
            Topic::Save
        } else {
            Topic::Open
        }
    }

    /// What the question is called.
    pub const fn title(self, texts: &Texts) -> &'static str {
        match self {
            Self::Open => texts.open_title,
            Self::SavePlan => texts.save_plan_title,
            Self::SaveLaunch => texts.save_launch_title,
            Self::ModelFile => texts.model_file_title,
            Self::ModelFolder => texts.model_folder_title,
            Self::LibraryFolder => texts.library_folder_title,
            Self::BesidePlan => texts.beside_path,
            Self::SaveReport => texts.save_report_title,
            Self::OpenReport => texts.open_report_title,
        }
    }
}

/// One question.
#[derive(Clone, Debug)]
pub struct PathRequest {
    /// What for.
    pub purpose: Purpose,
    /// Title of the dialog.
    pub title: &'static str,
    /// Name suggested for a file to be written.
    pub file_name: String,
    /// Where to begin.
    pub folder: Option<PathBuf>,
}

/// Asks a person for a path.
pub trait PathChooser: Send + Sync {
    /// Waits for the answer, on a thread of its own; `None`: cancelled, or there is no way to ask. A chooser that
    /// returns an existing file for saving has asked whether to replace it.
    fn choose(&self, request: &PathRequest) -> Option<PathBuf>;
}

/// The dialogs of the desktop, through its portal or zenity.
#[derive(Clone, Copy, Debug, Default)]
pub struct DesktopChooser;

impl PathChooser for DesktopChooser {
    fn choose(&self, request: &PathRequest) -> Option<PathBuf> {
        let mut dialog = rfd::FileDialog::new().set_title(request.title);
        if let Some(folder) = &request.folder {
            dialog = dialog.set_directory(folder);
        }
        match request.purpose {
            Purpose::SavePlan | Purpose::SaveLaunch | Purpose::SaveReport => {
                let extension = Path::new(&request.file_name)
                    .extension()
                    .and_then(|extension| extension.to_str());
                if let Some(extension) = extension {
                    dialog = dialog.add_filter(extension, &[extension]);
                }
                dialog.set_file_name(&request.file_name).save_file()
            }
            Purpose::ModelFolder | Purpose::LibraryFolder => dialog.pick_folder(),
            Purpose::ModelFile => dialog
                .add_filter("GGUF, safetensors", &["gguf", "safetensors", "json"])
                .pick_file(),
            Purpose::BesidePlan => dialog.add_filter("TOML", &["toml"]).pick_file(),
            Purpose::Open | Purpose::OpenReport => dialog.pick_file(),
        }
    }
}
