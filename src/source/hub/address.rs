//! A repository as people name it.

use std::fmt;
use std::str::FromStr;

use super::Error;
use crate::plain::quoted;

/// Which repository, at which revision, and which of its models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// "owner/name".
    pub repository: String,
    /// A branch, tag or commit; absent: "main".
    pub revision: Option<String>,
    /// A file, or the quantization in its name ("Q4_K_M").
    pub choice: Option<String>,
}

/// Hosts whose pages people copy addresses from.
const HOSTS: [&str; 4] = [
    "huggingface.co",
    "www.huggingface.co",
    "hf.co",
    "hf-mirror.com",
];

/// The hub's own limit for a name (`REPO_ID` in huggingface_hub, `utils/_validators.py`).
const LONGEST_NAME: usize = 96;

/// Longer than any branch.
const LONGEST_REVISION: usize = 255;

impl Address {
    /// Is this text meant as a repository rather than as a file? "owner/name" with no more slashes, or a page's address.
    pub fn is_meant(text: &str) -> bool {
        text.parse::<Self>().is_ok()
    }

    /// The revision to ask for.
    pub fn revision(&self) -> &str {
        self.revision.as_deref().unwrap_or("main")
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let refused = |reason| Error::Address {
            given: quoted(text),
            reason,
        };
        if let Some(page) = page(text) {
            return from_page(page.map_err(refused)?).map_err(refused);
        }
        let (left, choice) = match text.split_once(':') {
            Some((left, choice)) => (left, Some(choice)),
            None => (text, None),
        };
        let (repository, revision) = match left.split_once('@') {
            Some((repository, revision)) => (repository, Some(revision)),
            None => (left, None),
        };
        checked(repository, revision, choice).map_err(refused)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.repository)?;
        if let Some(revision) = &self.revision {
            write!(f, "@{revision}")?;
        }
        if let Some(choice) = &self.choice {
            write!(f, ":{choice}")?;
        }
        Ok(())
    }
}

/// What follows the host of a page's address; `None` where the text is none.
fn page(text: &str) -> Option<Result<&str, &'static str>> {
    let rest = text
        .strip_prefix("https://")
        .or(text.strip_prefix("http://"));
    let is_url = rest.is_some();
    let (host, path) = rest.unwrap_or(text).split_once('/')?;
    if HOSTS.contains(&host.to_ascii_lowercase().as_str()) {
        return Some(Ok(path));
    }
    is_url.then_some(Err(
        "this is a page of another host (set HF_ENDPOINT for a mirror)",
    ))
}

/// `owner/name`, `owner/name:Q4_K_M`, `owner/name/tree/main/folder` or `owner/name/blob/main/file`.
fn from_page(path: &str) -> Result<Address, &'static str> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut parts = path.trim_matches('/').splitn(4, '/');
    let owner = parts.next().unwrap_or_default();
    let (name, tag) = match parts.next().unwrap_or_default().split_once(':') {
        Some((name, tag)) => (name.to_owned(), Some(tag)),
        None => (path.split('/').nth(1).unwrap_or_default().to_owned(), None),
    };
    let kind = parts.next();
    let (revision, file) = match parts
        .next()
        .map(|rest| rest.split_once('/').unwrap_or((rest, "")))
    {
        Some((revision, file)) => (Some(revision), Some(file).filter(|file| !file.is_empty())),
        None => (None, None),
    };
    let choice = match kind {
        Some("blob" | "resolve") => file,
        None | Some("tree") => tag,
        Some(_) => return Err("this is no page of a model's files"),
    };
    checked(&format!("{owner}/{name}"), revision, choice)
}

fn checked(
    repository: &str,
    revision: Option<&str>,
    choice: Option<&str>,
) -> Result<Address, &'static str> {
    let Some((owner, name)) = repository.split_once('/') else {
        return Err("this is no repository");
    };
    if ![owner, name].into_iter().all(is_name) {
        return Err("this is no repository");
    }
    if revision.is_some_and(|revision| !is_revision(revision)) {
        return Err("this is no revision of a repository");
    }
    if choice.is_some_and(|choice| !is_file(choice)) {
        return Err("this is no file of a repository");
    }
    Ok(Address {
        repository: repository.to_owned(),
        revision: revision.map(str::to_owned),
        choice: choice.map(str::to_owned),
    })
}

/// One half of a repository's name.
fn is_name(part: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    !part.is_empty()
        && part.len() <= LONGEST_NAME
        && !part.starts_with(['.', '-'])
        && !part.ends_with('.')
        && !part.contains("..")
        && part.chars().all(allowed)
}

fn is_revision(text: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    text.len() <= LONGEST_REVISION && is_file(text) && text.chars().all(allowed)
}

/// A commit, which never changes.
pub(super) fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A name of a file that leads out of nowhere and shows as it is.
pub(super) fn is_file(name: &str) -> bool {
    /// Paths of systems end here.
    const LONGEST: usize = 1024;
    name.len() <= LONGEST
        && !name.contains(|letter: char| letter.is_control() || letter == '\\')
        && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let found = text.parse::<Address>().map(|address| address.to_string());
        assert_eq!(found.ok().as_deref(), expected, "{text}");
    }

    #[test]
    fn repositories_are_named_in_many_ways() {
        for text in [
            "unsloth/Qwen3-8B-GGUF",
            "a/b@main",
            "a/b:Q4_K_M",
            "a/b@refs/pr/1:UD-Q2_K_XL/c-00001-of-00002.gguf",
        ] {
            check(text, Some(text));
        }
        check("https://huggingface.co/a/b", Some("a/b"));
        check("https://huggingface.co/a/b/", Some("a/b"));
        check("hf.co/a/b:Q8_0", Some("a/b:Q8_0"));
        check("https://huggingface.co/a/b/tree/main", Some("a/b@main"));
        check("https://huggingface.co/a/b/tree/main/Q4", Some("a/b@main"));
        check(
            "https://huggingface.co/a/b/blob/main/x/c.gguf?download=true",
            Some("a/b@main:x/c.gguf"),
        );
    }

    #[test]
    fn what_is_no_repository_is_refused() {
        for text in [
            "",
            "a",
            "a/b/c",
            "/a/b",
            "./a",
            "../b",
            "a/..",
            "a/b@",
            "a/b:",
            "a/b:../../etc/passwd",
            "a/b\n",
            "a/\u{1b}[31m",
            "a b/c",
            "https://example.com/a/b",
            "https://huggingface.co/datasets/a/b",
            "https://huggingface.co/a/b/discussions/1",
        ] {
            // A line break at the end is trimmed, as of any pasted text.
            check(text, (text == "a/b\n").then_some("a/b"));
        }
    }
}
