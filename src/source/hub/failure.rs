//! What the network and servers refuse, in words for people.

use std::io;
use std::time::Duration;

use super::Error;
use super::http::Response;
use super::settings::{Settings, Waits};

/// Whom a request goes to, and through what.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) host: String,
    /// The variable that names the proxy.
    pub(super) proxy: Option<&'static str>,
}

/// At least one, for messages.
pub(super) fn seconds(duration: Duration) -> u64 {
    duration.as_secs().max(1)
}

/// Is it the system's word for a host that has no address? The standard library has no kind for it, but a text on Unix;
/// Windows has numbers (WSAHOST_NOT_FOUND to WSANO_DATA).
fn is_nameless(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    error
        .to_string()
        .starts_with("failed to lookup address information")
        || cfg!(windows) && number.is_some_and(|number| (11001..=11004).contains(&number))
}

/// Did the connection end before the body did?
pub(super) fn is_cut(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::Io(error) => matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
        ),
        ureq::Error::BodyStalled => true,
        _ => false,
    }
}

impl Way {
    /// A failure of the network.
    pub(super) fn error(&self, error: ureq::Error, waits: Waits) -> Error {
        let host = self.host.clone();
        match error {
            ureq::Error::HostNotFound => Error::Name { host },
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
                Error::Timeout {
                    host,
                    what: "was not reached",
                    seconds: seconds(waits.connect),
                }
            }
            ureq::Error::Timeout(_) => Error::Timeout {
                host,
                what: "did not send everything",
                seconds: seconds(waits.total),
            },
            ureq::Error::ConnectProxyFailed(reason) => self.refused(&reason),
            ureq::Error::Rustls(error) => Error::Tls {
                host,
                reason: error.to_string(),
            },
            ureq::Error::Tls(reason) => Error::Tls {
                host,
                reason: reason.to_owned(),
            },
            ureq::Error::Io(error) => self.broken(&error),
            ureq::Error::Protocol(error) => Error::Answer {
                host,
                what: "a file".to_owned(),
                reason: format!("something that is not HTTP ({error})"),
            },
            other => Error::Connect {
                host,
                reason: other.to_string(),
            },
        }
    }

    fn refused(&self, reason: &str) -> Error {
        Error::Proxy {
            variable: self.proxy.unwrap_or("the environment"),
            host: self.host.clone(),
            reason: reason.to_owned(),
        }
    }

    fn broken(&self, error: &io::Error) -> Error {
        let host = self.host.clone();
        if is_nameless(error) {
            return Error::Name { host };
        }
        let tls = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<rustls::Error>())
            .is_some();
        // Without the number that the system has for it.
        let text = error.to_string();
        let reason = text
            .split(" (os error ")
            .next()
            .unwrap_or_default()
            .to_owned();
        match (tls, self.proxy) {
            (true, _) => Error::Tls { host, reason },
            (false, Some(_)) => self.refused(&reason),
            (false, None) => Error::Connect { host, reason },
        }
    }
}

/// What was asked for, for messages.
pub(super) struct Asked<'a> {
    pub(super) settings: &'a Settings,
    pub(super) repository: &'a str,
    /// "a repository owner/name", "file x in owner/name".
    pub(super) what: String,
}

impl Asked<'_> {
    /// The reason of a status that is none of success.
    pub(super) fn refused(&self, response: &Response) -> Error {
        let host = response.url.host().to_owned();
        let repository = self.repository.to_owned();
        // The hub says what it means in a header of its own (huggingface_hub, `utils/_http.py`, 1.0).
        let code = response.header("x-error-code").unwrap_or_default();
        let settings = self.settings;
        match (response.status, code) {
            (_, "GatedRepo") => Error::Gated {
                page: settings
                    .endpoint
                    .with(&format!("/{repository}"))
                    .to_string(),
                token: settings.token_used(),
                repository,
            },
            (401, "RepoNotFound") if settings.token.is_some() => self.not_found(host),
            (401, _) => match &settings.token {
                Some(token) => Error::WrongToken {
                    host,
                    repository,
                    place: token.place.clone(),
                },
                None => Error::NoToken {
                    host,
                    repository,
                    looked: settings.looked.join(", "),
                },
            },
            (403, _) => Error::Forbidden {
                host,
                repository,
                token: settings.token_used(),
            },
            (404 | 410, _) => self.not_found(host),
            (429, _) => Error::TooMany {
                host,
                when: when(response.header("retry-after")),
                hint: if settings.token.is_some() {
                    ""
                } else {
                    "; with a token (HF_TOKEN) more is allowed"
                },
            },
            (status @ 500..=599, _) => Error::Server { host, status },
            (status, _) => Error::Status {
                host,
                status,
                what: self.what.clone(),
            },
        }
    }

    fn not_found(&self, host: String) -> Error {
        Error::NotFound {
            host,
            what: self.what.clone(),
            hint: if self.settings.token.is_some() {
                ", and whether the token's account may see it"
            } else {
                "; a private repository needs a token (`hf auth login` or HF_TOKEN)"
            },
        }
    }
}

/// `Retry-After` as people say it: seconds, or a date.
fn when(header: Option<&str>) -> String {
    match header.map(str::trim) {
        Some(text) if text.parse::<u64>().is_ok() => format!("in {text} s"),
        Some(text)
            if !text.is_empty()
                && text.len() < 64
                && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) =>
        {
            format!("after {text}")
        }
        _ => "in a few minutes".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: ureq::Error, proxy: Option<&'static str>, expected: &str) {
        let way = Way {
            host: "hub.co".to_owned(),
            proxy,
        };
        let text = way.error(error, Waits::default()).to_string();
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn the_networks_failures_are_told_apart() {
        let nameless =
            || io::Error::other("failed to lookup address information: Name or service not known");
        check(nameless().into(), None, "no address is known for hub.co");
        check(
            ureq::Error::HostNotFound,
            None,
            "no address is known for hub.co",
        );
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        check(
            refused().into(),
            None,
            "could not connect to hub.co (connection refused)",
        );
        check(
            refused().into(),
            Some("ALL_PROXY"),
            "the proxy of ALL_PROXY would not connect to hub.co",
        );
        let untrusted = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let untrusted = io::Error::new(io::ErrorKind::InvalidData, untrusted);
        check(
            untrusted.into(),
            Some("ALL_PROXY"),
            "the connection to hub.co is not secure",
        );
        check(
            ureq::Error::Timeout(ureq::Timeout::Connect),
            None,
            "hub.co was not reached within 10 s",
        );
        check(
            ureq::Error::Timeout(ureq::Timeout::Global),
            None,
            "within 300 s",
        );
    }
}
