//! `plimsoll models`, `gpus` and `machines`: what can be chosen from.

use anyhow::anyhow;
use plimsoll::catalog::gpus::{GpuCatalog, GpuPreset};
use plimsoll::catalog::machines::MachineCatalog;
use plimsoll::catalog::models::Entry;
use plimsoll::hardware::Os;
use plimsoll::projection::grouped;
use plimsoll::source::gguf;
use plimsoll::table::Table;
use plimsoll::units::Bytes;
use serde_json::{Value, json};

use super::answer::{one_line, print_json, print_plain};
use super::opened::{model_catalog, no_gguf};
use super::{Answer, Failure};

/// Options of the lists.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// Words that a row must have.
    pub(super) query: Vec<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    /// Does a text have every word?
    pub(super) fn matches(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.query
            .iter()
            .all(|word| text.contains(&word.to_lowercase()))
    }

    /// Prints the rows in one of the two forms; none is a no.
    fn finish(
        &self,
        key: &str,
        rows: &[Value],
        table: &Table,
        broken: Option<Value>,
    ) -> Result<Answer, Failure> {
        if rows.is_empty() {
            if let [file] = self.query.as_slice()
                && gguf::is_meant(file.as_ref())
            {
                return Err(no_gguf(file));
            }
            return Err(Failure::no(anyhow!(
                "nothing matches `{}`",
                self.query.join(" ")
            )));
        }
        if self.json {
            let mut list = json!({ "schema": 1, key: rows });
            if let (Some(broken), Some(list)) = (broken, list.as_object_mut()) {
                list.insert("broken".to_owned(), broken);
            }
            print_json(&list)?;
        } else {
            print_plain(&table.text())?;
        }
        Ok(Answer::Yes)
    }
}

/// Lists model presets.
pub(super) fn models(options: &Options) -> Result<Answer, Failure> {
    let catalog = model_catalog();
    let mut broken = Vec::new();
    for preset in catalog.broken() {
        let reason = format!("{}: {}", preset.path.display(), preset.error);
        log::warn!("{}", one_line(&reason));
        broken.push(json!({
            "path": preset.path.to_string_lossy(),
            "reason": preset.error.to_string(),
        }));
    }
    let mut table = Table::new(&[
        "id",
        "family",
        ">parameters",
        ">active",
        ">context",
        "licence",
    ]);
    let mut rows = Vec::new();
    let mut entries = catalog.search(&options.query.join(" "));
    entries.sort_by_cached_key(|entry| {
        let family = entry.family.to_lowercase();
        (family, entry.total_parameters, entry.id.to_lowercase())
    });
    for entry in entries {
        let context = entry.context_length.map(grouped).unwrap_or_default();
        table.row([
            entry.id.clone(),
            entry.family.clone(),
            billions(entry.total_parameters),
            billions(entry.active_parameters),
            context,
            entry.licence.clone().unwrap_or_default(),
        ]);
        rows.push(model(entry));
    }
    options.finish("models", &rows, &table, Some(Value::Array(broken)))
}

fn model(entry: &Entry) -> Value {
    json!({
        "id": entry.id,
        "title": entry.title,
        "family": entry.family,
        "publisher": entry.publisher,
        "hf_repo": entry.hf_repo,
        "gguf_repo": entry.gguf_repo,
        "params_total": entry.total_parameters,
        "params_active": entry.active_parameters,
        "context_length": entry.context_length,
        "licence": entry.licence,
        "release": entry.release,
        "source": entry.source,
    })
}

fn billions(parameters: u64) -> String {
    format!("{:.2} B", parameters as f64 / 1e9)
}

/// Lists the GPU catalogue.
pub(super) fn gpus(options: &Options) -> Result<Answer, Failure> {
    let catalog = GpuCatalog::embedded().map_err(Failure::input)?;
    let mut table = Table::new(&[
        "name",
        ">GiB",
        ">usable GiB",
        ">GB/s",
        "architecture",
        "target",
    ]);
    let mut rows = Vec::new();
    for gpu in catalog
        .iter()
        .filter(|gpu| options.matches(&format!("{} {}", gpu.name, gpu.architecture)))
    {
        let usable = gpu.usable(gpu.driver_total(), Os::Linux);
        table.row([
            gpu.name.clone(),
            gibibytes(gpu.nominal()),
            gibibytes(usable),
            gpu.bandwidth_gb_s
                .map(|rate| format!("{rate:.0}"))
                .unwrap_or_default(),
            gpu.architecture.clone(),
            target(gpu),
        ]);
        rows.push(json!({
            "name": gpu.name,
            "aliases": gpu.aliases,
            "vendor": gpu.vendor,
            "architecture": gpu.architecture,
            "nominal_bytes": gpu.nominal(),
            "driver_total_bytes": gpu.driver_total(),
            "usable_bytes": usable,
            "unified": gpu.unified,
            "bandwidth_gb_s": gpu.bandwidth_gb_s,
            "compute_capability": gpu.compute_capability.map(|(major, minor)| format!("{major}.{minor}")),
            "gfx_target": gpu.gfx_target,
            "sources": gpu.sources,
        }));
    }
    options.finish("gpus", &rows, &table, None)
}

fn gibibytes(bytes: Bytes) -> String {
    if bytes == Bytes::ZERO {
        "shared".to_owned()
    } else {
        format!("{:.2}", bytes.as_gib())
    }
}

fn target(gpu: &GpuPreset) -> String {
    match (gpu.compute_capability, &gpu.gfx_target) {
        (Some((major, minor)), _) => format!("{major}.{minor}"),
        (None, Some(target)) => target.clone(),
        (None, None) => String::new(),
    }
}

/// Lists machine presets.
pub(super) fn machines(options: &Options) -> Result<Answer, Failure> {
    let catalog = MachineCatalog::embedded().map_err(Failure::input)?;
    let gpus = GpuCatalog::embedded().map_err(Failure::input)?;
    let mut table = Table::new(&["id", "name", ">nodes", ">GPUs", ">VRAM GiB", ">RAM GiB"]);
    let mut rows = Vec::new();
    for preset in catalog
        .iter()
        .filter(|preset| options.matches(&format!("{} {}", preset.id, preset.name)))
    {
        let machine = preset.machine(&gpus).map_err(Failure::input)?;
        let vram: Bytes = machine.gpus.iter().map(|gpu| gpu.memory.usable).sum();
        // Of all nodes together.
        let nodes = f64::from(machine.nodes);
        let cards = (machine.gpus.len() as u64).saturating_mul(u64::from(machine.nodes));
        table.row([
            preset.id.clone(),
            preset.name.clone(),
            machine.nodes.to_string(),
            cards.to_string(),
            format!("{:.1}", nodes * vram.as_gib()),
            format!("{:.0}", nodes * machine.host.ram.as_gib()),
        ]);
        rows.push(json!({ "id": preset.id, "name": preset.name, "note": preset.note, "machine": machine }));
    }
    options.finish("machines", &rows, &table, None)
}
