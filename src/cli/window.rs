//! `plimsoll` without a command: the window.

use std::path::PathBuf;

use super::{Answer, Failure};

/// Options of the window.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Plan file, model file or folder to open.
    path: Option<PathBuf>,
    /// Save a picture of the window to this file and close.
    #[arg(long, hide = true, value_name = "FILE")]
    screenshot: Option<PathBuf>,
    /// Size of the window in points.
    #[arg(long, hide = true, value_name = "WIDTHxHEIGHT")]
    size: Option<String>,
    /// Colours: dark or light.
    #[arg(long, hide = true)]
    theme: Option<String>,
}

impl Options {
    /// Nothing is asked of the window.
    pub(super) fn is_empty(&self) -> bool {
        let Self {
            path,
            screenshot,
            size,
            theme,
        } = self;
        path.is_none() && screenshot.is_none() && size.is_none() && theme.is_none()
    }
}

/// Opens the window and waits until it is closed.
#[cfg(feature = "gui")]
pub(super) fn run(options: Options) -> Result<Answer, Failure> {
    let Options {
        path,
        screenshot,
        size,
        theme,
    } = options;
    plimsoll::app::run(plimsoll::app::Options {
        path,
        screenshot,
        size,
        theme,
    })
    .map_err(failure)?;
    Ok(Answer::Yes)
}

/// A picture that cannot be written is a file; anything else is what was asked for, or where.
#[cfg(feature = "gui")]
fn failure(error: plimsoll::app::Error) -> Failure {
    match error {
        plimsoll::app::Error::Screenshot(_) => Failure::io(error),
        _ => Failure::input(error),
    }
}

/// Says that there is no window in this build.
#[cfg(not(feature = "gui"))]
pub(super) fn run(options: Options) -> Result<Answer, Failure> {
    let Options {
        path,
        screenshot: _,
        size: _,
        theme: _,
    } = options;
    if let Some(path) = path.filter(|path| plimsoll::source::gguf::is_meant(path)) {
        return Err(super::opened::no_gguf(&path.display().to_string()));
    }
    Err(Failure::input(anyhow::anyhow!(
        "this build has no window; use a command such as `plimsoll project PLAN` (`plimsoll --help` lists them), \
         or build with the `gui` feature"
    )))
}

#[cfg(all(test, feature = "gui"))]
mod tests {
    use plimsoll::app::Error;

    use super::failure;

    #[test]
    fn a_picture_that_cannot_be_written_is_a_failure_of_files() {
        assert_eq!(failure(Error::Screenshot(String::new())).exit_code(), 3);
        assert_eq!(failure(Error::NoDisplay).exit_code(), 2);
    }
}
