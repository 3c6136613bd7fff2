//! A server that behaves like the hub, or as badly as a test wants.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// "GET" or "CONNECT".
    pub(crate) method: String,
    /// With its query.
    pub(crate) path: String,
    /// By names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// First and last byte asked for.
    pub(crate) fn range(&self) -> Option<(usize, usize)> {
        let (first, last) = self
            .header("range")?
            .strip_prefix("bytes=")?
            .split_once('-')?;
        Some((first.parse().ok()?, last.parse().ok()?))
    }
}

/// What follows the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The connection is closed.
    Close,
    /// Nothing, for as long as the other side waits.
    Stall,
    /// The body again and again.
    Repeat,
    /// The body byte by byte, some twenty in a second.
    Drip,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// `Content-Length`, where it is not the body's.
    pub(crate) length: Option<u64>,
    pub(crate) then: Then,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            length: None,
            then: Then::Close,
        }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// A part of a file, as asked for.
    pub(crate) fn part(asked: &Asked, file: &[u8]) -> Self {
        let Some((first, last)) = asked.range() else {
            return Self::new(200, file);
        };
        let last = last.min(file.len() - 1);
        Self::new(206, &file[first..=last]).with(
            "content-range",
            format!("bytes {first}-{last}/{}", file.len()),
        )
    }

    fn write(&self, stream: &mut TcpStream, sent: &AtomicUsize) -> std::io::Result<()> {
        let length = self.length.unwrap_or(self.body.len() as u64);
        let mut head = format!("HTTP/1.1 {} Answer\r\nconnection: close\r\n", self.status);
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        if self.then != Then::Repeat || self.length.is_some() {
            write!(head, "content-length: {length}\r\n").unwrap();
        }
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        if self.then == Then::Drip {
            stream.set_read_timeout(Some(Duration::from_millis(50)))?;
            for byte in &self.body {
                stream.write_all(&[*byte])?;
                // Ends when the other side goes away; until then there is nothing to read.
                if stream.read(&mut [0; 1]).is_ok() {
                    break;
                }
            }
            return Ok(());
        }
        loop {
            stream.write_all(&self.body)?;
            sent.fetch_add(self.body.len(), Ordering::Relaxed);
            match self.then {
                Then::Repeat => {}
                Then::Close | Then::Drip => return Ok(()),
                // Ends when the other side goes away.
                Then::Stall => return stream.read(&mut [0; 1]).map(|_| ()),
            }
        }
    }
}

/// Listens on a port of its own until the process ends.
pub(crate) struct Server {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<AtomicUsize>,
    sent: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn start(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            asked: Arc::default(),
            connections: Arc::default(),
            sent: Arc::default(),
        };
        let (asked, connections, sent) = (
            Arc::clone(&server.asked),
            Arc::clone(&server.connections),
            Arc::clone(&server.sent),
        );
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                connections.fetch_add(1, Ordering::Relaxed);
                let (answer, asked, sent) =
                    (Arc::clone(&answer), Arc::clone(&asked), Arc::clone(&sent));
                thread::spawn(move || serve(stream, answer.as_ref(), &asked, &sent));
            }
        });
        server
    }

    /// Its address as one of this computer's names.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Every request so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Bytes of bodies that were sent.
    pub(crate) fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }
}

/// One request, or two where the first asks for a tunnel: the server is then at both of its ends.
fn serve(
    mut stream: TcpStream,
    answer: &(impl Fn(&Asked) -> Reply + ?Sized),
    log: &Mutex<Vec<Asked>>,
    sent: &AtomicUsize,
) {
    loop {
        let Some(asked) = request(&stream) else {
            return;
        };
        log.lock().unwrap().push(asked.clone());
        let reply = answer(&asked);
        let tunnel = asked.method == "CONNECT" && reply.status == 200;
        if tunnel {
            stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").unwrap();
            continue;
        }
        // Whoever asked may have gone.
        reply.write(&mut stream, sent).ok();
        return;
    }
}

fn request(stream: &TcpStream) -> Option<Asked> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers = lines
        .map_while(|line| line.ok().filter(|line| !line.is_empty()))
        .filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        });
    Some(Asked {
        method,
        path,
        headers: headers.collect(),
    })
}
