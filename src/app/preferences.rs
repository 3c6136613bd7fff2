//! The user's taste for the window, kept in a file of its own and no part of a plan.

use std::path::{Path, PathBuf};

use eframe::egui::ThemePreference;
use serde::{Deserialize, Serialize};

use crate::store;

/// Plans remembered.
const RECENT: usize = 8;
/// Largest file of preferences that is read. A real one has a few hundred bytes.
const MAX_BYTES: u64 = 1 << 16;

/// What is remembered between sessions. Whatever a file lacks or garbles has its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preferences {
    /// Colours.
    pub theme: Colours,
    /// Identity of the export target last used.
    pub target: String,
    /// Inner size of the window in points.
    pub window: (f32, f32),
    /// Plans last opened or saved, the newest first.
    pub recent: Vec<PathBuf>,
    /// Folders in which to look for models, beside those of other programs.
    pub model_folders: Vec<PathBuf>,
}

/// Which colours to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Colours {
    /// As the desktop has them.
    #[default]
    System,
    /// Dark.
    Dark,
    /// Light.
    Light,
}

impl From<Colours> for ThemePreference {
    fn from(colours: Colours) -> Self {
        match colours {
            Colours::System => Self::System,
            Colours::Dark => Self::Dark,
            Colours::Light => Self::Light,
        }
    }
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            theme: Colours::System,
            target: String::new(),
            window: (1440.0, 900.0),
            recent: Vec::new(),
            model_folders: Vec::new(),
        }
    }
}

impl Preferences {
    /// As remembered. A file that is missing is none; one that cannot be read is told in the log and left alone.
    pub fn read(file: &Path) -> Self {
        if !file.exists() {
            return Self::default();
        }
        let text = match store::read(file, MAX_BYTES) {
            Ok(text) => text,
            Err(error) => {
                log::warn!("preferences: {error}");
                return Self::default();
            }
        };
        toml::from_str(&text).unwrap_or_else(|error| {
            log::warn!("preferences: {}: {}", error.message(), file.display());
            Self::default()
        })
    }

    /// Writes them whole or not at all.
    ///
    /// # Errors
    /// What stood in the way.
    pub fn write(&self, file: &Path) -> anyhow::Result<()> {
        if let Some(folder) = file.parent() {
            store::make_folder(folder)?;
        }
        store::save(file, &toml::to_string(self)?, store::Overwrite::Replace)?;
        Ok(())
    }

    /// Puts a plan first among the recent ones.
    pub fn remember(&mut self, path: &Path) {
        self.recent.retain(|known| known != path);
        self.recent.insert(0, path.to_owned());
        self.recent.truncate(RECENT);
    }

    /// A window size that makes sense whatever the file says.
    pub fn window_size(&self) -> [f32; 2] {
        let sane = |length: f32, least: f32, usual: f32| {
            if length.is_finite() && (least..=16_384.0).contains(&length) {
                length
            } else {
                usual
            }
        };
        let usual = Self::default().window;
        [
            sane(self.window.0, 640.0, usual.0),
            sane(self.window.1, 400.0, usual.1),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survive_the_round_trip_and_garbage() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("deep/preferences.toml");
        let mut preferences = Preferences::default();
        preferences.remember(Path::new("/a.toml"));
        preferences.remember(Path::new("/b.toml"));
        preferences.remember(Path::new("/a.toml"));
        preferences.theme = Colours::Light;
        preferences.write(&file).expect("written");
        assert_eq!(Preferences::read(&file), preferences);
        assert_eq!(
            preferences.recent,
            [PathBuf::from("/a.toml"), PathBuf::from("/b.toml")]
        );
        std::fs::write(&file, "theme = 7").expect("garbage");
        assert_eq!(Preferences::read(&file), Preferences::default());
    }

    #[test]
    fn a_window_cannot_get_lost() {
        let preferences = Preferences {
            window: (f32::NAN, 3.0),
            ..Preferences::default()
        };
        let size = preferences.window_size().map(|side| side as u32);
        assert_eq!(size, [1440, 900]);
    }
}
