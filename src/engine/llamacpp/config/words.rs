//! Words of the command line as types.

use super::super::draft::{SpecType, Speculation};

/// `--flash-attn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum Flash {
    /// On where every layer's device can.
    Auto,
    /// On.
    On,
    /// Off.
    Off,
}

/// `--n-gpu-layers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum GpuLayers {
    /// As many as fit.
    Auto,
    /// Every layer.
    All,
    /// So many, the output layer counted, from the last.
    Count(u64),
}

/// `--split-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum SplitMode {
    /// One GPU.
    None,
    /// Whole layers.
    Layer,
    /// Rows of each matrix.
    Row,
    /// Parts of each tensor.
    Tensor,
}

/// `--load-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum LoadMode {
    /// Mapped unless a device cannot.
    Auto,
    /// Read into memory.
    Read,
    /// Mapped.
    Mapped,
    /// Read and locked.
    Locked,
    /// Mapped and locked.
    MappedLocked,
    /// Read around the page cache.
    Direct,
}

/// `--lazy-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum LazyMode {
    /// Only tensors above 4 GiB.
    Auto,
    /// Every marked tensor.
    On,
    /// None.
    Off,
}

/// A type with a fixed list of words, the first spelling of each the engine's own.
pub(super) trait Words: Copy + 'static {
    /// Every word with what it means.
    const WORDS: &'static [(&'static str, Self)];

    /// What a word means, in any case of letters.
    fn from_word(word: &str) -> Option<Self> {
        Self::WORDS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(word))
            .map(|&(_, meaning)| meaning)
    }
}

impl Words for SpecType {
    const WORDS: &'static [(&'static str, Self)] = Speculation::WORDS;
}

impl Words for Flash {
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("on", Self::On), ("off", Self::Off)];
}

impl Words for SplitMode {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("layer", Self::Layer),
        ("row", Self::Row),
        ("tensor", Self::Tensor),
    ];
}

impl Words for LoadMode {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("none", Self::Read),
        ("mmap", Self::Mapped),
        ("mlock", Self::Locked),
        ("mmap+mlock", Self::MappedLocked),
        ("dio", Self::Direct),
    ];
}

impl Words for LazyMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("on", Self::On), ("off", Self::Off)];
}

impl GpuLayers {
    /// As the loader counts them: anything but a number is all (`llama_model::n_gpu_layers`).
    pub(in super::super) fn count(self) -> u64 {
        match self {
            Self::Auto | Self::All => u64::MAX,
            Self::Count(count) => count,
        }
    }
}

impl LoadMode {
    /// Host weights are pages of the file, unless a device cannot (`auto`).
    pub(in super::super) fn maps(self) -> bool {
        matches!(self, Self::Auto | Self::Mapped | Self::MappedLocked)
    }

    /// Host weights are locked in memory.
    pub(in super::super) fn locks(self) -> bool {
        matches!(self, Self::Locked | Self::MappedLocked)
    }
}
