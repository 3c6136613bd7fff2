//! What the backends can do, as far as placement depends on it: `ggml/src/ggml-cuda/ggml-cuda.cu`, `fattn.cu`, and
//! `ggml/src/ggml-cpu/ggml-cpu.cpp` (0.6.0-dev).

use super::graph::Graph;
use super::tensor::{Id, Op, Tensor, row_bytes};
use crate::quant::Type;

/// Rows of a batch from which a GPU takes over operations on weights in main memory (`GGML_OP_OFFLOAD_MIN_BATCH`).
const OFFLOAD_ROWS: u64 = 32;

/// Cells per step of the attention kernels (`FATTN_KQ_STRIDE`).
const ATTENTION_STRIDE: u64 = 256;

/// Cells from which the vector kernel no longer serves heads that share K.
pub(super) const VECTOR_KERNEL_CELLS: u64 = 8192;

/// Quantized rows are padded to this many values (`MATRIX_ROW_PADDING`).
const ROW_PADDING: u64 = 512;

/// The rules of one machine.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about a machine and a build"
)]
pub(super) struct Rules {
    /// Number of GPUs; the CPU is the backend after them.
    pub(super) gpus: u8,
    /// Operations on weights in main memory may run on a GPU.
    pub(super) op_offload: bool,
    /// The f16 copies of attention's K and V are part of its result (since mid 2026); otherwise from a hidden pool.
    pub(super) attention_copies: bool,
    /// Turing or newer.
    pub(super) tensor_cores: bool,
    /// Ada Lovelace or newer.
    pub(super) ada: bool,
}

impl Rules {
    /// The backend of the CPU.
    pub(super) fn cpu(self) -> u8 {
        self.gpus
    }

    /// Whether this backend can run the node.
    pub(super) fn supports(self, graph: &Graph, backend: u8, id: Id) -> bool {
        let node = graph.at(id);
        if backend >= self.gpus {
            return true;
        }
        let foreign = node.sources().any(|source| {
            let home = graph.at(source).home;
            home.is_some_and(|home| home.backend < self.gpus && home.backend != backend)
        });
        !foreign && gpu_supports(graph, node)
    }

    /// Whether a GPU wants the node although its weight is in main memory.
    pub(super) fn wants(graph: &Graph, id: Id) -> bool {
        let node = graph.at(id);
        let [_, ne1, ne2, _] = node.ne;
        let rows = match node.op {
            Op::GetRows => 0,
            Op::MulMat => ne1,
            Op::MulMatId | Op::Rope => ne2,
            _ => node.rows(),
        };
        rows >= OFFLOAD_ROWS
    }

    /// Bytes that a tensor takes in a buffer of this backend.
    pub(super) fn alloc_bytes(self, graph: &Graph, backend: u8, id: Id) -> u64 {
        let node = graph.at(id);
        if backend >= self.gpus {
            return node.bytes();
        }
        let mut bytes = node.bytes();
        if node.op == Op::FlashAttn && self.attention_copies {
            bytes = self.attention_bytes(graph, node);
        }
        if node.dtype.is_quantized() {
            let [ne0, ..] = node.ne;
            let over = ne0 % ROW_PADDING;
            if over != 0 {
                bytes = bytes.saturating_add(row_bytes(node.dtype, ROW_PADDING - over));
            }
        }
        bytes
    }

    /// The result of attention with the f16 copies of K and V that its kernel makes behind it.
    fn attention_bytes(self, graph: &Graph, node: &Tensor) -> u64 {
        let (k, v) = (node.source(1), node.source(2));
        let mut end = node.bytes();
        let convert = self.converts(graph, node);
        let (k_tensor, v_tensor) = (graph.at(k), graph.at(v));
        let k_copied = convert && k_tensor.dtype != Type::F16;
        if k_copied {
            end = padded(end).saturating_add(k_tensor.elements().saturating_mul(2));
        }
        let shared = v_tensor.view_src != Id::NONE
            && (v_tensor.view_src == k
                || (v_tensor.view_src == k_tensor.view_src && v_tensor.offset == k_tensor.offset));
        if convert && v_tensor.dtype != Type::F16 && !(shared && k_copied) {
            end = padded(end).saturating_add(v_tensor.elements().saturating_mul(2));
        }
        end
    }

    /// Whether the kernel chosen for this node works on f16 (all but the vector kernel, which reads the listed types).
    fn converts(self, graph: &Graph, node: &Tensor) -> bool {
        let [q, k, v] = [0, 1, 2].map(|position| graph.at(node.source(position)));
        if !self.uses_vector_kernel(graph, node) {
            return true;
        }
        // The vector kernel is compiled for these pairs only; others fall back to f16 (`GGML_CUDA_FA_QUANTS`).
        let [width, ..] = q.ne;
        let compiled = matches!(width, 64 | 128 | 256)
            && k.dtype == v.dtype
            && matches!(k.dtype, Type::F16 | Type::BF16 | Type::Q4_0 | Type::Q8_0);
        !compiled
    }

