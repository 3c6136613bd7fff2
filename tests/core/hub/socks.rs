//! Proxies of another kind: SOCKS (RFC 1928).

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::server::Reply;
use super::{bytes, hub, list, read, says, serving};

/// A SOCKS5 proxy that leads every host to one port of this computer, or refuses; what hosts it was asked for.
fn socks(port: Option<u16>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let hosts = Arc::<Mutex<Vec<String>>>::default();
    let asked = Arc::clone(&hosts);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let asked = Arc::clone(&asked);
            thread::spawn(move || serve(stream, port, &asked));
        }
    });
    (address, hosts)
}

fn serve(mut stream: TcpStream, port: Option<u16>, asked: &Mutex<Vec<String>>) -> Option<()> {
    let mut read = |count: usize| {
        let mut bytes = vec![0; count];
        stream.read_exact(&mut bytes).ok()?;
        Some(bytes)
    };
    let methods = read(2)?[1];
    read(usize::from(methods))?;
    stream.write_all(&[5, 0]).ok()?;
    let mut read = |count: usize| {
        let mut bytes = vec![0; count];
        stream.read_exact(&mut bytes).ok()?;
        Some(bytes)
    };
    // A name (3), not an address: the proxy looks it up.
    let kind = read(4)?[3];
    let length = if kind == 3 {
        usize::from(read(1)?[0])
    } else {
        4
    };
    let host = read(length)?;
    read(2)?;
    asked
        .lock()
        .unwrap()
        .push(String::from_utf8_lossy(&host).into_owned());
    let Some(port) = port else {
        // Not allowed by ruleset.
        stream.write_all(&[5, 2, 0, 1, 0, 0, 0, 0, 0, 0]).ok()?;
        return None;
    };
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).ok()?;
    let mut other = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let (mut from, mut to) = (stream.try_clone().ok()?, other.try_clone().ok()?);
    thread::spawn(move || std::io::copy(&mut from, &mut to));
    std::io::copy(&mut other, &mut stream).ok();
    stream.shutdown(Shutdown::Both).ok()
}

#[test]
fn a_socks_proxy_is_used_as_any_other() {
    let server = serving(bytes(100), Reply::part);
    for scheme in ["socks5h", "socks5"] {
        let (address, hosts) = socks(Some(server.port));
        let proxy = format!("{scheme}://{address}");
        // `socks5` looks names up here, `socks5h` there.
        let endpoint = match scheme {
            "socks5" => "http://localhost:1",
            _ => "http://hub.invalid",
        };
        let through = [("HF_ENDPOINT", endpoint), ("ALL_PROXY", proxy.as_str())];
        assert_eq!(read(&hub(&server, &through), 0, 9).unwrap(), bytes(9));
        let hosts = hosts.lock().unwrap();
        assert_eq!(hosts.len(), 2, "{hosts:?}");
        if scheme == "socks5h" {
            assert_eq!(hosts[0], "hub.invalid");
        }
    }
}

#[test]
fn a_socks_proxy_that_refuses_is_named() {
    let server = serving(bytes(100), Reply::part);
    let (address, _) = socks(None);
    let proxy = format!("socks5h://{address}");
    let through = [
        ("HF_ENDPOINT", "http://hub.invalid"),
        ("ALL_PROXY", proxy.as_str()),
    ];
    let error = list(&hub(&server, &through)).unwrap_err();
    says(&error, &["the proxy of ALL_PROXY", "hub.invalid"]);
    assert_eq!(server.connections(), 0);
}
