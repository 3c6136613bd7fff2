//! Tensors of a compute graph: shapes, strides, views and sources, as `ggml.c` (0.6.0-dev) makes them. No data.

use crate::quant::Type;

/// Index of a tensor in its [`Arena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Id(u32);

impl Id {
    /// No tensor.
    pub(super) const NONE: Self = Self(u32::MAX);

    /// The position in the arena.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }

    /// The tensor at this position of the arena.
    pub(super) fn at(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// Itself, or nothing.
    pub(super) fn some(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }
}

/// Bytes of a row; what does not divide into blocks is cut off.
pub(super) fn row_bytes(dtype: Type, values: u64) -> u64 {
    dtype.block_bytes().saturating_mul(values) / dtype.block_elements()
}

/// What a node computes, as far as placement and allocation depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    None,
    Add,
    AddId,
    Arange,
    Argsort,
    Clamp,
    Concat,
    Cont,
    Cpy,
    Div,
    Dup,
    Fill,
    FlashAttn,
    GatedDeltaNet,
    GetRows,
    Glu,
    HyperComb,
    HyperPost,
    HyperPre,
    LightningIndexer,
    Mean,
    Mul,
    MulMat,
    MulMatId,
    Norm,
    Pad,
    Permute,
    Pool,
    Repeat,
    Reshape,
    RmsNorm,
    Rope,
    Scale,
    SetRows,
    SoftMax,
    Sqr,
    Sqrt,
    SsmConv,
    SsmScan,
    Sub,
    SumRows,
    TopK,
    Transpose,
    Sigmoid,
    Softplus,
    /// Any other element-wise function (SiLU, GELU, tanh, ...).
    Unary,
    View,
}

impl Op {
    /// Only another way to look at its source (`ggml_is_view_op`).
    pub(super) fn is_view(self) -> bool {
        matches!(
            self,
            Self::View | Self::Reshape | Self::Permute | Self::Transpose
        )
    }

    /// An element-wise function (`GGML_OP_UNARY`).
    pub(super) fn is_unary(self) -> bool {
        matches!(self, Self::Unary | Self::Sigmoid | Self::Softplus)
    }

    /// May write over a source (`ggml_op_can_inplace`).
    pub(super) fn can_overwrite(self) -> bool {
        self.is_unary()
            || matches!(
                self,
                Self::Fill
                    | Self::Scale
                    | Self::Add
                    | Self::Sub
                    | Self::AddId
                    | Self::Mul
                    | Self::Div
                    | Self::Sqr
                    | Self::Sqrt
                    | Self::Rope
                    | Self::RmsNorm
                    | Self::Clamp
                    | Self::SoftMax
            )
    }
}

/// Where a tensor that exists before the graph lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Home {
    /// Backend whose memory it is: GPUs from 0, then the CPU.
    pub(super) backend: u8,
    /// A weight rather than a cache.
    pub(super) weight: bool,
}

/// Sources per node (`GGML_MAX_SRC`).
pub(super) const MAX_SOURCES: usize = 10;

/// One tensor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tensor {
    pub(super) op: Op,
    pub(super) dtype: Type,
    pub(super) ne: [u64; 4],
    pub(super) nb: [u64; 4],
    pub(super) src: [Id; MAX_SOURCES],
    /// The tensor whose memory a view shares, never itself a view.
    pub(super) view_src: Id,
    pub(super) offset: u64,
    pub(super) home: Option<Home>,
    pub(super) input: bool,
    pub(super) output: bool,
    /// Taken part in by this batch (`GGML_TENSOR_FLAG_COMPUTE`).
    pub(super) compute: bool,
    /// What the node is part of, for the explanation of the peak.
    pub(super) stage: Stage,
}

/// A part of the graph, named in explanations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine::llamacpp) struct Stage {
    /// Which part.
    pub(in crate::engine::llamacpp) part: Part,
    /// Block it belongs to, where it does.
    pub(in crate::engine::llamacpp) block: Option<u32>,
}

impl Stage {
    /// The beginning of a graph.
    pub(super) const NOTHING: Self = Self {
        part: Part::Input,
        block: None,
    };
}

/// Parts of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::engine::llamacpp) enum Part {
    /// Token embeddings and other inputs.
    Input,
    /// Attention.
    Attention,
    /// Recurrent mixer.
    Recurrent,
    /// Sparse attention's choice of positions.
    Indexer,
    /// Dense feed-forward network.
    FeedForward,
    /// Router and routed experts.
    Experts,
    /// Logits.
    Output,
}

const EMPTY: Tensor = Tensor {
    op: Op::None,
    dtype: Type::F32,
    ne: [1; 4],
    nb: [4; 4],
    src: [Id::NONE; MAX_SOURCES],
    view_src: Id::NONE,
    offset: 0,
    home: None,
    input: false,
    output: false,
    compute: false,
    stage: Stage::NOTHING,
};

impl Tensor {
    /// Number of values.
    pub(super) fn elements(&self) -> u64 {
        self.ne.iter().fold(1, |all, &n| all.saturating_mul(n))
    }

    /// Rows of the first dimension.
    pub(super) fn rows(&self) -> u64 {
        let [_, rest @ ..] = self.ne;
        rest.iter().fold(1, |all, &n| all.saturating_mul(n))
    }

