//! What a driver takes of a GPU for a process that uses it, by maker, size and system: only ranges are known, each from
//! measurements that are named.

use crate::hardware::{Gpu, Os, Vendor};
use crate::projection::Why;
use crate::units::{Bytes, MIB};

/// Least, usual and most of a driver's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Context {
    pub(super) low: Bytes,
    pub(super) usual: Bytes,
    pub(super) high: Bytes,
    template: &'static str,
    source: &'static str,
}

impl Context {
    /// The reason for it.
    pub(super) fn why(self) -> Why {
        Why::new("llama.cpp/overhead/context", self.template, self.source)
            .with("usual", self.usual)
            .with("low", self.low)
            .with("high", self.high)
    }

    /// The context of a process on one GPU. Each GPU that is used has one of its own; one that is left out has none.
    pub(super) fn of(gpu: &Gpu, os: Os) -> Self {
        match gpu.vendor {
            Vendor::Nvidia => Self::cuda(gpu, os),
            Vendor::Amd => Self::hip(gpu, os),
            Vendor::Intel => INTEL,
            Vendor::Apple => METAL,
            Vendor::Other => VULKAN,
        }
    }

    /// CUDA's grows with the number of multiprocessors, for which the size of the memory stands here.
    fn cuda(gpu: &Gpu, os: Os) -> Self {
        let size = gpu.memory.usable;
        // A unified part has a small GPU, however much memory it shares.
        let context = if gpu.unified || size < Bytes::from_gib(20) {
            CUDA_SMALL
        } else if size < Bytes::from_gib(40) {
            CUDA_MIDDLE
        } else {
            CUDA_LARGE
        };
        match os {
            Os::Windows => Self {
                low: context.low.min(CUDA_WINDOWS_LOW),
                ..context
            },
            Os::Linux | Os::Macos => context,
        }
    }

    /// No measurement with HIP was found; its runtime is built like CUDA's.
    fn hip(gpu: &Gpu, os: Os) -> Self {
        Self {
            low: Bytes::ZERO,
            template: "about {usual} that the driver takes for a process on each GPU it uses ({low} to {high}): for \
                       want of a measurement of HIP, what CUDA takes on a card of this size",
            ..Self::cuda(gpu, os)
        }
    }
}

const fn mib((low, usual, high): (u64, u64, u64)) -> (Bytes, Bytes, Bytes) {
    (
        Bytes::new(low * MIB),
        Bytes::new(usual * MIB),
        Bytes::new(high * MIB),
    )
}

const fn context(range: (u64, u64, u64), template: &'static str, source: &'static str) -> Context {
    let (low, usual, high) = mib(range);
    Context {
        low,
        usual,
        high,
        template,
        source,
    }
}

const CUDA: &str = "about {usual} that CUDA takes for a process on each GPU it uses ({low} to {high}): context and loaded \
                    kernels, more on cards with more multiprocessors";

/// Below 20 GiB: 107 MiB bare on an RTX 4060 Ti, about 300 by Ollama, whose reserve of 457 is the most.
const CUDA_SMALL: Context = context(
    (107, 300, 457),
    CUDA,
    "RTX 4060 Ti 107 MiB (ggml-org/llama.cpp#23604); about 300 MB per GPU (ollama/ollama#12102); reserve of 457 MiB \
     (Ollama ml/device.go fb30760)",
);

/// 20 to 40 GiB: 154 by one process on an RTX 4090, 279 to 291 bare on RTX 3090s, 451 to 456 after a run on RTX 4090s.
const CUDA_MIDDLE: Context = context(
    (154, 451, 561),
    CUDA,
    "llama-server's own tables: RTX 3090 279-291 MiB with nothing loaded (ggml-org/llama.cpp#24608), RTX 4090 451-456 \
     after a run (#15860); 120 to 550 by card (#20595); nvidia-smi: RTX 4090 154",
);

/// From 40 GiB: 426 on an RTX 6000 Ada, 555 to 561 bare and 712 after a run on an RTX PRO 6000, 612 on a B200.
const CUDA_LARGE: Context = context(
    (426, 555, 712),
    CUDA,
    "RTX PRO 6000 555 MiB bare (ggml-org/llama.cpp#23604) and 712 after a run; RTX 6000 Ada 426 (unslothai/unsloth-zoo#1053); \
     B200 612 (unslothai/unsloth#8669)",
);

/// Under Windows the whole GPU showed 20 MiB more than the buffers of a 3B model.
const CUDA_WINDOWS_LOW: Bytes = Bytes::new(20 * MIB);

/// Metal counts what a process allocates against its share: nothing was beside the buffers of a 35B model on an M1 Max.
/// Ollama sets 512 MiB aside.
const METAL: Context = context(
    (0, 0, 512),
    "nothing beside the buffers, as Metal counts them; up to {high} are set aside by others",
    "memory table of an M1 Max: 0 unaccounted (ggml-org/llama.cpp#22673); Ollama ml/device.go fb30760: 512 MiB",
);

/// Vulkan on a laptop card: 10 to 14 MiB after loading, 23 to 165 at the peak.
const VULKAN: Context = context(
    (10, 165, 165),
    "up to {usual} that a Vulkan driver takes for a process beside the buffers: pipelines, descriptors, staging and \
     scratch of matrix products",
    "llama.cpp with Vulkan on a 6 GB laptop GPU: 10-14 MiB after loading, 23-165 MiB at the peak (sampler less buffers)",
);

/// An Arc through Vulkan as any card; through SYCL 288 to 402 MiB were in use before anything was loaded.
const INTEL: Context = context(
    (10, 165, 402),
    "about {usual} that a Vulkan driver takes for a process beside the buffers; up to {high} with SYCL",
    "Vulkan as on a 6 GB laptop GPU; SYCL on an Arc Pro B50: 288 and 402 MiB in use before loading \
     (ggml-org/llama.cpp#24476 and #23160)",
);

#[cfg(test)]
mod tests {
    use super::super::tests::machine;
    use super::*;

    #[test]
    fn every_range_is_one() {
        for context in [CUDA_SMALL, CUDA_MIDDLE, CUDA_LARGE, METAL, VULKAN, INTEL] {
            assert!(context.low <= context.usual && context.usual <= context.high);
            assert!(!context.source.is_empty());
        }
    }

    #[test]
    fn measured_contexts_lie_within() {
        let range = |gib: u64, vendor: Vendor, os: Os| {
            let mut gpu = machine(&[vendor], &[]).gpus.remove(0);
            gpu.memory.usable = Bytes::from_gib(gib);
            let context = Context::of(&gpu, os);
            context.low.as_mib()..=context.high.as_mib()
        };
        // Card, MiB: the public measurements that name both.
        for (gib, mib) in [
            (16, 107.0),
            (24, 279.0),
            (24, 456.0),
            (32, 325.0),
            (48, 426.0),
            (96, 555.0),
            (179, 612.0),
        ] {
            let range = range(gib, Vendor::Nvidia, Os::Linux);
            assert!(range.contains(&mib), "{mib} on {gib} GiB: {range:?}");
        }
        assert!(range(8, Vendor::Nvidia, Os::Windows).contains(&20.0));
        assert!(range(6, Vendor::Other, Os::Linux).contains(&14.0));
        assert!(range(64, Vendor::Apple, Os::Macos).contains(&0.0));
        assert!(range(16, Vendor::Intel, Os::Linux).contains(&288.0));
    }
}