    fn uses_vector_kernel(self, graph: &Graph, node: &Tensor) -> bool {
        let [q, k, v] = [0, 1, 2].map(|position| graph.at(node.source(position)));
        let ([width, rows, heads, streams], [_, cells, kv_heads, _]) = (q.ne, k.ne);
        let possible = width <= 256
            && width.is_multiple_of(64)
            && width != 192
            && cells.is_multiple_of(ATTENTION_STRIDE);
        if !possible {
            return false;
        }
        let ratio = heads / kv_heads.max(1);
        let grouped = groups_heads(graph, node);
        let quantized = k.dtype.is_quantized() || v.dtype.is_quantized();
        if !self.tensor_cores {
            return if quantized {
                rows <= 2
            } else {
                rows == 1 && !grouped
            };
        }
        if !grouped && rows == 1 {
            return true;
        }
        match (quantized, self.ada) {
            (false, true) => {
                rows == 1
                    && streams == 1
                    && !(ratio > 4 && (width >= 256 || cells >= VECTOR_KERNEL_CELLS))
            }
            (false, false) => false,
            (true, true) => rows <= 2,
            (true, false) => rows == 1,
        }
    }
}

fn padded(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(128).unwrap_or(u64::MAX)
}

/// Heads that share K are handled together (`gqa_opt_applies`).
fn groups_heads(graph: &Graph, node: &Tensor) -> bool {
    let [q, k, v, mask] = [0, 1, 2, 3].map(|position| graph.at(node.source(position)));
    let ([_, _, heads, _], [_, cells, kv_heads, _]) = (q.ne, k.ne);
    let ratio = heads / kv_heads.max(1);
    ratio >= 2
        && node.source(3) != Id::NONE
        && cells.is_multiple_of(ATTENTION_STRIDE)
        && [q, k, v, mask].into_iter().all(|tensor| {
            let [_, strides @ ..] = tensor.nb;
            tensor.dtype.is_quantized() || strides.iter().all(|nb| nb.is_multiple_of(16))
        })
}

/// Head widths and types for which there is an attention kernel (`ggml_cuda_get_best_fattn_kernel`).
fn has_attention_kernel(graph: &Graph, node: &Tensor) -> bool {
    let [q, k, v] = [0, 1, 2].map(|position| graph.at(node.source(position)));
    let ([_, _, heads, _], [width, _, kv_heads, _], [value, ..]) = (q.ne, k.ne, v.ne);
    let ratio = heads / kv_heads.max(1);
    let grouped = groups_heads(graph, node);
    let fits = match width {
        40 | 64 | 72 | 80 | 96 | 112 | 128 | 256 => value == width,
        192 => value == 128 && grouped && ratio.is_multiple_of(8),
        320 => value == 256 && grouped && ratio.is_multiple_of(32),
        512 => value == width && grouped,
        576 => value == 512 && grouped,
        _ => false,
    };
    let [_, _, mask_heads, _] = graph.at(node.source(3)).ne;
    let shared_mask = node.source(3) == Id::NONE || mask_heads == 1;
    fits && shared_mask && [k, v].into_iter().all(|tensor| is_cache_type(tensor.dtype))
}

fn is_cache_type(dtype: Type) -> bool {
    matches!(
        dtype,
        Type::F32
            | Type::F16
            | Type::BF16
            | Type::Q4_0
            | Type::Q4_1
            | Type::Q5_0
            | Type::Q5_1
            | Type::Q8_0
    )
}

/// `ggml_backend_cuda_device_supports_op`, for the operations that graph builders use.
fn gpu_supports(graph: &Graph, node: &Tensor) -> bool {
    let first = graph.at(node.source(0));
    let second = graph.at(node.source(1));
    match node.op {
        op if op.is_unary() => first.is_contiguous(),
        Op::Glu => first.is_contiguous_from(1),
        Op::MulMat | Op::MulMatId => {
            let dense = [first, second].into_iter().all(|tensor| {
                let [nb0, ..] = tensor.nb;
                nb0 == tensor.dtype.block_bytes()
            });
            dense && !(second.dtype == Type::F16 && first.dtype != Type::F16)
        }
        Op::GetRows => match first.dtype {
            // Super-blocks are gathered whole.
            Type::IQ4_NL | Type::MXFP4 => {
                let [ne0, ..] = first.ne;
                ne0.is_multiple_of(256)
            }
            Type::I64 | Type::TQ1_0 | Type::TQ2_0 | Type::NVFP4 => false,
            _ => true,
        },
        Op::SetRows => is_cache_type(node.dtype) || node.dtype == Type::IQ4_NL,
        Op::Norm | Op::RmsNorm | Op::SumRows | Op::Mean => {
            let [nb0, ..] = first.nb;
            nb0 == first.dtype.block_bytes()
        }
        Op::Rope => {
            let [nb0, ..] = first.nb;
            nb0 == first.dtype.block_bytes() && first.is_contiguous_from(2)
        }
        Op::FlashAttn => has_attention_kernel(graph, node),
        Op::SsmConv => {
            let [_, ne1, ..] = first.ne;
            ne1.is_multiple_of(128)
        }
        Op::SsmScan => scan_supported(graph, node),
        Op::LightningIndexer => {
            let [width, heads, ..] = first.ne;
            let dense = [first, second].into_iter().all(|tensor| {
                let [_, strides @ ..] = tensor.nb;
                tensor.dtype.is_quantized() || strides.iter().all(|nb| nb.is_multiple_of(16))
            });
            width == 128 && matches!(heads, 4 | 32 | 64) && dense && is_cache_type(second.dtype)
        }
        _ => true,
    }
}

fn scan_supported(graph: &Graph, node: &Tensor) -> bool {
    let [state, decay, group] = [0, 3, 4].map(|position| graph.at(node.source(position)));
    let ([width, head, heads, _], [decay, ..], [_, groups, ..]) = (state.ne, decay.ne, group.ne);
    if decay == 1 {
        matches!(width, 96 | 128 | 256) && head.is_multiple_of(16)
    } else {
        width == 16 && head == 1 && heads.is_multiple_of(128) && groups == 1
    }
}
