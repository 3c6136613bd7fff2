//! `plimsoll models`: presets, and with `--local` what is on this computer.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use plimsoll::source::library::{self, Broken, Found, Library, Places};
use plimsoll::table::Table;
use serde_json::{Value, json};

use super::answer::{one_line, print_json, print_plain};
use super::{Answer, Failure, catalog, save};

/// Options of the list of models.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: catalog::Options,
    /// List the models on this computer: what Hugging Face, llama.cpp, Ollama, LM Studio, Jan and GPT4All keep.
    #[arg(long)]
    local: bool,
    /// Look for models in this folder too (repeatable; implies --local).
    #[arg(long = "folder", value_name = "DIR")]
    folders: Vec<PathBuf>,
}

/// What can be done with a model.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Keep a model as a preset: its configuration, and where its files are.
    Save(save::Options),
}

/// Lists models, or saves one.
pub(super) fn run(options: &Options) -> Result<Answer, Failure> {
    if let Some(Command::Save(options)) = &options.command {
        return save::run(options);
    }
    if !options.local && options.folders.is_empty() {
        return catalog::models(&options.list);
    }
    let folders = options.folders.iter().map(std::path::absolute);
    let folders: Vec<PathBuf> = folders.collect::<Result<_, _>>().map_err(Failure::input)?;
    let library = library::scan(&Places::of_user(), &folders, &mut |_| {
        ControlFlow::Continue(())
    });
    let models = library.models.iter().filter(|model| {
        let words = [
            &model.title,
            model.repository.as_deref().unwrap_or_default(),
            model.quant.as_deref().unwrap_or_default(),
            model.role.name(),
            &shelves(model),
        ]
        .join(" ");
        options.list.matches(&words)
    });
    let mut models: Vec<&Found> = models.collect();
    models.sort_by_cached_key(|model| (model.title.to_lowercase(), model.path.clone()));
    if options.list.json {
        let broken: Vec<Value> = library.broken.iter().map(broken).collect();
        let models: Vec<Value> = models.iter().map(|model| found(model)).collect();
        print_json(&json!({
            "schema": 1,
            "local": models,
            "broken": broken,
            "complete": !library.stopped,
        }))?;
        return Ok(Answer::Yes);
    }
    print_plain(&text(&library, &models))?;
    for broken in &library.broken {
        let (path, reason) = (broken.path.display(), &broken.reason);
        log::warn!("{}", one_line(&format!("{reason}: {path}")));
    }
    Ok(Answer::Yes)
}

fn text(library: &Library, models: &[&Found]) -> String {
    let mut table = Table::new(&["title", "what", "form", ">size", "where", "path"]);
    for model in models {
        table.row([
            one_line(&model.title),
            model.role.name().to_owned(),
            one_line(model.quant.as_deref().unwrap_or_default()),
            model.bytes.to_string(),
            shelves(model),
            one_line(&model.path.to_string_lossy()),
        ]);
    }
    let mut text = match (models.is_empty(), library.models.len()) {
        (true, 0) => "no models found on this computer\n".to_owned(),
        (true, 1) => "the model found on this computer has not all of these words\n".to_owned(),
        (true, count) => {
            format!("of {count} models found on this computer none has all of these words\n")
        }
        (false, _) => table.text(),
    };
    if library.stopped {
        text.push_str("there is more than can be listed\n");
    }
    text
}

/// The programs that keep a model, as the column names them.
fn shelves(model: &Found) -> String {
    let mut shelves: Vec<&str> = model.places.iter().map(|place| place.library).collect();
    shelves.dedup();
    shelves.join(", ")
}

fn found(model: &Found) -> Value {
    let places = model.places.iter();
    let places =
        places.map(|place| json!({ "library": place.library, "path": text_of(&place.path) }));
    let files = model.files.iter().map(|file| text_of(file));
    json!({
        "title": model.title,
        "what": model.role.name(),
        "kind": model.kind.name(),
        "path": text_of(&model.path),
        "files": files.collect::<Vec<_>>(),
        "bytes": model.bytes,
        "quant": model.quant,
        "projector": model.projector.as_deref().map(text_of),
        "repository": model.repository,
        "revision": model.revision,
        "places": places.collect::<Vec<_>>(),
    })
}

fn text_of(path: &Path) -> Cow<'_, str> {
    path.to_string_lossy()
}

fn broken(broken: &Broken) -> Value {
    json!({
        "library": broken.library,
        "path": text_of(&broken.path),
        "reason": broken.reason,
    })
}
