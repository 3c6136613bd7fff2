//! How a command ends: its output, its complaint, its exit code.

use std::io::{self, ErrorKind, Write as _};
use std::process::ExitCode;

use plimsoll::plain::steers;
use serde::Serialize;

pub(crate) use plimsoll::plain::one_line;

/// A command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Done; for a question: yes.
    Yes,
    /// Done; the answer is no.
    No,
}

impl From<Answer> for ExitCode {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Yes => Self::SUCCESS,
            Answer::No => Self::from(1),
        }
    }
}

/// A command that could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad usage, bad input, or no display.
    Input(anyhow::Error),
    /// Could not read or write.
    Io(anyhow::Error),
    /// The plan says no.
    No(anyhow::Error),
}

impl Failure {
    /// The same, with what it is about.
    pub(super) fn about(self, what: &'static str) -> Self {
        match self {
            Self::Input(error) => Self::Input(error.context(what)),
            Self::Io(error) => Self::Io(error.context(what)),
            Self::No(error) => Self::No(error.context(what)),
        }
    }

    /// The plan says no.
    pub(crate) fn no(error: impl Into<anyhow::Error>) -> Self {
        Self::No(error.into())
    }

    /// Bad input.
    pub(crate) fn input(error: impl Into<anyhow::Error>) -> Self {
        Self::Input(error.into())
    }

    /// Could not read or write.
    pub(crate) fn io(error: impl Into<anyhow::Error>) -> Self {
        Self::Io(error.into())
    }

    /// 1 for no, 2 for input, 3 for files.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::No(_) => 1,
            Self::Input(_) => 2,
            Self::Io(_) => 3,
        }
    }
}

/// Says on standard error why.
pub(crate) fn complain(failure: &Failure) {
    let (Failure::Input(error) | Failure::Io(error) | Failure::No(error)) = failure;
    // Nothing is left to do if standard error itself is gone.
    let message = one_line(&format!("{error:#}"));
    writeln!(io::stderr().lock(), "plimsoll: {message}").ok();
}

/// Text for people with names in it that come from a file: nothing but its line ends steers the terminal.
pub(super) fn print_plain(text: &str) -> Result<(), Failure> {
    let plain: String = text
        .chars()
        .map(|letter| {
            if letter != '\n' && steers(letter) {
                ' '
            } else {
                letter
            }
        })
        .collect();
    print(&plain)
}

/// Prints text; a reader that has left is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::io(
            anyhow::Error::new(error).context("cannot write to standard output"),
        )),
        _ => Ok(()),
    }
}

/// Prints one JSON object.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::input)?;
    print(&escaped(&text))
}

/// JSON with what steers a terminal escaped: such letters stand in texts only, where JSON has another spelling for them.
fn escaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len() + 1);
    for letter in text.chars() {
        if letter != '\n' && steers(letter) {
            // All of them have one unit of UTF-16.
            plain.extend(format!("\\u{:04x}", u32::from(letter)).chars());
        } else {
            plain.push(letter);
        }
    }
    plain.push('\n');
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_what_it_says_and_steers_nothing() {
        let value = serde_json::json!({ "a\u{9b}b": "c\u{202e}\u{7f}\u{1b}“ü”" });
        let text = escaped(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.chars().any(|letter| letter != '\n' && steers(letter)));
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back, value);
    }
}
