//! How the endpoint is reached: what the environment says, as huggingface_hub reads it (`constants.py` and
//! `utils/_auth.py`, 1.0).

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Error;
use super::proxy::Proxies;
use super::url::Url;
use crate::plain::quoted;
use crate::store;

/// Where a repository is read from, and as whom.
#[derive(Clone, Debug)]
pub struct Settings {
    pub(super) endpoint: Url,
    pub(super) token: Option<Token>,
    /// Where a token was looked for.
    pub(super) looked: Vec<String>,
    /// The variable that forbids the network.
    pub(super) offline: Option<&'static str>,
    pub(super) proxies: Proxies,
    /// How long to wait for what.
    pub waits: Waits,
}

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// For a connection.
    pub connect: Duration,
    /// For the next bytes.
    pub silence: Duration,
    /// For an answer as a whole.
    pub total: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            total: Duration::from_mins(5),
        }
    }
}

/// What proves who asks. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) secret: String,
    /// Where it was found.
    pub(super) place: String,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token of {}", self.place)
    }
}

/// The hub itself.
const ENDPOINT: &str = "https://huggingface.co";

/// Largest file of a token. A token has 37 bytes.
const TOKEN_BYTES: u64 = 4096;

/// A variable of the environment; empty ones count as unset.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Settings {
    /// As the environment of this process has it.
    ///
    /// # Errors
    /// A variable that holds what it cannot.
    pub fn of_environment() -> Result<Self, Error> {
        Self::of(&environment)
    }

    /// As an environment has it, which is asked by the names of variables.
    ///
    /// # Errors
    /// A variable that holds what it cannot.
    pub fn of(variable: Lookup<'_>) -> Result<Self, Error> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let (token, looked) = token(&variable)?;
        Ok(Self {
            endpoint: endpoint(&variable)?,
            token,
            looked,
            offline: offline(&variable),
            proxies: Proxies::of(&variable)?,
            waits: Waits::default(),
        })
    }

    /// Where a token came from, or that there is none, for a message.
    pub(super) fn token_used(&self) -> String {
        match &self.token {
            Some(token) => format!("that of {} was used", token.place),
            None => format!("none was found in {}", self.looked.join(", ")),
        }
    }
}

pub(super) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The endpoint that an environment names.
pub(super) fn endpoint(variable: Lookup<'_>) -> Result<Url, Error> {
    let given = variable("HF_ENDPOINT").filter(|value| !value.trim().is_empty());
    let text = given
        .as_deref()
        .unwrap_or(ENDPOINT)
        .trim()
        .trim_end_matches('/');
    Url::parse(text).ok_or_else(|| Error::Endpoint {
        given: quoted(text),
    })
}

fn is_on(variable: Lookup<'_>, name: &str) -> bool {
    let words = ["1", "on", "yes", "true"];
    variable(name).is_some_and(|value| words.contains(&value.trim().to_ascii_lowercase().as_str()))
}

fn offline(variable: Lookup<'_>) -> Option<&'static str> {
    let names = ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"];
    names.into_iter().find(|name| is_on(variable, name))
}

/// The first token found, and everywhere it was looked for.
fn token(variable: Lookup<'_>) -> Result<(Option<Token>, Vec<String>), Error> {
    let mut looked = Vec::new();
    if is_on(variable, "HF_HUB_DISABLE_IMPLICIT_TOKEN") {
        looked.push("nothing, since HF_HUB_DISABLE_IMPLICIT_TOKEN is set".to_owned());
        return Ok((None, looked));
    }
    for name in ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"] {
        looked.push(name.to_owned());
        if let Some(secret) = variable(name) {
            return Ok((Some(checked(&secret, name.to_owned())?), looked));
        }
    }
    if let Some(file) = token_file(variable) {
        let place = file.display().to_string();
        looked.push(place.clone());
        let text = store::read(&file, TOKEN_BYTES).unwrap_or_default();
        if !text.trim().is_empty() {
            return Ok((Some(checked(&text, place)?), looked));
        }
    }
    Ok((None, looked))
}

fn checked(text: &str, place: String) -> Result<Token, Error> {
    let secret = text.trim();
    // Anything else could end the header and begin another.
    if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Error::Token { place });
    }
    Ok(Token {
        secret: secret.to_owned(),
        place,
    })
}

