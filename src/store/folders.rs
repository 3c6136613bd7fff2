//! The user's folders.

use std::path::PathBuf;

use etcetera::AppStrategy as _;

use super::Error;

/// Where this program keeps what belongs to the user. Nothing is made until something is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// Preferences.
    pub config: PathBuf,
    /// Presets and lists.
    pub data: PathBuf,
    /// What can be had again.
    pub cache: PathBuf,
}

impl Folders {
    /// As the system's conventions have it.
    ///
    /// # Errors
    /// No home folder is known.
    pub fn of_user() -> Result<Self, Error> {
        let name = etcetera::AppStrategyArgs {
            top_level_domain: String::new(),
            author: String::new(),
            app_name: "plimsoll".to_owned(),
        };
        let strategy = etcetera::choose_app_strategy(name).map_err(|_| Error::NoHome)?;
        Ok(Self {
            config: strategy.config_dir(),
            data: strategy.data_dir(),
            cache: strategy.cache_dir(),
        })
    }

    /// The user's own presets, in the form of the built-in ones.
    pub fn presets(&self) -> PathBuf {
        self.data.join("presets")
    }

    /// What was read of repositories.
    pub fn hub(&self) -> PathBuf {
        self.cache.join("hub")
    }

    /// The list of plans opened last.
    pub fn recent_plans(&self) -> PathBuf {
        self.data.join("recent.toml")
    }

    /// The user's taste for the window.
    pub fn preferences(&self) -> PathBuf {
        self.config.join("preferences.toml")
    }
}
