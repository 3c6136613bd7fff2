//! The only code that opens a connection. Each exchange runs on a thread of its own, so that whoever waits for it can
//! stop at once, whatever the network does.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use ureq::http::{HeaderMap, Request};
use ureq::tls::{RootCerts, TlsConfig};

use super::failure::{self, Way};
use super::settings::Settings;
use super::url::Url;
use super::{Error, Watch};

/// Most redirections of one request; the hub needs two (a renamed repository, then its storage).
const REDIRECTIONS: usize = 5;

/// How often a wait looks whether it is cancelled.
const TICK: Duration = Duration::from_millis(50);

/// Bytes of a body that are handed over at once.
const CHUNK: usize = 64 << 10;

/// Chunks that may wait for whoever reads: little is received that nobody wants.
const WAITING: usize = 2;

/// Speaks to servers, as the settings have it.
#[derive(Debug)]
pub(super) struct Http {
    pub(super) settings: Settings,
    agent: ureq::Agent,
}

/// What a thread that speaks to a server says.
enum News {
    Head(u16, HeaderMap),
    Bytes(Vec<u8>),
    End,
    Failed(ureq::Error),
}

/// The head of an answer, and its body as it comes. Dropped early, the connection is closed.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    /// Who answered, after redirections.
    pub(super) url: Url,
    way: Way,
    news: Receiver<News>,
    deadline: Instant,
    silence: Duration,
}

impl Http {
    pub(super) fn new(settings: Settings) -> Self {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let waits = settings.waits;
        let config = ureq::Agent::config_builder()
            .tls_config(tls)
            .accept_encoding("identity")
            .user_agent(concat!(
                env!("CARGO_PKG_NAME"),
                "/",
                env!("CARGO_PKG_VERSION")
            ))
            .http_status_as_error(false)
            // Followed here, where it is known who may see the token.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .timeout_resolve(Some(waits.connect))
            .timeout_connect(Some(waits.connect))
            // So that a thread nobody waits for ends too.
            .timeout_global(Some(waits.total))
            .build();
        Self {
            settings,
            agent: config.new_agent(),
        }
    }

    /// Asks for a URL, or for a part of it from one byte through another, and follows redirections.
    pub(super) fn get(
        &self,
        url: &Url,
        part: Option<(u64, u64)>,
        watch: &Watch<'_>,
    ) -> Result<Response, Error> {
        if let Some(variable) = self.settings.offline {
            return Err(Error::Offline { variable });
        }
        let deadline = Instant::now() + self.settings.waits.total;
        let mut url = url.clone();
        for _ in 0..=REDIRECTIONS {
            let response = self.ask(&url, part, deadline, watch)?;
            if !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
                return Ok(response);
            }
            url = next(&url, &response.headers)?;
        }
        Err(Error::Redirect {
            host: url.host().to_owned(),
            reason: format!("more than {REDIRECTIONS} times; try again later"),
        })
    }

    fn ask(
        &self,
        url: &Url,
        part: Option<(u64, u64)>,
        deadline: Instant,
        watch: &Watch<'_>,
    ) -> Result<Response, Error> {
        watch.check()?;
        let named = self.settings.proxies.on_the_way_to(url);
        let way = Way {
            host: url.host().to_owned(),
            proxy: named.map(|named| named.variable),
        };
        let mut request = Request::get(url.to_string());
        if let Some((first, last)) = part {
            request = request.header("range", format!("bytes={first}-{last}"));
        }
        // The endpoint's own host and nobody else, whoever redirects where.
        if let Some(token) = &self.settings.token
            && url.is_of_same_origin(&self.settings.endpoint)
        {
            request = request.header("authorization", format!("Bearer {}", token.secret));
        }
        let request = request
            .body(())
            .map_err(|error| way.error(ureq::Error::Http(error), self.settings.waits))?;
        let proxy = named.map(|named| named.proxy.clone());
        let request = self.agent.configure_request(request).proxy(proxy).build();
        let (tell, news) = sync_channel(WAITING);
        let agent = self.agent.clone();
        let thread = thread::Builder::new().name("hub".to_owned());
        thread
            .spawn(move || speak(&agent, request, &tell))
            .map_err(|error| way.error(error.into(), self.settings.waits))?;
        let mut response = Response {
            status: 0,
            headers: HeaderMap::new(),
            url: url.clone(),
            way,
            news,
            deadline,
            silence: self.settings.waits.silence,
        };
        // Before the first byte there is a connection to be made.
        let patience = self
            .settings
            .waits
            .connect
            .saturating_add(self.settings.waits.silence);
        match response.wait(patience, watch)? {
            News::Head(status, headers) => {
                response.status = status;
                response.headers = headers;
                Ok(response)
            }
            News::Failed(error) => Err(response.way.error(error, self.settings.waits)),
            News::Bytes(_) | News::End => Err(response.late("did not answer", patience)),
        }
    }
}

/// Where a redirection leads, if it may be followed.
fn next(from: &Url, headers: &HeaderMap) -> Result<Url, Error> {
    let refused = |reason: String| Error::Redirect {
        host: from.host().to_owned(),
        reason,
    };
    let location = headers
        .get("location")
        .and_then(|value| value.to_str().ok());
    let location = location.ok_or_else(|| refused("without saying where to".to_owned()))?;
    let to = from
        .join(location)
        .ok_or_else(|| refused("to something that is no web address".to_owned()))?;
    if from.is_secure() && !to.is_secure() {
        return Err(refused(format!(
            "to {} without encryption, which is not followed; a proxy on the way may be at fault",
            to.host()
        )));
    }
    Ok(to)
}

