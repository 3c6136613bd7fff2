//! Apple chips: one pool, of which Metal says how much the GPU may take.

#[cfg(target_os = "macos")]
mod ask;

use serde::{Deserialize, Serialize};

use super::{AppleSource, Probe, Reading, Sources};
use crate::hardware::detection::{Finding, Weight};
use crate::hardware::facts::{CardFacts, CardKind, Reason};
use crate::hardware::{Vendor, metal_working_set};
use crate::units::Bytes;

/// The probe.
pub(super) struct Apple;

impl Probe for Apple {
    fn id(&self) -> &'static str {
        "apple"
    }

    fn title(&self) -> &'static str {
        "Metal"
    }

    fn read(&self, sources: &Sources) -> Reading {
        match &sources.apple {
            AppleSource::Off => Reading::default(),
            AppleSource::Recorded(answer) => reading(answer),
            AppleSource::System => this_machine(),
        }
    }
}

#[cfg(target_os = "macos")]
fn this_machine() -> Reading {
    reading(&ask::answer())
}

#[cfg(not(target_os = "macos"))]
fn this_machine() -> Reading {
    Reading::default()
}

/// What a Mac says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Name of the Metal device ("Apple M3 Max").
    pub chip: Option<String>,
    /// `recommendedMaxWorkingSetSize` of the Metal device, which follows `iogpu.wired_limit_mb` in both directions.
    pub working_set: Option<u64>,
    /// Output of `sysctl -n hw.memsize`.
    pub memory_size: Option<String>,
    /// Output of `sysctl -n iogpu.wired_limit_mb`; 0 is the default.
    pub wired_limit_mb: Option<String>,
    /// Output of `system_profiler SPDisplaysDataType -json`.
    pub displays: Option<String>,
}

/// What the answers mean.
pub fn reading(answer: &Answer) -> Reading {
    let mut findings = Vec::new();
    let number = |text: &Option<String>| text.as_deref()?.trim().parse::<u64>().ok();
    let memory = number(&answer.memory_size).map(Bytes::new);
    let profile = answer.displays.as_deref().and_then(profile);
    let chip = answer
        .chip
        .clone()
        .or_else(|| profile.as_ref().map(|profile| profile.chip.clone()));
    let Some(chip) = chip else {
        return Reading {
            findings: vec![Finding::new(
                Weight::Failure,
                "apple",
                "metal-without-device",
                "Metal lists no GPU",
            )],
            ..Reading::default()
        };
    };
    let working_set = answer.working_set.map(Bytes::new).or_else(|| {
        let limit = number(&answer.wired_limit_mb).filter(|limit| *limit > 0);
        findings.push(
            Finding::new(
                Weight::Warning,
                "apple",
                "working-set-guessed",
                "Metal did not say how much memory the GPU may use; the usual share is assumed",
            )
            .of(chip.clone()),
        );
        limit
            .map(Bytes::from_mib)
            .or_else(|| memory.map(metal_working_set))
    });
    let mut card = CardFacts {
        name: Some(chip),
        vendor: Some(Vendor::Apple),
        kind: Some(CardKind::Integrated),
        unified: Some(true),
        gpu_cores: profile.as_ref().and_then(|profile| profile.cores),
        drives_display: Some(profile.as_ref().is_none_or(|profile| profile.display)),
        ..CardFacts::default()
    };
    if let Some(working_set) = working_set {
        card.ceilings.insert("metal".to_owned(), working_set);
    }
    card.missing
        .insert("total".to_owned(), Reason::UnifiedMemory);
    if let (Some(memory), Some(working_set)) = (memory, working_set) {
        findings.push(raise_limit(memory, working_set));
    }
    Reading {
        cards: vec![card],
        host: None,
        findings,
    }
}

/// The command that lets the GPU take more, 8 GiB left for the system (4 on a Mac of 16 GiB or less).
fn raise_limit(memory: Bytes, working_set: Bytes) -> Finding {
    let kept = if memory <= Bytes::from_gib(16) { 4 } else { 8 };
    let most = memory.saturating_sub(Bytes::from_gib(kept));
    let finding = Finding::new(
        Weight::Info,
        "apple",
        "working-set",
        format!(
            "the GPU may use {working_set} of {memory}; beyond that it fails, it does not slow down"
        ),
    );
    if most > working_set {
        finding.remedy(format!(
            "`sudo sysctl iogpu.wired_limit_mb={}` raises that until the next restart; too much makes the system stall",
            most.get() >> 20
        ))
    } else {
        finding
    }
}

struct Profile {
    chip: String,
    cores: Option<u32>,
    display: bool,
}

/// The GPU of a `system_profiler` answer. The number of cores tells binned chips apart, the name does not.
fn profile(json: &str) -> Option<Profile> {
    let answer: serde_json::Value = serde_json::from_str(json).ok()?;
    let gpu = answer.get("SPDisplaysDataType")?.get(0)?;
    let text = |key: &str| gpu.get(key)?.as_str();
    Some(Profile {
        chip: text("sppci_model").or_else(|| text("_name"))?.to_owned(),
        cores: text("sppci_cores").and_then(|cores| cores.parse().ok()),
        display: gpu
            .get("spdisplays_ndrvs")
            .and_then(serde_json::Value::as_array)
            .is_some_and(|displays| !displays.is_empty()),
    })
}
