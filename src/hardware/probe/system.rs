//! Main memory, processor and disk through sysinfo.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sysinfo::{Disks, MemoryRefreshKind, ProcessRefreshKind, ProcessesToUpdate, System as Live};

use super::{Probe, Reading, Sources, SystemSource, sysfs};
use crate::hardware::Os;
use crate::hardware::detection::{Finding, Weight};
use crate::hardware::facts::{HostFacts, NodeMemory};
use crate::units::{Bytes, KIB};

/// The probe.
pub(super) struct System;

impl Probe for System {
    fn id(&self) -> &'static str {
        "system"
    }

    fn title(&self) -> &'static str {
        "memory and processor"
    }

    fn read(&self, sources: &Sources) -> Reading {
        let mut findings = Vec::new();
        let host = match &sources.system {
            SystemSource::Recorded(facts) => (**facts).clone(),
            SystemSource::System => live(sources, &mut findings),
        };
        if host.ram_total.is_none() {
            findings.push(
                Finding::new(
                    Weight::Failure,
                    "system",
                    "ram-unknown",
                    "the size of main memory could not be read",
                )
                .remedy("say it in the plan with `ram_mib`"),
            );
        }
        Reading {
            host: Some(host),
            findings,
            ..Reading::default()
        }
    }
}

fn live(sources: &Sources, findings: &mut Vec<Finding>) -> HostFacts {
    let mut facts = HostFacts {
        os: this_os(),
        os_version: Live::long_os_version().ok(),
        arch: Some(std::env::consts::ARCH.to_owned()),
        wsl: sysfs::text(&sources.proc_root.join("sys/kernel/osrelease"))
            .is_some_and(|release| release.to_lowercase().contains("microsoft")),
        cpu_features: cpu_features(&sources.proc_root),
        physical_cores: Live::physical_core_count()
            .ok()
            .and_then(|count| u32::try_from(count).ok()),
        board: sysfs::text(&sources.proc_root.join("device-tree/model")),
        numa_memory: numa_memory(&sources.sysfs_root),
        disk_free: sources.models_folder.as_deref().and_then(disk_free),
        ..HostFacts::default()
    };
    match Live::new() {
        Ok(mut live) => memory(&mut live, &mut facts),
        Err(error) => findings.push(Finding::new(
            Weight::Warning,
            "system",
            "system-unreadable",
            format!("memory and processor could not be read: {error}"),
        )),
    }
    facts
}

fn memory(live: &mut Live, facts: &mut HostFacts) {
    live.refresh_memory_specifics(MemoryRefreshKind::everything());
    live.refresh_cpu_list(sysinfo::CpuRefreshKind::nothing());
    let known = |bytes: u64| (bytes > 0).then(|| Bytes::new(bytes));
    facts.ram_total = known(live.total_memory());
    // New versions of macOS make this 0; free memory is the lower bound that is left then.
    facts.ram_available =
        known(live.available_memory()).or_else(|| facts.ram_total.and(known(live.free_memory())));
    facts.swap_total = Some(Bytes::new(live.total_swap()));
    facts.cpu_name = live
        .cpus()
        .first()
        .map(|cpu| cpu.brand().trim().to_owned())
        .filter(|name| !name.is_empty());
    let mut limits = live.cgroup_limits();
    if let Ok(this) = sysinfo::get_current_pid() {
        live.refresh_processes_specifics(
            ProcessesToUpdate::Some(&[this]),
            false,
            ProcessRefreshKind::nothing(),
        );
        // A service's limit can be on any group above this process, not only on the topmost one.
        let own = live.process(this).and_then(sysinfo::Process::cgroup_limits);
        limits = match (limits, own) {
            (Some(outer), Some(inner)) if inner.total_memory < outer.total_memory => Some(inner),
            (outer, inner) => outer.or(inner),
        };
    }
    if let Some(limits) = limits {
        facts.cgroup_limit = known(limits.total_memory);
        facts.cgroup_free = Some(Bytes::new(limits.free_memory));
    }
}

