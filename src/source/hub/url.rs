//! URLs of the web: taken apart, compared by origin, joined with redirections.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// An absolute URL of http or https, without user and fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    secure: bool,
    /// In lower case.
    host: String,
    port: u16,
    /// With its slash and the query; empty at a root.
    path: String,
}

/// What stands for itself in one part of a path (RFC 3986, unreserved).
const PART: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// One part of a path, as a URL writes it.
pub(super) fn part(text: &str) -> String {
    utf8_percent_encode(text, PART).to_string()
}

/// A path of several parts.
pub(super) fn path(text: &str) -> String {
    text.split('/').map(part).collect::<Vec<_>>().join("/")
}

impl Url {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.split('#').next()?;
        let uri: ureq::http::Uri = text.parse().ok()?;
        let secure = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let authority = uri.authority()?;
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return None;
        }
        let path = uri.path_and_query().map_or("", |path| path.as_str());
        Some(Self {
            secure,
            host: authority.host().to_ascii_lowercase(),
            port: authority
                .port_u16()
                .unwrap_or(if secure { 443 } else { 80 }),
            path: if path == "/" {
                String::new()
            } else {
                path.to_owned()
            },
        })
    }

    /// This one with more path behind it.
    pub(super) fn with(&self, more: &str) -> Self {
        Self {
            path: format!("{}{more}", self.path),
            ..self.clone()
        }
    }

    /// Where a redirection from here leads.
    pub(super) fn join(&self, location: &str) -> Option<Self> {
        let location = location.trim();
        if location.starts_with("//") {
            let scheme = if self.secure { "https" } else { "http" };
            return Self::parse(&format!("{scheme}:{location}"));
        }
        if location.contains("://") && !location.starts_with(['/', '?']) {
            return Self::parse(location);
        }
        let here = self.path.split('?').next().unwrap_or_default();
        let path = if location.starts_with('/') {
            location.to_owned()
        } else {
            let folder = here.rfind('/').and_then(|end| here.get(..end));
            format!("{}/{location}", folder.unwrap_or_default())
        };
        let root = Self {
            path: String::new(),
            ..self.clone()
        };
        Self::parse(&format!("{root}{path}"))
    }

    pub(super) const fn is_secure(&self) -> bool {
        self.secure
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// The same server by scheme, host and port.
    pub(super) fn is_of_same_origin(&self, other: &Self) -> bool {
        (self.secure, &self.host, self.port) == (other.secure, &other.host, other.port)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, usual) = if self.secure {
            ("https", 443)
        } else {
            ("http", 80)
        };
        write!(f, "{scheme}://{}", self.host)?;
        if self.port != usual {
            write!(f, ":{}", self.port)?;
        }
        f.write_str(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirections_lead_where_they_say() {
        let here = Url::parse("https://hub.co/a/b/resolve/main/c.gguf?x=1").unwrap();
        for (location, expected) in [
            (
                "https://CDN.co/f?sig=a%2Fb",
                Some("https://cdn.co/f?sig=a%2Fb"),
            ),
            ("http://cdn.co:8080/f", Some("http://cdn.co:8080/f")),
            ("//cdn.co/f#part", Some("https://cdn.co/f")),
            (
                "/new/b/resolve/main/c.gguf",
                Some("https://hub.co/new/b/resolve/main/c.gguf"),
            ),
            (
                "/login?next=https://x.y/z",
                Some("https://hub.co/login?next=https://x.y/z"),
            ),
            ("d.gguf", Some("https://hub.co/a/b/resolve/main/d.gguf")),
            ("https://me:pw@cdn.co/f", None),
            ("file:///etc/passwd", None),
            ("https:///f", None),
        ] {
            let found = here.join(location).map(|url| url.to_string());
            assert_eq!(found.as_deref(), expected, "{location}");
        }
    }

    #[test]
    fn origins_differ_by_scheme_host_and_port() {
        let hub = Url::parse("https://hub.co/x").unwrap();
        for (other, expected) in [
            ("https://HUB.co:443/y", true),
            ("http://hub.co/x", false),
            ("https://hub.co:444/x", false),
            ("https://cdn.hub.co/x", false),
        ] {
            assert_eq!(
                hub.is_of_same_origin(&Url::parse(other).unwrap()),
                expected,
                "{other}"
            );
        }
    }

    #[test]
    fn odd_names_stay_one_part() {
        assert_eq!(path("UD-Q4/a b?c#d%.gguf"), "UD-Q4/a%20b%3Fc%23d%25.gguf");
        assert_eq!(part("refs/pr/1"), "refs%2Fpr%2F1");
    }
}