    /// Bytes from the first to the last value (`ggml_nbytes`).
    pub(super) fn bytes(&self) -> u64 {
        if self.ne.contains(&0) {
            return 0;
        }
        let ([ne0, ne @ ..], [nb0, nb @ ..]) = (self.ne, self.nb);
        let head = if self.dtype.block_elements() == 1 {
            self.dtype
                .block_bytes()
                .saturating_add((ne0 - 1).saturating_mul(nb0))
        } else {
            ne0.saturating_mul(nb0) / self.dtype.block_elements()
        };
        ne.iter().zip(nb).fold(head, |bytes, (&ne, nb)| {
            bytes.saturating_add((ne - 1).saturating_mul(nb))
        })
    }

    /// No gaps from dimension `from` on, dense rows below it (`ggml_is_contiguous_n`).
    pub(super) fn is_contiguous_from(&self, from: usize) -> bool {
        let ([ne0, ne @ ..], [nb0, nb @ ..]) = (self.ne, self.nb);
        if ne0 != self.dtype.block_elements() && nb0 != self.dtype.block_bytes() {
            return false;
        }
        let mut next = row_bytes(self.dtype, ne0);
        for (dimension, (ne, nb)) in (1..).zip(ne.into_iter().zip(nb)) {
            if ne == 1 {
                continue;
            }
            if dimension > from {
                if nb != next {
                    return false;
                }
                next = next.saturating_mul(ne);
            } else {
                next = ne.saturating_mul(nb);
            }
        }
        true
    }

    /// No gaps at all.
    pub(super) fn is_contiguous(&self) -> bool {
        self.is_contiguous_from(0)
    }

    /// Same type, shape and strides.
    pub(super) fn same_layout(&self, other: &Self) -> bool {
        self.dtype == other.dtype && self.ne == other.ne && self.nb == other.nb
    }

    /// The sources there are, in order.
    pub(super) fn sources(&self) -> impl Iterator<Item = Id> {
        self.src.iter().copied().filter(|id| *id != Id::NONE)
    }

    /// The source at this position.
    pub(super) fn source(&self, position: usize) -> Id {
        self.src.get(position).copied().unwrap_or(Id::NONE)
    }
}

/// Strides of a dense tensor.
pub(super) fn dense(dtype: Type, ne: [u64; 4]) -> [u64; 4] {
    let [ne0, ne1, ne2, _] = ne;
    let row = row_bytes(dtype, ne0);
    let plane = row.saturating_mul(ne1);
    [dtype.block_bytes(), row, plane, plane.saturating_mul(ne2)]
}

/// All tensors of one graph.
#[derive(Default)]
pub(super) struct Arena(Vec<Tensor>);

impl Arena {
    /// An arena with room for `capacity` tensors.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    /// Number of tensors.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The tensor; an empty one for [`Id::NONE`].
    pub(super) fn at(&self, id: Id) -> &Tensor {
        self.0.get(id.index()).unwrap_or(&EMPTY)
    }

    /// Changes a tensor in place.
    pub(super) fn change(&mut self, id: Id, change: impl FnOnce(&mut Tensor)) {
        if let Some(tensor) = self.0.get_mut(id.index()) {
            change(tensor);
        }
    }

    /// Adds a tensor.
    pub(super) fn push(&mut self, tensor: Tensor) -> Id {
        let id = Id::at(self.0.len());
        self.0.push(tensor);
        id
    }

    /// A dense tensor without an operation.
    pub(super) fn dense(dtype: Type, ne: [u64; 4]) -> Tensor {
        Tensor {
            dtype,
            ne,
            nb: dense(dtype, ne),
            ..EMPTY
        }
    }

    /// A view of `of` with these dimensions, strides and offset.
    pub(super) fn view(&self, of: Id, ne: [u64; 4], nb: [u64; 4], offset: u64) -> Tensor {
        let base = self.at(of);
        Tensor {
            dtype: base.dtype,
            ne,
            nb,
            view_src: base.view_src.some().unwrap_or(of),
            offset: base.offset.saturating_add(offset),
            ..EMPTY
        }
    }

    /// Where the memory of a tensor lies, if it exists before the graph.
    pub(super) fn home(&self, id: Id) -> Option<Home> {
        let tensor = self.at(id);
        match tensor.view_src.some() {
            Some(base) => self.at(base).home,
            None => tensor.home,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_dense_and_strided_tensors() {
        assert_eq!(Arena::dense(Type::F32, [3, 5, 1, 1]).bytes(), 60);
        assert_eq!(Arena::dense(Type::Q4_K, [512, 2, 1, 1]).bytes(), 4 * 144);
        let mut arena = Arena::default();
        let base = arena.push(Arena::dense(Type::F32, [8, 4, 1, 1]));
        let view = arena.view(base, [2, 4, 1, 1], [4, 32, 128, 128], 8);
        assert_eq!(view.bytes(), 4 + 4 + 3 * 32);
        assert!(!view.is_contiguous());
        assert!(view.is_contiguous_from(1));
    }

    #[test]
    fn a_view_of_a_view_names_the_root() {
        let mut arena = Arena::default();
        let base = arena.push(Arena::dense(Type::F32, [8, 4, 1, 1]));
        let first = arena.view(base, [8, 2, 1, 1], [4, 32, 64, 64], 64);
        let first = arena.push(first);
        let second = arena.view(first, [8, 1, 1, 1], [4, 32, 32, 32], 32);
        assert_eq!((second.view_src, second.offset), (base, 96));
    }
}