/// On a thread of its own: until the body ends or nobody listens any more.
fn speak(agent: &ureq::Agent, request: Request<()>, tell: &SyncSender<News>) {
    let response = match agent.run(request) {
        Ok(response) => response,
        Err(error) => {
            tell.send(News::Failed(error)).ok();
            return;
        }
    };
    let (head, body) = response.into_parts();
    if tell
        .send(News::Head(head.status.as_u16(), head.headers))
        .is_err()
    {
        return;
    }
    let mut body = body.into_reader();
    loop {
        let mut chunk = vec![0; CHUNK];
        let news = match body.read(&mut chunk) {
            Ok(0) => News::End,
            Ok(count) => {
                chunk.truncate(count);
                News::Bytes(chunk)
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => News::Failed(error.into()),
        };
        let last = !matches!(news, News::Bytes(_));
        if tell.send(news).is_err() || last {
            return;
        }
    }
}

impl Response {
    fn wait(&self, patience: Duration, watch: &Watch<'_>) -> Result<News, Error> {
        let since = Instant::now();
        loop {
            watch.check()?;
            match self.news.recv_timeout(TICK) {
                Ok(news) => return Ok(news),
                // The thread ended without a word, which it does not.
                Err(RecvTimeoutError::Disconnected) => return Ok(News::End),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if since.elapsed() > patience {
                return Err(self.late("did not answer", patience));
            }
            self.check_deadline()?;
        }
    }

    fn check_deadline(&self) -> Result<(), Error> {
        if Instant::now() > self.deadline {
            return Err(Error::Timeout {
                host: self.way.host.clone(),
                what: "did not send everything",
                seconds: failure::seconds(self.silence),
            });
        }
        Ok(())
    }

    fn late(&self, what: &'static str, patience: Duration) -> Error {
        Error::Timeout {
            host: self.way.host.clone(),
            what,
            seconds: failure::seconds(patience),
        }
    }

    /// A header's text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// How the body is compressed, though every request forbids it (`accept-encoding: identity`).
    pub(super) fn compressed(&self) -> Option<&str> {
        self.header("content-encoding")
            .filter(|encoding| *encoding != "identity")
    }

    /// The next bytes of the body; `None` at its end.
    pub(super) fn chunk(&mut self, watch: &Watch<'_>) -> Result<Option<Vec<u8>>, Ended> {
        match self.wait(self.silence, watch).map_err(Ended::Failed)? {
            News::Bytes(bytes) => {
                // An endless drip is no silence.
                self.check_deadline().map_err(Ended::Failed)?;
                Ok(Some(bytes))
            }
            News::End | News::Head(..) => Ok(None),
            News::Failed(error) if failure::is_cut(&error) => Err(Ended::Cut),
            News::Failed(error) => {
                let waits = super::Waits {
                    silence: self.silence,
                    ..super::Waits::default()
                };
                Err(Ended::Failed(self.way.error(error, waits)))
            }
        }
    }

    /// The whole body, of at most so many bytes.
    pub(super) fn whole(
        mut self,
        what: &str,
        limit: u64,
        watch: &Watch<'_>,
    ) -> Result<Vec<u8>, Error> {
        let mut body: Vec<u8> = Vec::new();
        let too_large = || Error::TooLarge {
            what: what.to_owned(),
            limit,
        };
        let said = self
            .header("content-length")
            .and_then(|length| length.parse::<u64>().ok());
        if said.is_some_and(|said| said > limit) {
            return Err(too_large());
        }
        loop {
            match self.chunk(watch) {
                Ok(Some(chunk)) => {
                    watch.tell(what, chunk.len() as u64);
                    body.extend_from_slice(&chunk);
                }
                Ok(None) => return Ok(body),
                Err(Ended::Failed(error)) => return Err(error),
                Err(Ended::Cut) => {
                    return Err(Error::CutOff {
                        host: self.way.host,
                        what: what.to_owned(),
                        got: body.len() as u64,
                        expected: said.unwrap_or_default(),
                    });
                }
            }
            if body.len() as u64 > limit {
                return Err(too_large());
            }
        }
    }
}

/// Why a body ended early.
pub(super) enum Ended {
    /// The connection broke.
    Cut,
    /// Anything else.
    Failed(Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirection_keeps_its_encryption() {
        let check = |location: Option<&str>, expected: Result<&str, &str>| {
            let mut headers = HeaderMap::new();
            if let Some(location) = location {
                headers.insert("location", location.parse().unwrap());
            }
            let found = next(&Url::parse("https://hub.co/a/b").unwrap(), &headers);
            match (found, expected) {
                (Ok(url), Ok(expected)) => assert_eq!(url.to_string(), expected),
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (found, _) => panic!("{location:?}: {found:?}"),
            }
        };
        check(Some("https://cdn.co/x"), Ok("https://cdn.co/x"));
        check(Some("/c"), Ok("https://hub.co/c"));
        check(Some("http://cdn.co/x"), Err("without encryption"));
        check(Some("file:///x"), Err("no web address"));
        check(None, Err("without saying where to"));
    }
}
