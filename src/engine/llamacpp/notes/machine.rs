//! What the machine makes of a plan.

use crate::engine::llamacpp::config::{Config, Device, GpuLayers};
use crate::hardware::{Machine, Os, Vendor};
use crate::projection::Note;
use crate::units::Bytes;

/// Warnings and hints on the machine and the use of its GPUs.
pub(in super::super) fn machine(
    machine: &Machine,
    config: &Config,
    devices: &[Device<'_>],
    notes: &mut Vec<Note>,
) {
    if machine.nodes > 1 {
        notes.push(Note::warning(
            "one-node",
            "One llama-server runs on one node; the projection is for the first of them.",
        ));
    }
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
    makers(devices, notes);
    shares(config, devices, notes);
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

/// Windows lends main memory to a full GPU instead of failing.
pub(in super::super) fn spills(machine: &Machine) -> bool {
    machine.os == Os::Windows && machine.gpus.iter().any(|gpu| gpu.vendor == Vendor::Nvidia)
}
