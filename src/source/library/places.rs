//! What decides where programs keep their files, as data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::hardware::Os;

/// The user's folders and environment.
#[derive(Clone, Debug)]
pub struct Places {
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// Environment variables.
    pub environment: BTreeMap<String, String>,
    /// The operating system, which has conventions.
    pub os: Os,
    /// Where paths of the system begin: `/`.
    pub root: PathBuf,
}

impl Places {
    /// Of this computer and user.
    pub fn of_user() -> Self {
        let os = match std::env::consts::OS {
            "windows" => Os::Windows,
            "macos" => Os::Macos,
            _ => Os::Linux,
        };
        // Variables that are no text cannot be paths that a plan could name.
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self {
            home: etcetera::home_dir().ok(),
            environment,
            os,
            root: PathBuf::from("/"),
        }
    }

    /// A variable that is set to something, `~` at its beginning resolved.
    pub(super) fn variable(&self, name: &str) -> Option<PathBuf> {
        let value = self.environment.get(name)?.trim();
        if value.is_empty() {
            return None;
        }
        match value.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with(['/', '\\']) => {
                self.below_home(rest.trim_start_matches(['/', '\\']))
            }
            _ => Some(PathBuf::from(value)),
        }
    }

    /// A path below the home folder.
    pub(super) fn below_home(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join(path))
    }

    /// Where programs keep data of the user: `XDG_DATA_HOME`, `~/Library/Application Support`, `%APPDATA%`.
    pub(super) fn data(&self) -> Option<PathBuf> {
        match self.os {
            Os::Linux => self.xdg("XDG_DATA_HOME", ".local/share"),
            Os::Macos => self.below_home("Library/Application Support"),
            Os::Windows => self.roaming(),
        }
    }

    /// The same for data of this computer alone, which Windows keeps apart: `%LOCALAPPDATA%`.
    pub(super) fn local_data(&self) -> Option<PathBuf> {
        match self.os {
            Os::Windows => self.local(),
            Os::Linux | Os::Macos => self.data(),
        }
    }

    /// Where programs keep what can be had again: `XDG_CACHE_HOME`, `~/Library/Caches`, `%LOCALAPPDATA%`.
    pub(super) fn cache(&self) -> Option<PathBuf> {
        match self.os {
            Os::Linux => self.xdg("XDG_CACHE_HOME", ".cache"),
            Os::Macos => self.below_home("Library/Caches"),
            Os::Windows => self.local(),
        }
    }

    /// A folder of the XDG base directory specification.
    pub(super) fn xdg(&self, variable: &str, default: &str) -> Option<PathBuf> {
        self.variable(variable).or_else(|| self.below_home(default))
    }

    /// `%APPDATA%`.
    pub(super) fn roaming(&self) -> Option<PathBuf> {
        self.xdg("APPDATA", "AppData/Roaming")
    }

    fn local(&self) -> Option<PathBuf> {
        self.xdg("LOCALAPPDATA", "AppData/Local")
    }
}
