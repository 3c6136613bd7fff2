//! A detection as a report: readable text to paste into an issue, and JSON that opens as a machine elsewhere.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::detection::{DetectedCard, Detection};
use super::facts::CardFacts;
use super::{DEVICES_LIMIT, Pcie, Vendor};
use crate::units::Bytes;

/// Mark of a saved report.
const FORMAT: &str = "plimsoll-machine";

/// Version of the saved form that this build writes.
pub const SCHEMA: u32 = 1;

/// Longest saved report that is opened; a machine of 1024 cards is about 2 MB.
pub const REPORT_LIMIT: usize = 8 << 20;

/// Why a saved report cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Longer than any machine needs.
    #[error("a machine report has at most {REPORT_LIMIT} bytes, this one has {0}")]
    TooLong(usize),
    /// Not JSON, or not of the expected shape.
    #[error("no machine report: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Some other JSON.
    #[error("no machine report: `format` is not \"{FORMAT}\"")]
    OtherFormat,
    /// Written by a newer build.
    #[error(
        "this report has schema {found}, this build reads up to {SCHEMA}; use a newer Plimsoll"
    )]
    Newer {
        /// Of the report.
        found: u32,
    },
    /// More devices than can be shown.
    #[error("this report lists {0} GPUs; at most {DEVICES_LIMIT} are projected")]
    TooMany(usize),
}

#[derive(Serialize)]
struct Saved<'a> {
    format: &'a str,
    schema: u32,
    program_version: &'a str,
    detection: &'a Detection,
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    format: String,
    #[serde(default)]
    schema: u32,
}

#[derive(Deserialize)]
struct Body {
    detection: Detection,
}

/// The report as JSON, for [`from_json`]. Names of programs are left out: they are nobody's business elsewhere.
pub fn to_json(detection: &Detection) -> String {
    let mut detection = detection.clone();
    for card in &mut detection.cards {
        for process in card.facts.processes.iter_mut().flatten() {
            process.name = None;
        }
    }
    let saved = Saved {
        format: FORMAT,
        schema: SCHEMA,
        program_version: env!("CARGO_PKG_VERSION"),
        detection: &detection,
    };
    // Only maps with keys that are no strings, and failing writers, could make this fail.
    serde_json::to_string_pretty(&saved).unwrap_or_default()
}

/// Opens a saved report.
///
/// # Errors
/// Text that is no report, too long a one, or one of a newer build.
pub fn from_json(text: &str) -> Result<Detection, Error> {
    if text.len() > REPORT_LIMIT {
        return Err(Error::TooLong(text.len()));
    }
    // The head first, so that a newer report is called newer, not malformed.
    let head: Head = serde_json::from_str(text)?;
    if head.format != FORMAT {
        return Err(Error::OtherFormat);
    }
    if head.schema > SCHEMA {
        return Err(Error::Newer { found: head.schema });
    }
    let Body { mut detection } = serde_json::from_str(text)?;
    detection.machine.nodes = detection.machine.nodes.max(1);
    let devices = detection
        .machine
        .gpus
        .len()
        .max(detection.cards.len())
        .saturating_mul(detection.machine.nodes as usize);
    if devices > DEVICES_LIMIT {
        return Err(Error::TooMany(devices));
    }
    for gpu in detection
        .machine
        .gpus
        .iter_mut()
        .chain(detection.cards.iter_mut().map(|card| &mut card.gpu))
    {
        gpu.memory.usable = gpu.memory.usable.min(gpu.memory.total);
        gpu.bandwidth_gb_s = gpu.bandwidth_gb_s.filter(|bandwidth| *bandwidth > 0.0);
    }
    Ok(detection)
}

/// The report as text.
pub fn to_text(detection: &Detection) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    write_text(&mut text, detection).ok();
    text
}

fn write_text(text: &mut String, detection: &Detection) -> std::fmt::Result {
    writeln!(
        text,
        "Plimsoll {} machine report",
        env!("CARGO_PKG_VERSION")
    )?;
    for (label, value) in host_lines(detection) {
        if let Some(value) = value {
            writeln!(text, "{label:<10} {value}")?;
        }
    }
    for (index, card) in detection.cards.iter().enumerate() {
        writeln!(text)?;
        write_card(text, index, card)?;
    }
    if detection.cards.is_empty() {
        writeln!(text, "\nNo GPU found")?;
    }
    if !detection.findings.is_empty() {
        writeln!(text, "\nFindings")?;
    }
    for finding in &detection.findings {
        let card = finding.card.as_deref().map(|card| format!(" [{card}]"));
        writeln!(
            text,
            "- {}{} ({}, {})",
            finding.message,
            card.unwrap_or_default(),
            finding.source,
            finding.code
        )?;
        if let Some(remedy) = &finding.remedy {
            writeln!(text, "  {remedy}")?;
        }
    }
    Ok(())
}