fn this_os() -> Option<Os> {
    match std::env::consts::OS {
        "linux" => Some(Os::Linux),
        "windows" => Some(Os::Windows),
        "macos" => Some(Os::Macos),
        _ => None,
    }
}

/// Free space of the file system that holds a folder: the mount point with the longest common path. Bind mounts are
/// listed several times, which does no harm here.
fn disk_free(folder: &Path) -> Option<Bytes> {
    let folder = folder
        .ancestors()
        .find_map(|folder| folder.canonicalize().ok())?;
    let disks = Disks::new_with_refreshed_list().ok()?;
    disks
        .iter()
        .filter(|disk| folder.starts_with(disk.mount_point()))
        .max_by_key(|disk| disk.mount_point().as_os_str().len())
        .map(|disk| Bytes::new(disk.available_space()))
}

fn numa_memory(sysfs_root: &Path) -> BTreeMap<u32, NodeMemory> {
    sysfs::entries(&sysfs_root.join("devices/system/node"))
        .iter()
        .filter_map(|folder| {
            let number = sysfs::name_of(folder).strip_prefix("node")?.parse().ok()?;
            let meminfo = sysfs::text(&folder.join("meminfo"))?;
            // "Node 1 MemTotal:       65808384 kB"
            let field = |name: &str| {
                let line = meminfo.lines().find(|line| line.contains(name))?;
                let kib: u64 = line.split_whitespace().rev().nth(1)?.parse().ok()?;
                Some(Bytes::new(kib.saturating_mul(KIB)))
            };
            let memory = NodeMemory {
                total: field("MemTotal:")?,
                free: field("MemFree:")?,
            };
            Some((number, memory))
        })
        .collect()
}

/// Instruction sets that llama.cpp builds CPU variants for (`ggml/src/CMakeLists.txt`), by the kernel's names.
const FEATURES: &[&str] = &[
    "amx_bf16",
    "amx_int8",
    "amx_tile",
    "asimddp",
    "avx",
    "avx2",
    "avx512_bf16",
    "avx512_vnni",
    "avx512f",
    "avx_vnni",
    "bmi2",
    "f16c",
    "fma",
    "i8mm",
    "sme",
    "sse4_2",
    "sve",
    "sve2",
];

fn cpu_features(proc_root: &Path) -> Vec<String> {
    let listed = sysfs::text(&proc_root.join("cpuinfo")).unwrap_or_default();
    let flags = listed
        .lines()
        .find(|line| line.starts_with("flags") || line.starts_with("Features"))
        .and_then(|line| line.split_once(':'))
        .map_or("", |(_, flags)| flags);
    if flags.is_empty() {
        return detected_features();
    }
    let flags: BTreeSet<&str> = flags.split_whitespace().collect();
    FEATURES
        .iter()
        .filter(|feature| flags.contains(**feature))
        .map(|feature| (*feature).to_owned())
        .collect()
}

/// Where no kernel lists them. The standard library cannot ask for AMX yet.
#[cfg(target_arch = "x86_64")]
fn detected_features() -> Vec<String> {
    let detected = [
        ("avx", is_x86_feature_detected!("avx")),
        ("avx2", is_x86_feature_detected!("avx2")),
        ("avx512_bf16", is_x86_feature_detected!("avx512bf16")),
        ("avx512_vnni", is_x86_feature_detected!("avx512vnni")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
        ("avx_vnni", is_x86_feature_detected!("avxvnni")),
        ("bmi2", is_x86_feature_detected!("bmi2")),
        ("f16c", is_x86_feature_detected!("f16c")),
        ("fma", is_x86_feature_detected!("fma")),
        ("sse4_2", is_x86_feature_detected!("sse4.2")),
    ];
    detected
        .into_iter()
        .filter(|(_, is_there)| *is_there)
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// Every other processor that runs this has the baseline of its platform and no list to ask.
#[cfg(not(target_arch = "x86_64"))]
fn detected_features() -> Vec<String> {
    Vec::new()
}
