//! Which cards the server sees, and in which order.

use crate::engine::launch::{Launch, LaunchInputs, Word};
use crate::hardware::{Gpu, Os, Vendor};

/// Variables that select and order the cards.
///
/// CUDA orders cards by speed unless told otherwise, while a plan and `nvidia-smi` list them by bus (CUDA C++
/// Programming Guide, "CUDA Environment Variables"). ROCm takes identities in `ROCR_VISIBLE_DEVICES` on Linux and only
/// positions in `HIP_VISIBLE_DEVICES` elsewhere (ROCm, "GPU isolation techniques").
pub(in super::super) fn environment(
    inputs: &LaunchInputs<'_>,
    launch: &mut Launch,
) -> Vec<(String, Word)> {
    let chosen = &inputs.options.gpus;
    let mut variables = Vec::new();
    let mut set =
        |name: &str, value: String| variables.push((name.to_owned(), Word::Literal(value)));
    let by_vendor = |vendor: Vendor| -> Vec<&str> {
        chosen
            .iter()
            .map(String::as_str)
            .filter(|uuid| vendor_of(inputs, uuid) == vendor)
            .collect()
    };
    let nvidia = by_vendor(Vendor::Nvidia);
    let amd = by_vendor(Vendor::Amd);
    let others = [by_vendor(Vendor::Intel), by_vendor(Vendor::Other)].concat();
    let cards = count(inputs, Vendor::Nvidia);
    if !nvidia.is_empty() || cards > 1 {
        set("CUDA_DEVICE_ORDER", "PCI_BUS_ID".to_owned());
    }
    if !nvidia.is_empty() {
        set("CUDA_VISIBLE_DEVICES", nvidia.join(","));
    } else if !chosen.is_empty() && cards > 0 {
        // Cards of another maker were chosen: these must stay free.
        set("CUDA_VISIBLE_DEVICES", "-1".to_owned());
    }
    if !amd.is_empty() {
        if inputs.machine.os == Os::Linux {
            set("ROCR_VISIBLE_DEVICES", amd.join(","));
        } else {
            positions(inputs, &amd, Vendor::Amd).map_or_else(
                || launch.not_expressible.push(unselected(&amd)),
                |positions| set("HIP_VISIBLE_DEVICES", positions),
            );
        }
    }
    if !others.is_empty() {
        launch.not_expressible.push(unselected(&others));
    }
    if !chosen.is_empty() {
        // `ggml-vulkan.cpp` (0.6.0-dev) reads positions of its own enumeration, which a plan cannot know.
        launch.remarks.push(
            "The choice of cards is for CUDA and ROCm builds; a Vulkan build wants GGML_VK_VISIBLE_DEVICES with \
             positions of llama-server --list-devices."
                .to_owned(),
        );
    }
    variables
}

fn unselected(uuids: &[&str]) -> String {
    format!(
        "the choice of {}: this driver selects no cards by identity; see llama-server --list-devices and add --device \
         to extra_args",
        uuids.join(", ")
    )
}

fn count(inputs: &LaunchInputs<'_>, vendor: Vendor) -> usize {
    let of_vendor = |gpu: &&Gpu| gpu.vendor == vendor;
    inputs.machine.gpus.iter().filter(of_vendor).count()
}

/// By the machine's cards, and for a card that is not among them by the form of its identity.
fn vendor_of(inputs: &LaunchInputs<'_>, uuid: &str) -> Vendor {
    let known = |gpu: &&Gpu| gpu.uuid.as_deref() == Some(uuid);
    match inputs.machine.gpus.iter().find(known) {
        Some(gpu) => gpu.vendor,
        // NVIDIA writes 8-4-4-4-12 digits after the prefix, AMD 16 without a dash.
        None if uuid.starts_with("MIG-") => Vendor::Nvidia,
        None => match uuid.strip_prefix("GPU-") {
            Some(digits) if digits.contains('-') => Vendor::Nvidia,
            Some(_) => Vendor::Amd,
            None => Vendor::Other,
        },
    }
}

/// Positions among the machine's cards of a maker.
fn positions(inputs: &LaunchInputs<'_>, uuids: &[&str], vendor: Vendor) -> Option<String> {
    let cards: Vec<&Gpu> = inputs
        .machine
        .gpus
        .iter()
        .filter(|gpu| gpu.vendor == vendor)
        .collect();
    let position = |uuid: &&str| {
        cards
            .iter()
            .position(|gpu| gpu.uuid.as_deref() == Some(*uuid))
            .map(|position| position.to_string())
    };
    let positions: Option<Vec<String>> = uuids.iter().map(position).collect();
    positions.map(|positions| positions.join(","))
}
