//! `plimsoll inspect`: what a model is.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::anyhow;
use plimsoll::catalog::models::ModelCatalog;
use plimsoll::inspect::{Certainty, Inspection, Share};
use plimsoll::model::{Checkpoint, FileTensor, Model};
use plimsoll::plan::ModelRef;
use plimsoll::projection::grouped;
use plimsoll::source::access::Entry;
use plimsoll::source::{self, Part};
use plimsoll::table::Table;
use plimsoll::units::Bytes;
use serde_json::{Value, json};

use super::answer::{one_line, print_json, print_plain};
use super::opened::{model_catalog, no_model};
use super::remote::{self, Fetched};
use super::{Answer, Failure};

/// Options of `inspect`.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// A model file, a folder with a model, a preset (`plimsoll models` lists them), or a repository on Hugging Face as
    /// owner/name[@revision][:Q4_K_M], of which headers are read over the network.
    model: String,
    /// List every tensor.
    #[arg(long)]
    full: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Prints what a model is.
pub(super) fn run(options: &Options) -> Result<Answer, Failure> {
    let catalog = model_catalog();
    let path = Path::new(&options.model);
    if let Some(address) = remote::address(&options.model, &catalog) {
        return match remote::fetch(&address)? {
            Fetched::Several(listing) => remote::choices(&listing, options.json),
            Fetched::Part { part, files } => show_part(options, part, files),
            Fetched::Model {
                model,
                files,
                reference,
            } => {
                show_model(options, &model, files)?;
                if !options.json {
                    print_plain(&remote::plan(&reference))?;
                }
                Ok(Answer::Yes)
            }
        };
    }
    let (reference, files) = reference(&options.model, path, &catalog)?;
    if reference.path.is_some()
        && let Some(part) = source::part(path).map_err(no_model)?
    {
        return show_part(options, part, files);
    }
    let model = source::model(&reference, &catalog).map_err(no_model)?;
    show_model(options, &model, files)
}

fn show_part(options: &Options, part: Part, files: Vec<Entry>) -> Result<Answer, Failure> {
    match part {
        Part::Gguf(file) => {
            let inspection = Inspection::of_part(&file, files);
            show(options, &inspection, Some(&file.checkpoint))
        }
        Part::Adapter { adapter, name } => {
            let inspection = Inspection::of_adapter(&adapter, &name, files);
            show(options, &inspection, adapter.checkpoint.as_deref())
        }
    }
}

fn show_model(options: &Options, model: &Model, files: Vec<Entry>) -> Result<Answer, Failure> {
    let inspection = Inspection::new(model, files);
    show(options, &inspection, model.checkpoint.as_deref())
}

fn show(
    options: &Options,
    inspection: &Inspection,
    checkpoint: Option<&Checkpoint>,
) -> Result<Answer, Failure> {
    let tensors = checkpoint.filter(|_| options.full);
    let tensors = tensors.map(|checkpoint| checkpoint.tensors.as_slice());
    if options.json {
        print_json(&value(
            inspection,
            options.full,
            tensors.unwrap_or_default(),
        )?)?;
    } else {
        print_plain(&text(inspection, tensors.unwrap_or_default()))?;
    }
    Ok(Answer::Yes)
}

/// What is there under this name, a path before a preset: a file is what the user can point at.
fn reference(
    name: &str,
    path: &Path,
    catalog: &ModelCatalog,
) -> Result<(ModelRef, Vec<Entry>), Failure> {
    // A link that leads nowhere is there too, and its reader says where it leads.
    if path.symlink_metadata().is_ok() {
        let reference = ModelRef {
            path: Some(name.to_owned()),
            ..ModelRef::default()
        };
        return Ok((reference, source::files::of(path)));
    }
    let looks_like_path = path.components().count() > 1 || path.extension().is_some();
    if looks_like_path && catalog.find(name).is_err() {
        return Err(Failure::io(anyhow!(
            "there is no file, folder or preset `{name}`; `plimsoll models` lists the presets"
        )));
    }
    let reference = ModelRef {
        preset: Some(name.to_owned()),
        ..ModelRef::default()
    };
    Ok((reference, Vec::new()))
}

/// The inspection as JSON, every tensor with it where that is asked for.
fn value(inspection: &Inspection, full: bool, tensors: &[FileTensor]) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(inspection).map_err(Failure::input)?;
    if let Some(fields) = value.as_object_mut().filter(|_| full) {
        let tensors = tensors.iter().map(|tensor| {
            json!({
                "name": tensor.name,
                "shape": dimensions(tensor),
                "type": tensor.type_name,
                "bytes": tensor.bytes,
            })
        });
        fields.insert("tensors".to_owned(), tensors.collect());
    }
    Ok(value)
}

/// Without the ones behind the last dimension that says something.
fn dimensions(tensor: &FileTensor) -> &[u64] {
    let used = tensor.shape.iter().rposition(|size| *size != 1);
    tensor
        .shape
        .get(..=used.unwrap_or(0))
        .unwrap_or(&tensor.shape)
}

