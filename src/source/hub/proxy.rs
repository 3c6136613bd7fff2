//! Proxies of the environment, as curl reads it: one per scheme, one for all, and hosts that need none.

use super::Error;
use super::url::Url;

/// Which requests go through which proxy.
#[derive(Clone, Debug, Default)]
pub(super) struct Proxies {
    https: Option<Named>,
    http: Option<Named>,
    /// Hosts that are reached without one.
    none: Vec<String>,
}

/// A proxy and the variable that names it.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) variable: &'static str,
    pub(super) proxy: ureq::Proxy,
}

const HTTPS: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
const HTTP: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

impl Proxies {
    /// As an environment has them.
    pub(super) fn of(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let first = |names: [&'static str; 4]| {
            let mut found = names
                .into_iter()
                .filter_map(|name| Some((name, variable(name)?)));
            found
                .next()
                .map(|(name, value)| named(name, &value))
                .transpose()
        };
        let none = variable("NO_PROXY").or_else(|| variable("no_proxy"));
        let none = none.unwrap_or_default();
        Ok(Self {
            https: first(HTTPS)?,
            http: first(HTTP)?,
            none: none
                .split([',', ' '])
                .map(|host| host.trim().to_ascii_lowercase())
                .filter(|host| !host.is_empty())
                .collect(),
        })
    }

    /// The proxy on the way to a URL.
    pub(super) fn on_the_way_to(&self, url: &Url) -> Option<&Named> {
        let proxy = if url.is_secure() {
            self.https.as_ref()
        } else {
            self.http.as_ref()
        };
        proxy.filter(|_| !self.none.iter().any(|rule| is_of(url, rule)))
    }
}

fn named(variable: &'static str, value: &str) -> Result<Named, Error> {
    let proxy = ureq::Proxy::new(value.trim()).map_err(|_| Error::ProxyName { variable })?;
    Ok(Named { variable, proxy })
}

/// `*`, a host, or a domain with or without a dot before it, which means the hosts in it too; each with or without a port.
fn is_of(url: &Url, rule: &str) -> bool {
    if rule == "*" {
        return true;
    }
    let host = url.host();
    let with_port = format!("{host}:{}", url.port());
    let domain = rule.trim_start_matches('*').trim_start_matches('.');
    [host, with_port.as_str()].into_iter().any(|host| {
        host == domain
            || host
                .strip_suffix(domain)
                .is_some_and(|rest| !domain.is_empty() && rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], url: &str, expected: Option<&str>) {
        let proxies = Proxies::of(&|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        let proxies = proxies.unwrap();
        let url = Url::parse(url).unwrap();
        let found = proxies.on_the_way_to(&url).map(|named| named.variable);
        assert_eq!(found, expected, "{variables:?} {url}");
    }

    #[test]
    fn each_scheme_has_its_proxy() {
        let both = [
            ("HTTPS_PROXY", "http://p:1"),
            ("http_proxy", "p:2"),
            ("ALL_PROXY", "socks5://p:3"),
        ];
        check(&both, "https://a.b", Some("HTTPS_PROXY"));
        check(&both, "http://a.b", Some("http_proxy"));
        check(&both[2..], "https://a.b", Some("ALL_PROXY"));
        check(&both[..1], "http://a.b", None);
        check(&[], "https://a.b", None);
    }

    #[test]
    fn some_hosts_need_none() {
        let rules = |rules| [("ALL_PROXY", "http://p:1"), ("NO_PROXY", rules)];
        check(&rules("*"), "https://a.b", None);
        check(&rules("localhost, .b"), "https://a.b", None);
        check(&rules("B"), "https://a.b", None);
        check(&rules("*.b"), "https://a.b", None);
        check(&rules("a.b:443"), "https://a.b", None);
        check(&rules("a.b:80"), "https://a.b", Some("ALL_PROXY"));
        check(&rules("ba.b,.,a"), "https://a.b", Some("ALL_PROXY"));
    }
}
