//! GPT4All: files in one folder.
//!
//! Source: nomic-ai/gpt4all v3.10.0 `gpt4all-chat/src/mysettings.cpp` (`defaultLocalModelsPath`: Qt's
//! `AppLocalDataLocation` of organization `nomic.ai` and application `GPT4All`; `modelPath` of its settings file), and
//! `~/.cache/gpt4all` of its bindings (`gpt4all-bindings/python/gpt4all/gpt4all.py`).

use std::path::{Path, PathBuf};

use super::files::{self, Origin};
use super::scan::{SMALL, Scan};
use super::{Places, Shelf};
use crate::hardware::Os;
use crate::store;

/// GPT4All.
pub(super) struct Gpt4All;

impl Shelf for Gpt4All {
    fn name(&self) -> &'static str {
        "GPT4All"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let default = places
            .local_data()
            .map(|data| data.join("nomic.ai").join("GPT4All"));
        [chosen(places), default, places.below_home(".cache/gpt4all")]
            .into_iter()
            .flatten()
            .collect()
    }

    fn read(&self, root: &Path, scan: &mut Scan<'_>) {
        files::walk(root, &Origin::default(), 1, scan);
    }
}

/// The folder that the user chose. Qt keeps settings of this form in the same place on Linux and macOS.
fn chosen(places: &Places) -> Option<PathBuf> {
    let settings = match places.os {
        Os::Windows => places.roaming(),
        Os::Linux | Os::Macos => places.xdg("XDG_CONFIG_HOME", ".config"),
    };
    let file = settings?.join("nomic.ai").join("GPT4All.ini");
    let text = store::read(&file, SMALL).ok()?;
    let path = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("modelPath="))?;
    Some(PathBuf::from(path.trim_matches('"')))
}