fn text(inspection: &Inspection, tensors: &[FileTensor]) -> String {
    let mut text = head(inspection);
    text.push_str(&figures(inspection));
    text.push_str(&layers(inspection));
    text.push_str(&shares("kind", &inspection.by_kind));
    text.push_str(&shares("type", &inspection.by_type));
    if !inspection.files.is_empty() {
        let mut table = Table::new(&["file", ">GiB"]);
        for file in &inspection.files {
            table.row([one_line(&file.name), gib(Bytes::new(file.bytes))]);
        }
        text.push_str(&section(&table));
    }
    if !tensors.is_empty() {
        let mut table = Table::new(&["tensor", "shape", "type", ">bytes"]);
        for tensor in tensors {
            let shape: Vec<String> = dimensions(tensor).iter().map(u64::to_string).collect();
            table.row([
                one_line(&tensor.name),
                shape.join(" × "),
                tensor.type_name.to_string(),
                grouped(tensor.bytes.get()),
            ]);
        }
        text.push_str(&section(&table));
    }
    if !inspection.assumptions.is_empty() {
        text.push('\n');
    }
    for assumption in &inspection.assumptions {
        line(&mut text, format_args!("assumed: {assumption}"));
    }
    text
}

/// Who it is, how large it is, and how sure that is.
fn head(inspection: &Inspection) -> String {
    let mut text = String::new();
    let names = [
        Some(inspection.model_type.as_str()),
        inspection.wrapper_type.as_deref(),
        Some(inspection.architecture.as_str()),
    ];
    let names: Vec<&str> = names
        .into_iter()
        .flatten()
        .filter(|name| !name.is_empty())
        .collect();
    let names = [inspection.name.clone(), names.join(", ")];
    let names = names.iter().filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(|name| one_line(name)).collect();
    line(&mut text, format_args!("{}", names.join(" · ")));
    match inspection.what {
        // How many of them a token uses is said nowhere.
        "model" if inspection.certainty == Certainty::Weights => line(
            &mut text,
            format_args!("{} parameters", billions(inspection.params_total)),
        ),
        "model" => line(
            &mut text,
            format_args!(
                "{} parameters, {} active per token",
                billions(inspection.params_total),
                billions(inspection.params_active)
            ),
        ),
        what => line(
            &mut text,
            format_args!(
                "no model but: {what}, {} elements",
                grouped(inspection.params_total)
            ),
        ),
    }
    if let (Some(container), Some(bytes)) = (inspection.container, inspection.tensor_bytes) {
        let mut words = vec![container.to_owned()];
        words.extend(inspection.label.clone());
        words.push(format!("{bytes} of tensors"));
        if let Some(bits) = inspection.bits_per_weight {
            words.push(format!("{bits:.2} bits per weight"));
        }
        line(&mut text, format_args!("{}", words.join(", ")));
    }
    text += &cache(inspection);
    line(
        &mut text,
        format_args!("{}", inspection.certainty.sentence()),
    );
    text
}

/// What a token of context takes, or why that is not known.
fn cache(inspection: &Inspection) -> String {
    let mut text = String::new();
    if let Some(cache) = &inspection.cache {
        line(
            &mut text,
            format_args!(
                "{:.1} KiB per token of context, {} for {} tokens ({} cache, {})",
                cache.bytes_per_token / 1024.0,
                cache.bytes,
                grouped(cache.context),
                cache.cache_type,
                cache.engine
            ),
        );
    }
    if let Some(reason) = &inspection.cache_unknown {
        let reason = one_line(reason);
        line(
            &mut text,
            format_args!("What a token of context takes is not known: {reason}."),
        );
    }
    text
}

fn figures(inspection: &Inspection) -> String {
    let title = match inspection.what {
        "model" => "hyper-parameter",
        _ => "metadata",
    };
    let mut table = Table::new(&[title, ">value"]);
    for (name, figure) in &inspection.hyper_parameters {
        table.row([one_line(name), one_line(&figure.text())]);
    }
    section(&table)
}

fn layers(inspection: &Inspection) -> String {
    if inspection.layers.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[">layers", "which", "mixer", "feed-forward"]);
    for kind in &inspection.layers {
        table.row([
            kind.count.to_string(),
            kind.which.clone(),
            kind.mixer.clone(),
            kind.feed_forward.clone(),
        ]);
    }
    section(&table)
}

/// A table of parts; columns that nothing is known for are left out.
fn shares(title: &str, shares: &[Share]) -> String {
    if shares.is_empty() {
        return String::new();
    }
    let files = shares.iter().any(|share| share.bytes.is_some());
    let mut head = vec![title];
    if files {
        head.push(">tensors");
    }
    head.push(if files { ">elements" } else { ">parameters" });
    if files {
        head.push(">GiB");
    }
    head.push(">share");
    let mut table = Table::new(&head);
    for share in shares {
        let mut cells = vec![one_line(&share.name)];
        cells.extend(share.tensors.map(grouped));
        cells.push(grouped(share.elements));
        cells.extend(share.bytes.map(gib));
        cells.push(format!("{:.1} %", 100.0 * share.share));
        table.row(cells);
    }
    section(&table)
}

fn section(table: &Table) -> String {
    format!("\n{}", table.text())
}

fn gib(bytes: Bytes) -> String {
    format!("{:.2}", bytes.as_gib())
}

/// In billions, as models are called; small ones in millions.
fn billions(parameters: u64) -> String {
    match parameters {
        0..10_000_000 => format!("{:.2} M", parameters as f64 / 1e6),
        _ => format!("{:.2} B", parameters as f64 / 1e9),
    }
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    writeln!(text, "{arguments}").ok();
}
