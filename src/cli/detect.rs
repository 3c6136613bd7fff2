//! `plimsoll detect`: this machine, or a saved report of another.

use plimsoll::catalog::gpus::GpuCatalog;
use plimsoll::hardware::detection::Detection;
use plimsoll::hardware::diagnostic;
use plimsoll::hardware::probe::Sources;

use super::answer::print;
use super::{Answer, Failure};

/// Options of `detect`.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Print one JSON object; saved to a file, it can be opened on another machine.
    #[arg(long)]
    json: bool,
}

/// The machine that the program runs on, as it sees it.
pub(super) fn this_machine(gpus: &GpuCatalog) -> Detection {
    let sources = Sources::from_environment(|name| std::env::var(name).ok());
    gpus.detect(&sources, &|progress| {
        log::debug!("asking {}", progress.title);
    })
}

/// Prints what was found and what could not be read.
pub(super) fn run(options: &Options) -> Result<Answer, Failure> {
    let gpus = GpuCatalog::embedded().map_err(Failure::input)?;
    let detection = this_machine(&gpus);
    let mut text = if options.json {
        diagnostic::to_json(&detection)
    } else {
        diagnostic::to_text(&detection)
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    print(&text)?;
    Ok(Answer::Yes)
}
