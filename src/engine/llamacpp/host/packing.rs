//! Which weights the processor keeps in a layout of its own: `ggml_repack_get_optimal_repack_type` in
//! `ggml/src/ggml-cpu/repack.cpp` and `supports_op` in `ggml/src/ggml-cpu/amx/amx.cpp` (0.6.0-dev).

use super::super::tensors::{Layer, Network, Row};
use crate::hardware::{Machine, Os};
use crate::quant::Type;
use crate::units::Bytes;

/// The processor's vector units, as far as layouts depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum Packing {
    /// AVX2, and perhaps more.
    Avx {
        /// AVX-512.
        wide: bool,
        /// AMX tiles with 8-bit numbers.
        tiles: bool,
    },
    /// Arm with dot products.
    Dot,
    /// None that has layouts.
    Plain,
}

impl Packing {
    /// Those of a machine. Where its features are not known: AVX2, which every x86 processor since 2015 but the
    /// smallest has, and dot products on a Mac, which every Apple chip has.
    pub(super) fn of(machine: &Machine) -> Self {
        let features = &machine.host.cpu_features;
        let has = |name: &str| features.iter().any(|feature| feature == name);
        if features.is_empty() {
            return match machine.os {
                Os::Macos => Self::Dot,
                Os::Linux | Os::Windows => Self::Avx {
                    wide: false,
                    tiles: false,
                },
            };
        }
        if has("avx2") {
            Self::Avx {
                wide: has("avx512f"),
                tiles: has("amx_int8") && has("avx512_vnni"),
            }
        } else if has("asimddp") {
            Self::Dot
        } else {
            Self::Plain
        }
    }

    /// Whether a tensor is kept in such a layout: only matrices of products, the expert ones in three dimensions.
    pub(in super::super) fn takes(self, row: &Row) -> bool {
        row.tensor.layer != Layer::Input && self.takes_head(row)
    }

    /// Whether a tensor would be as the matrix of a product, the embedding as output head included.
    pub(in super::super) fn takes_head(self, row: &Row) -> bool {
        let tensor = &row.tensor;
        let routed = row
            .part
            .is_some_and(|part| part.network == Network::Experts);
        let dimensions = if routed { 3 } else { 2 };
        if tensor.dimensions() != dimensions {
            return false;
        }
        let [_, outputs, ..] = tensor.shape;
        self.tiles(row)
            || self
                .interleave(row.kind)
                .is_some_and(|rows| outputs.is_multiple_of(rows))
    }

    /// Whether it is laid out in tiles.
    fn tiles(self, row: &Row) -> bool {
        let routed = row
            .part
            .is_some_and(|part| part.network == Network::Experts);
        let [inputs, outputs, ..] = row.tensor.shape;
        matches!(self, Self::Avx { tiles: true, .. })
            && !routed
            && tiles_take(row.kind, inputs, outputs)
    }

    /// What a layout takes beyond the file's: tiles keep sums or scales beside each block (`get_row_size` in
    /// `ggml/src/ggml-cpu/amx/mmq.cpp`).
    pub(in super::super) fn extra(self, row: &Row) -> Bytes {
        let per_block = match row.kind {
            Type::Q8_0 | Type::Q4_K | Type::Q5_K => 4,
            Type::IQ4_XS => 2,
            _ => 0,
        };
        if per_block == 0 || !self.takes(row) || !self.tiles(row) {
            return Bytes::ZERO;
        }
        Bytes::new(row.tensor.elements() / row.kind.block_elements() * per_block)
    }

    /// How many rows are interleaved.
    fn interleave(self, kind: Type) -> Option<u64> {
        match (self, kind) {
            (Self::Avx { .. }, Type::Q4_0 | Type::Q4_K | Type::IQ4_NL | Type::MXFP4)
            | (Self::Avx { wide: true, .. }, Type::Q2_K)
            | (Self::Dot, Type::Q4_K | Type::Q5_K | Type::Q6_K) => Some(8),
            (Self::Dot, Type::Q4_0 | Type::IQ4_NL | Type::MXFP4 | Type::Q8_0 | Type::Q1_0) => {
                Some(4)
            }
            _ => None,
        }
    }
}

/// Outputs come in pairs of tiles of 16, inputs in whole tiles or super-blocks.
fn tiles_take(kind: Type, inputs: u64, outputs: u64) -> bool {
    let step = match kind {
        Type::Q4_0 | Type::Q4_1 | Type::Q8_0 => 32,
        Type::Q4_K | Type::Q5_K | Type::Q6_K | Type::IQ4_XS => 256,
        _ => return false,
    };
    inputs.is_multiple_of(step) && outputs.is_multiple_of(32)
}
