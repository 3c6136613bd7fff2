//! What is there when the weights are being read, before caches and graphs.

use super::loader::{HostWeights, Loader, Staging};
use crate::projection::{Category, DeviceTerms, Part, Term, Why};
use crate::units::Bytes;

const SOURCE: &str =
    "src/llama-model-loader.cpp load_all_data, src/llama-mmap.cpp (llama.cpp 0.6.0-dev)";

/// Rule of what kernels take as batches run: not there yet.
pub(super) const POOLS: &str = "llama.cpp/overhead/pools";

/// Devices as the last weight is read, from those of the running server, main memory last. `passing` are bytes of the
/// file that go through main memory to GPUs.
pub(in super::super) fn loading(
    loader: Loader,
    weights: &HostWeights,
    passing: Bytes,
    run: &[DeviceTerms],
) -> Vec<DeviceTerms> {
    let mut devices: Vec<DeviceTerms> = run
        .iter()
        .map(|device| DeviceTerms {
            terms: device
                .terms
                .iter()
                .filter(|term| {
                    matches!(term.category, Category::Weights | Category::Overhead)
                        && term.why.rule != POOLS
                })
                .cloned()
                .collect(),
        })
        .collect();
    if let Some(host) = devices.last_mut() {
        host.terms.extend(staging(weights.staging));
        host.terms.extend(page_cache(loader, weights, passing));
    }
    devices
}

fn staging(staging: Staging) -> Option<Term> {
    let bytes = staging.bytes();
    let why = match staging {
        Staging::None => return None,
        Staging::Uploads(number, each) => Why::new(
            "llama.cpp/load/uploads",
            "{number} pinned buffers of {each} through which weights go to the GPUs; freed when all are loaded",
            SOURCE,
        )
        .with("number", number)
        .with("each", each),
        Staging::Tensor(_) => Why::new(
            "llama.cpp/load/tensor",
            "the largest tensor, {bytes}, is read whole before it is handed on, since there are no pinned buffers to \
             send it in parts; freed when it is there",
            SOURCE,
        )
        .with("bytes", bytes),
        Staging::Direct(_) => Why::new(
            "llama.cpp/load/direct",
            "a buffer of {bytes} for reads around the page cache; freed when all is loaded",
            SOURCE,
        )
        .with("bytes", bytes),
    };
    Some(overhead(bytes, (bytes, bytes), why))
}

/// Pages of the file that the system keeps while there is room: no demand, so nothing is counted, but they are why
/// memory looks full while a model loads.
fn page_cache(loader: Loader, weights: &HostWeights, passing: Bytes) -> Option<Term> {
    let (most, template) = if loader.direct {
        return None;
    } else if loader.maps {
        let originals = weights.repacked;
        (
            if loader.shares_pages {
                originals
            } else {
                passing + originals
            },
            "up to {most} of the file pass through the page cache on their way to GPUs or to the processor's own layout; \
             the system takes these pages back when it needs room, so they are not counted",
        )
    } else {
        (
            passing + weights.pinned + weights.read + weights.repacked,
            "up to {most} of the file stay in the page cache after they were read; the system takes these pages back \
             when it needs room, so they are not counted",
        )
    };
    (most > Bytes::ZERO).then(|| {
        overhead(
            Bytes::ZERO,
            (Bytes::ZERO, most),
            Why::new("llama.cpp/load/page-cache", template, SOURCE).with("most", most),
        )
    })
}

/// Pages of GPU tensors that are locked because they lie between tensors of the processor.
pub(in super::super) fn locked_between(weights: &HostWeights) -> Option<Term> {
    let bytes = weights.locked_between;
    (bytes > Bytes::ZERO).then(|| {
        overhead(
            bytes,
            (Bytes::ZERO, bytes),
            Why::new(
                "llama.cpp/load/locked",
                "the mapping is locked from the first to the last tensor of the processor, and {bytes} of GPU tensors \
                 lie between them in the file: locked in main memory too, as far as the limit on locking goes",
                "src/llama-mmap.cpp llama_mlock::grow_to (llama.cpp 0.6.0-dev)",
            )
            .with("bytes", bytes),
        )
    })
}

fn overhead(bytes: Bytes, range: (Bytes, Bytes), why: Why) -> Term {
    Term {
        category: Category::Overhead,
        part: Part::Model,
        bytes,
        range,
        why,
    }
}
