//! Which files of a folder a model or an adapter is read from, and why that cannot be.

use super::adapter::{self, is_of_adapter};
use super::error::Error;
use super::files as copies;
use super::{CONFIG, MODEL_OPT, PARAMS, description, is_adapter, of_files};
use crate::source::access::{Collection, Entry};

/// The files that a model is read from: what describes it, and its weights. Of a folder all of them, or those that one
/// file in it stands for; where the weights are not all there, every file that looks like weights.
///
/// # Errors
/// The list cannot be had.
pub fn files(collection: &dyn Collection, file: Option<&str>) -> std::io::Result<Vec<Entry>> {
    let mut entries = collection.entries()?;
    let adapter = match file {
        Some(file) => adapter::is_of_adapter(file, &entries),
        None => is_adapter(&entries),
    };
    if adapter {
        entries.retain(|entry| adapter::is_of_adapter(&entry.name, &[]));
        return Ok(entries);
    }
    // A file that describes stands for its folder.
    let file = file.filter(|file| is_weights(file));
    let set = match file {
        Some(file) => copies::asked(collection, &entries, file),
        None => copies::choose(collection, &entries).map(|set| set.map(copies::Asked::Copy)),
    };
    let (described, set) = match set {
        Ok(Some(copies::Asked::Alone(set))) => (false, Some(set)),
        Ok(Some(copies::Asked::Copy(set))) => (true, Some(set)),
        Ok(None) => (true, None),
        Err(_) => {
            entries.retain(|entry| is_description(&entry.name) || is_weights(&entry.name));
            return Ok(entries);
        }
    };
    entries.retain(|entry| {
        let own = set.as_ref().is_some_and(|set| set.files.contains(entry));
        own || described && is_description(&entry.name)
    });
    Ok(entries)
}

fn is_description(name: &str) -> bool {
    [CONFIG, PARAMS, MODEL_OPT].contains(&name) || name.ends_with(".index.json")
}

/// The files with the weights of a model or an adapter.
///
/// # Errors
/// Why they are not all there.
pub fn weights_of(collection: &dyn Collection) -> Result<Vec<Entry>, Error> {
    let mut entries = collection.entries().map_err(Error::Listing)?;
    if is_adapter(&entries) {
        entries.retain(|entry| is_of_adapter(&entry.name, &[]) && entry.name != adapter::CONFIG);
        return Ok(entries);
    }
    let set = copies::choose(collection, &entries)?;
    Ok(set.map(|set| set.files).unwrap_or_default())
}

/// Why the weights of a folder cannot be used, where they cannot.
pub fn flaw(collection: &dyn Collection) -> Option<String> {
    let entries = collection.entries().ok()?;
    let read = || -> Result<(), Error> {
        let (_, config) = description(collection, &entries)?;
        let set = copies::choose(collection, &entries)?;
        set.map(|set| of_files(collection, set, &config))
            .transpose()?;
        Ok(())
    };
    read().err().map(|error| error.to_string())
}

/// Has a file the ending of weights?
pub fn is_weights(name: &str) -> bool {
    const ENDINGS: [&str; 3] = [".safetensors", ".bin", ".pth"];
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}
