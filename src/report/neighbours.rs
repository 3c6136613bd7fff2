//! Notes on what plans that run beside each other share beyond memory.

use super::{Beside, Request};
use crate::projection::Note;

/// Two servers that listen at one address: the second does not start. Plans of one Ollama are served by the same.
pub(super) fn same_port(request: &Request<'_>) -> Option<Note> {
    let Request { engine, launch, .. } = *request;
    let port = launch.port.unwrap_or(engine.usual_port());
    let apart = |other: &Beside| match (&launch.host, &other.host) {
        (Some(own), Some(host)) => own != host,
        _ => false,
    };
    let shares = |other: &&Beside| {
        other.port == port
            && !apart(other)
            && !(other.engine == engine.id() && engine.serves_many())
    };
    let other = request.beside.iter().find(shares)?;
    Some(Note::warning(
        "port-taken",
        format!(
            "{} listens on port {port} too, so that only one of the two starts: set `port` under [launch] in one of the plans.",
            other.plan
        ),
    ))
}
