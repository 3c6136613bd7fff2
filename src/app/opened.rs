//! Files of the user, read and written beside the window.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};

use crate::catalog::models::ModelCatalog;
use crate::export;
use crate::hardware::detection::Detection;
use crate::hardware::diagnostic;
use crate::inspect::adapter_line;
use crate::model::Model;
use crate::plan::{MAX_BYTES, ModelRef, Plan};
use crate::source;
use crate::source::checkpoint;
use crate::source::gguf::Kind;
use crate::store::{self, Overwrite};

/// Largest report about a machine that is read. A real one has some ten thousand bytes.
const MAX_REPORT: u64 = 1 << 24;

/// What is said of a log.
const NO_LOGS: &str =
    "this is a log, and reading logs is not there yet; open the plan or the model instead";

/// What lay at a path.
pub(crate) enum Opened {
    /// A plan.
    Plan(Box<Plan>),
    /// A report about a machine.
    Report(Box<Detection>),
    /// A model that can be read.
    Model,
    /// A file that goes with a model.
    Part(Part),
}

/// A file that goes with a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Eyes or ears.
    Projector,
    /// Low-rank changes, and how a plan describes them, where that is known.
    Adapter(Option<String>),
    /// A direction that steers.
    ControlVector,
}

/// What is written to a file.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// The plan.
    Plan(Box<Plan>),
    /// The launch.
    Launch(export::File),
    /// What was found out about the machine.
    Report(Arc<Detection>),
}

/// Opens whatever lies at a path, going by what it holds rather than by what it is called.
///
/// # Errors
/// What stood in the way, in words for a person.
pub(crate) fn open(path: &Path) -> anyhow::Result<Opened> {
    if path.is_dir() || is_model(path)? {
        if let Some(part) = part(path)? {
            return Ok(Opened::Part(part));
        }
        let reference = ModelRef {
            path: Some(path.display().to_string()),
            ..ModelRef::default()
        };
        model(&reference)?;
        return Ok(Opened::Model);
    }
    let name = path.display();
    if is_named(path, "log") {
        bail!("{NO_LOGS}: {name}");
    }
    let text = store::read(path, MAX_REPORT)?;
    match diagnostic::from_json(&text) {
        Ok(detection) => return Ok(Opened::Report(Box::new(detection))),
        // It is a report, but not one that this build can use.
        Err(error) if text.trim_start().starts_with('{') => {
            return Err(error).with_context(|| format!("this is no report: {name}"));
        }
        Err(_) => {}
    }
    if is_log(&text) {
        bail!("{NO_LOGS}: {name}");
    }
    if text.len() as u64 > MAX_BYTES {
        bail!("this is neither a plan, nor a model, nor a report about a machine: {name}");
    }
    let plan = Plan::from_toml(&text).with_context(|| format!("this is no plan: {name}"))?;
    Ok(Opened::Plan(Box::new(plan)))
}

/// What goes with a model, where the file is such a thing.
fn part(path: &Path) -> anyhow::Result<Option<Part>> {
    if !path.is_file() || !source::gguf::is_meant(path) {
        return Ok(None);
    }
    let file = source::gguf::open(path)?;
    Ok(match file.kind {
        Kind::Projector => Some(Part::Projector),
        Kind::Adapter => Some(Part::Adapter(adapter_line(&file.checkpoint))),
        Kind::ControlVector => Some(Part::ControlVector),
        // The reader of models says what the others are.
        Kind::Model | Kind::ImportanceMatrix | Kind::Vocabulary | Kind::Other => None,
    })
}

fn is_named(path: &Path, ending: &str) -> bool {
    path.extension()
        .is_some_and(|own| own.eq_ignore_ascii_case(ending))
}

/// Does a text look like what engines say while they run?
fn is_log(text: &str) -> bool {
    const BEGINNINGS: [&str; 8] = [
        "llama_",
        "ggml_",
        "load_tensors:",
        "srv  ",
        "main: ",
        "INFO ",
        "Traceback (most recent call last)",
        "build: ",
    ];
    text.lines()
        .take(200)
        .any(|line| BEGINNINGS.iter().any(|start| line.starts_with(start)))
}

/// Does it begin like a model file, or is it a configuration?
fn is_model(path: &Path) -> anyhow::Result<bool> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // By its ending even where the contents are something else: it is meant as a model.
    let gguf = source::gguf::is_named(path);
    let described = [checkpoint::CONFIG, checkpoint::PARAMS, checkpoint::ADAPTER];
    if described.contains(&name.as_ref()) || name.ends_with(".safetensors") || gguf && path.exists()
    {
        return Ok(true);
    }
    // Opening a pipe would wait for somebody to write; reading it says so.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Ok(false);
    }
    // Tells a file that cannot be read from one of another kind.
    File::open(path).with_context(|| format!("could not open: {}", path.display()))?;
    Ok(store::begins_with(path, &source::gguf::MAGIC))
}

/// Reads the model that a plan names by its path.
///
/// # Errors
/// What stood in the way, in words for a person.
pub(crate) fn model(reference: &ModelRef) -> anyhow::Result<Model> {
    // A path needs no catalogue.
    Ok(source::model(reference, &ModelCatalog::default())?)
}

/// Writes a plan, a launch or a report.
///
/// # Errors
/// What stood in the way; the file is then as it was.
pub(crate) fn save(
    content: &Content,
    path: &Path,
    overwrite: Overwrite,
) -> Result<(), store::Error> {
    match content {
        Content::Plan(plan) => {
            let text = plan.to_toml().map_err(|error| store::Error::Write {
                path: path.to_owned(),
                cause: std::io::Error::other(error),
            })?;
            store::save(path, &text, overwrite)
        }
        Content::Launch(file) => store::save_export(path, file, overwrite),
        Content::Report(detection) => store::save(path, &diagnostic::to_json(detection), overwrite),
    }
}