fn token_file(variable: Lookup<'_>) -> Option<PathBuf> {
    if let Some(path) = variable("HF_TOKEN_PATH") {
        return Some(path.into());
    }
    let home = match variable("HF_HOME") {
        Some(home) => PathBuf::from(home),
        None => cache(variable)?.join("huggingface"),
    };
    Some(home.join("token"))
}

/// The folder of caches as huggingface_hub has it, which is the same on every system.
fn cache(variable: Lookup<'_>) -> Option<PathBuf> {
    if let Some(cache) = variable("XDG_CACHE_HOME") {
        return Some(cache.into());
    }
    let home = variable("HOME").or_else(|| variable("USERPROFILE"))?;
    Some(Path::new(&home).join(".cache"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, Error> {
        Settings::of(&|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_token_is_found_where_it_usually_is() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        let cache = folder.path().join(".cache/huggingface");
        std::fs::create_dir_all(&cache).unwrap();
        std::fs::write(cache.join("token"), "hf_cache\n").unwrap();
        std::fs::write(folder.path().join("token"), "hf_home\n").unwrap();
        std::fs::write(folder.path().join("mine"), "hf_mine").unwrap();
        let mine = folder.path().join("mine");
        let check = |variables: &[(&str, &str)], expected: Option<&str>| {
            let token = settings(variables).unwrap().token;
            assert_eq!(
                token.map(|token| token.secret).as_deref(),
                expected,
                "{variables:?}"
            );
        };
        check(&[("HOME", home)], Some("hf_cache"));
        check(&[("HOME", home), ("HF_HOME", home)], Some("hf_home"));
        check(
            &[("HF_HOME", home), ("HF_TOKEN_PATH", mine.to_str().unwrap())],
            Some("hf_mine"),
        );
        check(
            &[("HF_HOME", home), ("HUGGING_FACE_HUB_TOKEN", "hf_old")],
            Some("hf_old"),
        );
        check(
            &[
                ("HF_TOKEN", " hf_new "),
                ("HUGGING_FACE_HUB_TOKEN", "hf_old"),
            ],
            Some("hf_new"),
        );
        check(&[("HF_TOKEN", ""), ("HF_HOME", home)], Some("hf_home"));
        check(
            &[("HOME", home), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")],
            None,
        );
        check(&[("HF_HOME", "/nowhere")], None);
        check(&[], None);
    }

    #[test]
    fn a_token_is_never_shown() {
        let settings = settings(&[("HF_TOKEN", "hf_secret")]).unwrap();
        assert!(!format!("{settings:?}").contains("secret"));
        let error = self::settings(&[("HF_TOKEN", "hf_secret\r\nX: y")]).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
        let proxy = self::settings(&[("HTTPS_PROXY", "ftp://me:secret@host:1")]).unwrap_err();
        assert!(!proxy.to_string().contains("secret"), "{proxy}");
    }

    #[test]
    fn endpoints_may_be_mirrors_with_a_path() {
        let endpoint = |value| {
            let settings = settings(&[("HF_ENDPOINT", value)]);
            settings.map(|settings| settings.endpoint.to_string()).ok()
        };
        assert_eq!(endpoint("").as_deref(), Some("https://huggingface.co"));
        assert_eq!(
            endpoint("https://hf-mirror.com/").as_deref(),
            Some("https://hf-mirror.com")
        );
        assert_eq!(
            endpoint("http://nexus.local:8081/repository/hf/").as_deref(),
            Some("http://nexus.local:8081/repository/hf")
        );
        for wrong in [
            "hf-mirror.com",
            "ftp://a",
            "https://",
            "https://user:pw@a",
            "https://a b",
        ] {
            assert_eq!(endpoint(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn staying_offline_is_asked_for_by_two_names() {
        let offline = |variables: &[(&str, &str)]| settings(variables).unwrap().offline;
        assert_eq!(offline(&[("HF_HUB_OFFLINE", "1")]), Some("HF_HUB_OFFLINE"));
        assert_eq!(
            offline(&[("TRANSFORMERS_OFFLINE", "Yes")]),
            Some("TRANSFORMERS_OFFLINE")
        );
        assert_eq!(offline(&[("HF_HUB_OFFLINE", "0")]), None);
        assert_eq!(offline(&[]), None);
    }
}
