//! Models of a hub: asked for by name, listed, opened; nothing before that.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use eframe::egui::{Key, Role, Theme};
use plimsoll::source::hub::{Hub, Settings};

use crate::desk::{Belongings, Desk, detected};
use crate::model_files::{CONFIG, safetensors};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn files() -> [(&'static str, Vec<u8>); 2] {
    [
        ("config.json", CONFIG.as_bytes().to_vec()),
        ("model.safetensors", safetensors()),
    ]
}

/// An endpoint with one repository, `o/r`, and how often it was asked.
fn server() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            count.fetch_add(1, Ordering::Relaxed);
            std::thread::spawn(move || answer(stream));
        }
    });
    (url, asked)
}

fn answer(mut stream: TcpStream) {
    let lines: Vec<String> = BufReader::new(&stream)
        .lines()
        .map_while(|line| line.ok().filter(|line| !line.is_empty()))
        .collect();
    let path = lines[0].split(' ').nth(1).unwrap().to_owned();
    let range = lines.iter().find_map(|line| {
        let line = line.to_ascii_lowercase();
        let (first, last) = line.strip_prefix("range: bytes=")?.split_once('-')?;
        Some((first.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
    });
    let (mut status, mut more, mut body) = (404, String::new(), b"Not Found".to_vec());
    if path.contains("/api/models/o/r/revision/") {
        let list = files()
            .map(|(name, file)| format!("{{\"rfilename\":\"{name}\",\"size\":{}}}", file.len()));
        let list = list.join(",");
        status = 200;
        "content-type: application/json\r\n".clone_into(&mut more);
        body = format!("{{\"id\":\"o/r\",\"sha\":\"{COMMIT}\",\"siblings\":[{list}]}}").into();
    } else if let Some((_, file)) = files()
        .into_iter()
        .find(|(name, _)| path.ends_with(&format!("/o/r/resolve/{COMMIT}/{name}")))
    {
        let (first, last) = range.unwrap_or((0, file.len() - 1));
        let last = last.min(file.len() - 1);
        status = 206;
        more = format!("content-range: bytes {first}-{last}/{}\r\n", file.len());
        body = file[first..=last].to_vec();
    }
    let head = format!(
        "HTTP/1.1 {status} Answer\r\nconnection: close\r\n{more}content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok();
    stream.write_all(&body).ok();
}

fn desk(url: String) -> Desk {
    let wanted = Mutex::new(url);
    let own = Belongings {
        hub: Some(Arc::new(move || {
            let url = wanted.lock().unwrap().clone();
            let settings = Settings::of(&|name| (name == "HF_ENDPOINT").then(|| url.clone()))?;
            Ok(Hub::new(settings, None))
        })),
        ..Belongings::default()
    };
    let machine = detected("1x-rtx-4090");
    Desk::with(machine, None, Theme::Dark, [1440.0, 900.0], own)
}

#[test]
fn a_repository_is_fetched_by_name_and_not_before() {
    let (url, asked) = server();
    let mut desk = desk(url);
    desk.click(Role::ComboBox, "Model");
    desk.click(Role::RadioButton, "From a hub");
    desk.sees("Nothing is read over the network until you ask");
    desk.type_text("o/r");
    assert_eq!(asked.load(Ordering::Relaxed), 0);

    desk.key(Key::Enter);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    desk.sees("o/r at 0123456");
    desk.sees("safetensors");
    assert_eq!(desk.app().document.plan.model.repo, None);

    desk.key(Key::Enter);
    let model = &desk.app().document.plan.model;
    assert_eq!(model.repo.as_deref(), Some("o/r"));
    assert_eq!(model.revision.as_deref(), Some(COMMIT));
    desk.sees("28 layers");
}

/// The list of models that may draft has shelves of its own.
#[test]
fn the_hub_can_be_chosen_with_a_model_on_the_desk() {
    let (url, asked) = server();
    let mut desk = desk(url);
    desk.search("Model", "qwen3 8b");
    desk.click(Role::ComboBox, "Model");
    desk.click(Role::RadioButton, "From a hub");
    desk.sees("Nothing is read over the network until you ask");
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[test]
fn what_stood_in_the_way_is_said_with_what_to_do() {
    let (url, _) = server();
    let mut desk = desk(url);
    desk.click(Role::ComboBox, "Model");
    desk.click(Role::RadioButton, "From a hub");
    desk.type_text("no/such");
    desk.click(Role::Button, "Fetch");
    desk.sees("no/such");
    desk.sees("127.0.0.1");
    assert_eq!(desk.app().document.plan.model.repo, None);
}
