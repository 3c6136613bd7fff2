//! What the machine makes of a plan.

use super::set;
use crate::engine::llamacpp::config::{Config, Device, GpuLayers};
use crate::hardware::{Machine, Os, Vendor};
use crate::plan::Value;
use crate::projection::{Note, counted};
use crate::units::Bytes;

/// Warnings and hints on the machine and the use of its GPUs.
pub(in super::super) fn machine(
    machine: &Machine,
    config: &Config,
    devices: &[Device<'_>],
    notes: &mut Vec<Note>,
) {
    nodes(machine, config, notes);
    if machine.gpus.is_empty() {
        if matches!(config.gpu_layers, GpuLayers::All | GpuLayers::Count(1..)) {
            notes.push(
                Note::warning(
                    "no-gpu",
                    "There is no GPU: layers stay in main memory whatever is asked for.",
                )
                .on("n_gpu_layers"),
            );
        }
        return;
    }
    left_out(machine, devices, notes);
    too_many(devices, notes);
    makers(devices, notes);
    shares(config, devices, notes);
    desktop(machine, devices, notes);
    error_correction(devices, notes);
    shared_by_setting(machine, devices, notes);
    for device in devices {
        if device.gpu.memory.usable == Bytes::ZERO {
            notes.push(Note::warning(
                "gpu-without-memory",
                format!(
                    "GPU {} ({}) reports no memory of its own; the engine would give it a share by the size of main \
                     memory.",
                    device.index, device.gpu.name
                ),
            ));
        }
    }
}

/// Most devices (`llama_max_devices`, `src/llama.cpp` 0.6.0-dev).
const MOST_DEVICES: usize = 16;

fn nodes(machine: &Machine, config: &Config, notes: &mut Vec<Note>) {
    let further = machine.nodes.saturating_sub(1) as usize;
    let servers = config.rpc.len();
    if servers == 0 && further > 0 {
        let names = (1..=further).map(|node| Value::Text(format!("node{node}:50052")));
        notes.push(
            Note::warning(
                "one-node",
                format!(
                    "One llama-server runs on one node; the projection is for the first of them. With a server for remote \
                     calls on each of the other {further} their GPUs hold layers too."
                ),
            )
            .on("rpc")
            .fixed_by(set("rpc", Value::List(names.collect()))),
        );
    } else if servers != further {
        notes.push(
            Note::warning(
                "rpc-and-nodes-differ",
                format!(
                    "The plan names {} and the machine has {}: only what both know is projected.",
                    counted(servers as u64, "server"),
                    counted(further as u64, "further node"),
                ),
            )
            .on("rpc"),
        );
    }
    if servers.min(further) > 0 {
        notes.push(
            Note::hint(
                "rpc-order",
                "GPUs of other nodes come first: shares and numbers of GPUs begin with them. They get the first layers, and \
                 every token crosses the network once per node.",
            )
            .on("rpc"),
        );
    }
}

fn too_many(devices: &[Device<'_>], notes: &mut Vec<Note>) {
    let count = devices.len();
    if count > MOST_DEVICES {
        notes.push(
            Note::error(
                "too-many-gpus",
                format!("The engine uses at most {MOST_DEVICES} GPUs at once, not {count}."),
            )
            .on("split_mode"),
        );
    }
}

fn left_out(machine: &Machine, devices: &[Device<'_>], notes: &mut Vec<Note>) {
    let discrete = machine.gpus.iter().any(|gpu| !gpu.unified);
    let integrated = machine.gpus.iter().filter(|gpu| gpu.unified).count();
    if discrete && integrated > 0 && !devices.is_empty() {
        notes.push(Note::hint(
            "integrated-gpu-unused",
            "The engine leaves integrated GPUs out where there is another one.",
        ));
    }
}

/// Several makers need one backend that serves all of them.
fn makers(devices: &[Device<'_>], notes: &mut Vec<Note>) {
    let mut makers: Vec<Vendor> = devices.iter().map(|device| device.gpu.vendor).collect();
    makers.dedup();
    if makers.len() > 1 {
        notes.push(Note::warning(
            "several-makers",
            "The GPUs come from several makers: only a build with Vulkan, or with a backend for each, uses all of them. \
             Buffers are projected by the rules of CUDA.",
        ));
    } else if makers
        .first()
        .is_some_and(|maker| !matches!(maker, Vendor::Nvidia))
    {
        notes.push(Note::hint(
            "other-backend",
            "Buffers are projected by the rules of CUDA; those of this GPU's backend may differ by a few percent of the \
             compute buffer.",
        ));
    }
}

fn shares(config: &Config, devices: &[Device<'_>], notes: &mut Vec<Note>) {
    let (given, gpus) = (config.tensor_split.len(), devices.len());
    if given > gpus && gpus > 0 {
        notes.push(
            Note::warning(
                "more-shares-than-gpus",
                format!("{given} shares are given for {gpus} GPUs; the engine ignores the rest."),
            )
            .on("tensor_split"),
        );
    } else if given > 0 && given < gpus {
        notes.push(
            Note::hint(
                "fewer-shares-than-gpus",
                format!("Only {given} of {gpus} GPUs have a share; the others hold no layers."),
            )
            .on("tensor_split"),
        );
    }
}

/// What the desktop takes is not in a plan for a machine that is only described.
fn desktop(machine: &Machine, devices: &[Device<'_>], notes: &mut Vec<Note>) {
    let shows = |device: &&Device<'_>| {
        let gpu = device.gpu;
        let display = gpu.drives_display || machine.os == Os::Windows && device.index == 0;
        display && !gpu.unified && gpu.memory.in_use == Bytes::ZERO
    };
    if let Some(device) = devices.iter().find(shows) {
        notes.push(Note::hint(
            "desktop-not-counted",
            format!(
                "Nothing is counted for the desktop on GPU {}. Windows took 1.2 GiB of a 12 GiB card before anything was \
                 started (a public fit table); say in_use_mib, or connect the screen elsewhere.",
                device.index
            ),
        ));
    }
}

/// Sizes in GiB of cards with GDDR memory whose error correction can be switched.
const WITH_SWITCH_GIB: [u64; 6] = [8, 12, 16, 24, 32, 48];

/// Error correction inside of GDDR memory takes a sixteenth of it: totals of 23028 and 46068 MiB against 24564 and 49140
/// without (drivers' totals of A10, L40S, T4 and others, with and without).
fn error_correction(devices: &[Device<'_>], notes: &mut Vec<Note>) {
    let corrected = devices.iter().find_map(|device| {
        let total = device.gpu.memory.total;
        let plain = total.mul_ratio(16, 15);
        let fits = |gib: &u64| {
            let nominal = Bytes::from_gib(*gib);
            plain <= nominal && nominal.saturating_sub(plain) <= nominal.mul_ratio(1, 1000)
        };
        let nvidia = device.gpu.vendor == Vendor::Nvidia && !device.gpu.unified;
        (nvidia && WITH_SWITCH_GIB.iter().any(fits))
            .then(|| (device.index, plain.saturating_sub(total)))
    });
    if let Some((index, taken)) = corrected {
        notes.push(Note::hint(
            "error-correction",
            format!(
                "GPU {index} seems to run with error correction, which takes a sixteenth of its memory: {taken}. \
                 `nvidia-smi -i {index} -e 0` and a restart give it back, at the price of undetected errors."
            ),
        ));
    }
}

/// The share of a GPU without memory of its own is a setting of firmware or driver.
fn shared_by_setting(machine: &Machine, devices: &[Device<'_>], notes: &mut Vec<Note>) {
    let (Some(pool), [device]) = (machine.pool(), devices) else {
        return;
    };
    if device.gpu.vendor != Vendor::Amd {
        return;
    }
    let (share, all) = (pool.gpu.memory.usable, pool.bytes);
    notes.push(Note::hint(
        "share-by-setting",
        format!(
            "The GPU may take {share} of {all}: the firmware's carve-out and what the driver may map (half of main memory \
             unless ttm.pages_limit or amdgpu.gttsize say otherwise). Backends see different parts: ROCm sometimes the \
             carve-out alone (ggml-org/llama.cpp#19818), Vulkan less than 96 GiB; `llama-server --list-devices` tells."
        ),
    ));
}

/// Windows lends main memory to a full GPU instead of failing.
pub(in super::super) fn spills(machine: &Machine) -> bool {
    machine.os == Os::Windows && machine.gpus.iter().any(|gpu| gpu.vendor == Vendor::Nvidia)
}
