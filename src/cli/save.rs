//! `plimsoll models save`: a model kept as a preset of the user's.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use plimsoll::catalog::models::{ModelCatalog, Preset, SaveError};
use plimsoll::plan::{ModelRef, Plan};
use plimsoll::source;
use plimsoll::store::{self, Folders, Overwrite};
use serde_json::json;

use super::answer::{print_json, print_plain};
use super::opened::{model_catalog, no_model};
use super::{Answer, Failure};

/// Options of saving a preset.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// A plan, or a model: a GGUF file, a folder with config.json, or a preset's id.
    source: String,
    /// What to call the preset in plans.
    #[arg(long, value_name = "NAME")]
    id: String,
    /// Replace a preset of this id.
    #[arg(long)]
    force: bool,
    /// Keep its configuration alone, and not where its files are.
    #[arg(long)]
    without_path: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Saves a model as a preset of the user's.
pub(super) fn run(options: &Options) -> Result<Answer, Failure> {
    let catalog = model_catalog();
    let reference = reference(&options.source, &catalog)?;
    let model = source::model(&reference, &catalog).map_err(no_model)?;
    let path = reference.path.as_deref().filter(|_| !options.without_path);
    let path = path
        .map(std::path::absolute)
        .transpose()
        .map_err(Failure::io)?;
    let mut preset = Preset::of_user(&options.id, &model, path.as_deref()).map_err(failure)?;
    match &reference.file {
        Some(_) => preset.entry.gguf_repo.clone_from(&reference.repo),
        None => preset.entry.hf_repo.clone_from(&reference.repo),
    }
    let folder = Folders::of_user().map_err(Failure::io)?.presets();
    let overwrite = if options.force {
        Overwrite::Replace
    } else {
        Overwrite::Refuse
    };
    let saved = catalog.save(&folder, &preset, overwrite).map_err(failure)?;
    if options.json {
        print_json(&json!({ "schema": 1, "id": options.id, "path": saved.to_string_lossy() }))?;
    } else {
        print_plain(&format!("saved {}\n", saved.display()))?;
    }
    Ok(Answer::Yes)
}

/// What is to be saved: the model of a plan, or a model itself.
fn reference(source: &str, catalog: &ModelCatalog) -> Result<ModelRef, Failure> {
    /// As plans are read everywhere.
    const PLAN_LIMIT: u64 = 1 << 20;
    let path = Path::new(source);
    let is_plan = path.extension().is_some_and(|ending| ending == "toml");
    if is_plan && path.is_file() {
        let text = store::read(path, PLAN_LIMIT).map_err(Failure::io)?;
        let plan = Plan::from_toml(&text).with_context(|| source.to_owned());
        let folder = path.parent().unwrap_or(Path::new(""));
        return Ok(source::placed(&plan.map_err(Failure::Input)?.model, folder));
    }
    let mut reference = ModelRef::default();
    if path.exists() {
        reference.path = Some(source.to_owned());
    } else if catalog.find(source).is_ok() {
        reference.preset = Some(source.to_owned());
    } else {
        return Err(Failure::input(anyhow!(
            "there is no plan, model file, folder or preset `{source}`"
        )));
    }
    Ok(reference)
}

fn failure(error: SaveError) -> Failure {
    match error {
        SaveError::Store(error) => Failure::io(error),
        SaveError::Taken { id } => Failure::input(anyhow!(
            "there is a model preset `{id}` already; choose another id, or replace it with --force"
        )),
        other => Failure::input(other),
    }
}
