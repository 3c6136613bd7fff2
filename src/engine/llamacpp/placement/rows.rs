//! Matrices of which every GPU holds some rows: split mode "row" of the older generation
//! (`ggml_backend_cuda_split_buffer_type`, `get_row_split` in `ggml/src/ggml-cuda/ggml-cuda.cu` of 2025; gone from
//! 0.6.0-dev).

use super::{Device, Placement};
use crate::engine::llamacpp::tensors::{Layer, Row, TensorTable};
use crate::units::Bytes;

/// Rows of a quantized type end with room for the rest of so many elements (`MATRIX_ROW_PADDING`).
const GPU_ROW: u64 = 512;

/// Rows of a tile of the quantized product (`get_mmq_y_host`): parts are multiples of it. Cards before Volta have half.
const TILE: u64 = 128;

/// What every GPU holds.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine::llamacpp) struct Rows {
    /// Rows of matrices, of all layers.
    pub(in crate::engine::llamacpp) parts: Vec<Bytes>,
    /// What is not split, of its own layers: norms, experts, matrices too small.
    pub(in crate::engine::llamacpp) own: Vec<Bytes>,
}

impl Rows {
    /// Splits the matrices of a placement. `shares` are those of the plan; without any, the memory of the cards decides.
    pub(in crate::engine::llamacpp) fn new(
        placement: &Placement,
        table: &TensorTable,
        shares: &[f64],
        memory: &[Bytes],
        old_cards: bool,
    ) -> Self {
        let gpus = placement.gpus.len();
        let starts = starts(shares, memory, gpus);
        let tile = if old_cards { TILE / 2 } else { TILE };
        let mut rows = Self {
            parts: vec![Bytes::ZERO; gpus],
            own: placement.gpus.iter().map(|share| share.bytes).collect(),
        };
        for (row, device) in table.rows.iter().zip(&placement.rows) {
            let Some(Device::Gpu(gpu)) = *device else {
                continue;
            };
            let at_home = placement.home(row) == Some(Device::Gpu(gpu));
            if !at_home || !is_matrix(row) {
                continue;
            }
            let counts = counts(row.tensor.shape[1], &starts, tile);
            // Where the layer's own GPU would get none, the matrix stays whole.
            if counts.get(gpu).copied().unwrap_or(0) == 0 {
                continue;
            }
            if let Some(own) = rows.own.get_mut(gpu) {
                *own = own.saturating_sub(row.gpu_bytes);
            }
            for (part, count) in rows.parts.iter_mut().zip(counts) {
                *part += bytes(row, count);
            }
        }
        rows
    }

    /// Weights of one GPU.
    pub(in crate::engine::llamacpp) fn on(&self, gpu: usize) -> Bytes {
        let get = |list: &[Bytes]| list.get(gpu).copied().unwrap_or_default();
        get(&self.parts) + get(&self.own)
    }

    /// Weights of all GPUs.
    pub(in crate::engine::llamacpp) fn total(&self) -> Bytes {
        self.parts.iter().chain(&self.own).copied().sum()
    }
}

/// Split buffers hold nothing but the matrices of plain products.
fn is_matrix(row: &Row) -> bool {
    let tensor = &row.tensor;
    let in_order = matches!(tensor.layer, Layer::Block(_) | Layer::Output);
    in_order
        && tensor.dimensions() == 2
        && tensor.name.ends_with(".weight")
        && !tensor.name.contains("_norm")
        && !tensor.name.contains("ssm_conv1d")
}

/// Where each GPU's part begins, from 0 to 1.
fn starts(shares: &[f64], memory: &[Bytes], gpus: usize) -> Vec<f32> {
    let given = shares.iter().any(|share| *share > 0.0);
    let share = |gpu: usize| {
        if given {
            shares.get(gpu).copied().unwrap_or(0.0) as f32
        } else {
            memory.get(gpu).map_or(0.0, |bytes| bytes.get() as f32)
        }
    };
    let all: f32 = (0..gpus).map(share).sum();
    let mut sum = 0.0;
    (0..gpus)
        .map(|gpu| {
            let start = if all > 0.0 { sum / all } else { 0.0 };
            sum += share(gpu);
            start
        })
        .collect()
}

/// Rows per GPU.
fn counts(rows: u64, starts: &[f32], tile: u64) -> Vec<u64> {
    let begin = |gpu: usize| match starts.get(gpu) {
        Some(start) => {
            let low = (rows as f32 * start) as u64;
            low - low % tile
        }
        None => rows,
    };
    (0..starts.len())
        .map(|gpu| begin(gpu + 1).saturating_sub(begin(gpu)))
        .collect()
}

fn bytes(row: &Row, count: u64) -> Bytes {
    if count == 0 {
        return Bytes::ZERO;
    }
    let [inputs, ..] = row.tensor.shape;
    let whole = row.kind.shape_bytes(&[inputs, count, 1, 1]);
    let padding = match inputs % GPU_ROW {
        rest if rest != 0 && row.kind.is_quantized() => {
            (GPU_ROW - rest) / row.kind.block_elements() * row.kind.block_bytes()
        }
        _ => 0,
    };
    whole.unwrap_or(Bytes::new(u64::MAX)) + Bytes::new(padding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_tiles_and_all_of_it() {
        let even = starts(&[], &[Bytes::from_gib(24); 2], 2);
        assert_eq!(counts(4096, &even, TILE), [2048, 2048]);
        // Half of 1000 is 500, which begins in the fourth tile.
        assert_eq!(counts(1000, &even, TILE), [384, 616]);
        assert_eq!(counts(128, &even, TILE), [0, 128]);
        let shares = starts(&[3.0, 1.0], &[], 2);
        assert_eq!(counts(14_336, &shares, TILE), [10_752, 3_584]);
        assert_eq!(counts(128, &even, TILE / 2), [64, 64]);
    }
}