fn host_lines(detection: &Detection) -> [(&'static str, Option<String>); 7] {
    let facts = &detection.host;
    let host = &detection.machine.host;
    let system = facts.os_version.as_ref().map(|version| {
        let wsl = if facts.wsl { ", WSL2" } else { "" };
        format!("{version}{wsl}")
    });
    let limit = facts
        .cgroup_limit
        .zip(facts.ram_total)
        .map(|(limit, total)| format!("{limit} of {total} by the control group"));
    [
        ("System", system),
        ("Board", facts.board.clone()),
        ("Processor", host.cpu_name.clone()),
        ("Cores", host.physical_cores.map(|cores| cores.to_string())),
        (
            "Features",
            (!host.cpu_features.is_empty()).then(|| host.cpu_features.join(" ")),
        ),
        (
            "RAM",
            Some(format!(
                "{} usable, {} in use, {} swap",
                host.ram, host.in_use, host.swap
            )),
        ),
        ("Limit", limit),
    ]
}

fn write_card(text: &mut String, index: usize, card: &DetectedCard) -> std::fmt::Result {
    let gpu = &card.gpu;
    let aside = card
        .aside
        .map(|aside| format!(" (not used: {})", aside.text()));
    writeln!(
        text,
        "GPU {index}: {}{}",
        gpu.name,
        aside.unwrap_or_default()
    )?;
    writeln!(
        text,
        "  memory      {} total, {} usable, {} in use{}",
        gpu.memory.total,
        gpu.memory.usable,
        gpu.memory.in_use,
        if gpu.unified {
            ", shared with the processor"
        } else {
            ""
        }
    )?;
    for (label, value) in card_lines(card) {
        if let Some(value) = value {
            writeln!(text, "  {label:<11} {value}")?;
        }
    }
    for (backend, ceiling) in &card.facts.ceilings {
        writeln!(text, "  {backend:<11} can allocate {ceiling}")?;
    }
    write_processes(text, &card.facts)?;
    for (field, reason) in &card.facts.missing {
        writeln!(text, "  {field:<11} {}", reason.text())?;
    }
    Ok(())
}

fn card_lines(card: &DetectedCard) -> [(&'static str, Option<String>); 16] {
    let DetectedCard { id, gpu, facts, .. } = card;
    let size = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.to_string());
    let version = |parts: Option<(u32, u32)>| parts.map(|(a, b)| format!("{a}.{b}"));
    let link = |link: Option<Pcie>| link.map(|link| format!("{} x{}", link.generation, link.lanes));
    let on = |state: Option<bool>| state.map(|on| if on { "on" } else { "off" }.to_owned());
    let bandwidth = gpu.bandwidth_gb_s;
    [
        ("reserved", size(facts.reserved)),
        ("mappable", size(facts.gtt_total)),
        ("id", Some(id.clone())),
        ("PCI", facts.pci_address.clone()),
        ("PCI id", facts.device_id.clone()),
        ("capability", version(gpu.compute_capability)),
        ("target", gpu.gfx_target.clone()),
        ("driver", gpu.driver.clone()),
        ("CUDA up to", version(facts.cuda_version)),
        ("bandwidth", bandwidth.map(|rate| format!("{rate:.0} GB/s"))),
        ("PCIe most", link(facts.pcie_max)),
        ("PCIe now", link(facts.pcie_now)),
        ("ECC", on(facts.ecc)),
        ("MIG", on(facts.mig)),
        ("display", on(facts.drives_display)),
        ("seen by", Some(facts.seen_by.join(", "))),
    ]
}

fn write_processes(text: &mut String, facts: &CardFacts) -> std::fmt::Result {
    for process in facts.processes.iter().flatten() {
        let memory = match (process.memory, facts.vendor) {
            (Some(memory), _) => memory.to_string(),
            (None, Some(Vendor::Nvidia)) => "memory not told by the driver".to_owned(),
            (None, _) => "memory unknown".to_owned(),
        };
        writeln!(
            text,
            "  process     {} {memory}{}",
            process.pid,
            if process.graphics { ", draws" } else { "" }
        )?;
    }
    Ok(())
}
