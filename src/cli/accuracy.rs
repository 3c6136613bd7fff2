//! `plimsoll accuracy`: how near projections come to measured allocations.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use plimsoll::accuracy::Accuracy;
use plimsoll::store;

use super::answer::{one_line, print_plain};
use super::opened::model_catalog;
use super::{Answer, Failure};

/// Largest file of rows that is read: a hundred times the largest known.
const MOST_BYTES: u64 = 1 << 30;

/// Options of `accuracy`.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Folder with measurements, one JSON object per line in files that end in .jsonl.
    folder: PathBuf,
}

/// Reads every file of the folder and prints the tables.
pub(super) fn run(options: &Options) -> Result<Answer, Failure> {
    let files = files(&options.folder).map_err(Failure::Io)?;
    let catalog = model_catalog();
    let mut accuracy = Accuracy::default();
    for file in &files {
        log::info!("{}", file.display());
        match store::read(file, MOST_BYTES) {
            Ok(text) => accuracy.read(&text, &catalog),
            // The others count all the same.
            Err(error) => log::warn!("left out: {}", one_line(&error.to_string())),
        }
    }
    if accuracy.is_empty() {
        return Err(Failure::input(anyhow!(
            "no measurements of a known kind in {}; rows are JSON objects, one per line, in files that end in .jsonl",
            options.folder.display()
        )));
    }
    print_plain(&accuracy.to_string())?;
    Ok(Answer::Yes)
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
