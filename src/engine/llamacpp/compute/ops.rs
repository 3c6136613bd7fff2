//! The operations of `ggml.h` (0.6.0-dev) that graph builders use: result shapes, sources, views.

use super::graph::Graph;
use super::tensor::{Id, Op, dense, row_bytes};
use crate::quant::Type;

impl Graph {
    /// Another shape over the same dense memory.
    pub(super) fn reshape(&mut self, a: Id, ne: [u64; 4]) -> Id {
        let nb = dense(self.at(a).dtype, ne);
        self.view_node(Op::Reshape, a, ne, nb, 0)
    }

    /// A part of a tensor; `nb` are the strides of dimensions 1 to 3.
    pub(super) fn view(&mut self, a: Id, ne: [u64; 4], nb: [u64; 3], offset: u64) -> Id {
        let [nb1, nb2, nb3] = nb;
        let nb0 = self.at(a).dtype.block_bytes();
        self.view_node(Op::View, a, ne, [nb0, nb1, nb2, nb3], offset)
    }

    /// A two-dimensional part of a tensor.
    pub(super) fn view_2d(&mut self, a: Id, ne0: u64, ne1: u64, nb1: u64, offset: u64) -> Id {
        let plane = nb1.saturating_mul(ne1);
        self.view(a, [ne0, ne1, 1, 1], [nb1, plane, plane], offset)
    }

    /// A three-dimensional part of a tensor.
    pub(super) fn view_3d(&mut self, a: Id, ne: [u64; 3], nb: [u64; 2], offset: u64) -> Id {
        let ([ne0, ne1, ne2], [nb1, nb2]) = (ne, nb);
        self.view(
            a,
            [ne0, ne1, ne2, 1],
            [nb1, nb2, nb2.saturating_mul(ne2)],
            offset,
        )
    }

    /// Dimension `i` becomes dimension `axes[i]`.
    pub(super) fn permute(&mut self, a: Id, axes: [usize; 4]) -> Id {
        let source = *self.at(a);
        let (mut ne, mut nb) = (source.ne, source.nb);
        for (from, to) in axes.into_iter().enumerate() {
            if let (Some(to), Some(from)) = (ne.get_mut(to), source.ne.get(from)) {
                *to = *from;
            }
            if let (Some(to), Some(from)) = (nb.get_mut(to), source.nb.get(from)) {
                *to = *from;
            }
        }
        self.view_node(Op::Permute, a, ne, nb, 0)
    }

    /// Dimensions 0 and 1 exchanged.
    pub(super) fn transpose(&mut self, a: Id) -> Id {
        let source = *self.at(a);
        let ([ne0, ne1, ne2, ne3], [nb0, nb1, nb2, nb3]) = (source.ne, source.nb);
        let (ne, nb) = ([ne1, ne0, ne2, ne3], [nb1, nb0, nb2, nb3]);
        self.view_node(Op::Transpose, a, ne, nb, 0)
    }

    /// A dense copy in another shape.
    pub(super) fn cont_as(&mut self, a: Id, ne: [u64; 4]) -> Id {
        let dtype = self.at(a).dtype;
        self.node(Op::Cont, dtype, ne, [a])
    }

    /// A dense copy.
    pub(super) fn cont(&mut self, a: Id) -> Id {
        let ne = self.at(a).ne;
        self.cont_as(a, ne)
    }

    /// A copy in another type, which names itself as second source.
    pub(super) fn cast(&mut self, a: Id, dtype: Type) -> Id {
        let ne = self.at(a).ne;
        self.node(Op::Cpy, dtype, ne, [a])
    }

    /// `a` copied over `b`: a view of `b`.
    pub(super) fn copy(&mut self, a: Id, b: Id) -> Id {
        let target = *self.at(b);
        let copy = self.view_node(Op::Cpy, b, target.ne, target.nb, 0);
        self.set_sources(copy, 0, [a, b]);
        copy
    }

    /// An element-wise result in the shape of `a`, from `a` alone.
    pub(super) fn map(&mut self, op: Op, a: Id) -> Id {
        let (dtype, ne) = (self.at(a).dtype, self.at(a).ne);
        self.node(op, dtype, ne, [a])
    }

    /// An element-wise result in the shape of `a`; `b` is broadcast.
    pub(super) fn zip(&mut self, op: Op, a: Id, b: Id) -> Id {
        let (dtype, ne) = (self.at(a).dtype, self.at(a).ne);
        self.node(op, dtype, ne, [a, b])
    }

    /// `a + b`.
    pub(super) fn add(&mut self, a: Id, b: Id) -> Id {
        self.zip(Op::Add, a, b)
    }

    /// `a * b`.
    pub(super) fn mul(&mut self, a: Id, b: Id) -> Id {
        self.zip(Op::Mul, a, b)
    }

    /// `a * factor`.
    pub(super) fn scale(&mut self, a: Id) -> Id {
        self.map(Op::Scale, a)
    }

    /// `a + b[ids]` per expert.
    pub(super) fn add_id(&mut self, a: Id, b: Id, ids: Id) -> Id {
        let (dtype, ne) = (self.at(a).dtype, self.at(a).ne);
        self.node(Op::AddId, dtype, ne, [a, b, ids])
    }

    /// Matrix product with a weight or a cache.
    pub(super) fn mul_mat(&mut self, a: Id, b: Id) -> Id {
        let ([_, rows, ..], [_, ne1, ne2, ne3]) = (self.at(a).ne, self.at(b).ne);
        self.node(Op::MulMat, Type::F32, [rows, ne1, ne2, ne3], [a, b])
    }

    /// Matrix product with the chosen experts.
    pub(super) fn mul_mat_id(&mut self, experts: Id, b: Id, ids: Id) -> Id {
        let ([_, rows, ..], [chosen, ..]) = (self.at(experts).ne, self.at(ids).ne);
        let [_, _, tokens, _] = self.at(b).ne;
        self.node(
            Op::MulMatId,
            Type::F32,
            [rows, chosen, tokens, 1],
            [experts, b, ids],
        )
    }

    /// Rows of `a` chosen by `ids`.
    pub(super) fn get_rows(&mut self, a: Id, ids: Id) -> Id {
        let dtype = match self.at(a).dtype {
            Type::I32 => Type::I32,
            _ => Type::F32,
        };
        let ([row, ..], [ne0, ne1, ne2, _]) = (self.at(a).ne, self.at(ids).ne);
        self.node(Op::GetRows, dtype, [row, ne0, ne1, ne2], [a, ids])
    }

    /// Rows `b` written into `a` at `ids`: a view of `a`.
    pub(super) fn set_rows(&mut self, a: Id, b: Id, ids: Id) -> Id {
        let target = *self.at(a);
        let node = self.view_node(Op::SetRows, a, target.ne, target.nb, 0);
        self.set_sources(node, 0, [b, ids, a]);
        node
    }

    /// Rotary positions.
    pub(super) fn rope(&mut self, a: Id, positions: Id, factors: Option<Id>) -> Id {
        let (dtype, ne) = (self.at(a).dtype, self.at(a).ne);
        let factors = factors.unwrap_or(Id::NONE);
        self.node(Op::Rope, dtype, ne, [a, positions, factors])
    }

    /// Softmax with a mask and sinks.
    pub(super) fn soft_max(&mut self, a: Id, mask: Option<Id>, sinks: Option<Id>) -> Id {
        let (dtype, ne) = (self.at(a).dtype, self.at(a).ne);
        let (mask, sinks) = (mask.unwrap_or(Id::NONE), sinks.unwrap_or(Id::NONE));
        self.node(Op::SoftMax, dtype, ne, [a, mask, sinks])
    }

    /// Fused attention.
    pub(super) fn flash_attn(&mut self, q: Id, k: Id, v: Id, mask: Id, sinks: Option<Id>) -> Id {
        let ([_, ne1, ne2, ne3], [width, ..]) = (self.at(q).ne, self.at(v).ne);
        let sinks = sinks.unwrap_or(Id::NONE);
        self.node(
            Op::FlashAttn,
            Type::F32,
            [width, ne2, ne1, ne3],
            [q, k, v, mask, sinks],
        )
    }

    /// Gate and value in two tensors.
    pub(super) fn glu_split(&mut self, gate: Id, up: Id) -> Id {
        self.zip(Op::Glu, gate, up)
    }

    /// Gate and value side by side in one tensor.
    pub(super) fn glu(&mut self, a: Id) -> Id {
        let (dtype, [ne0, ne1, ne2, ne3]) = (self.at(a).dtype, self.at(a).ne);
        self.node(Op::Glu, dtype, [ne0 / 2, ne1, ne2, ne3], [a])
    }

    /// Joined along a dimension.
    pub(super) fn concat(&mut self, a: Id, b: Id, dimension: usize) -> Id {
        let (dtype, mut ne) = (self.at(a).dtype, self.at(a).ne);
        let more = self.at(b).ne.get(dimension).copied().unwrap_or(0);
        if let Some(length) = ne.get_mut(dimension) {
            *length = length.saturating_add(more);
        }
        self.node(Op::Concat, dtype, ne, [a, b])
    }

    /// Repeated to a larger shape.
    pub(super) fn repeat(&mut self, a: Id, ne: [u64; 4]) -> Id {
        let dtype = self.at(a).dtype;
        self.node(Op::Repeat, dtype, ne, [a])
    }

    /// The positions of the `k` largest values of each row: a view of the whole order.
    pub(super) fn argsort_top_k(&mut self, a: Id, k: u64) -> Id {
        let ne = self.at(a).ne;
        let order = self.node(Op::Argsort, Type::I32, ne, [a]);
        let ([_, ne1, ne2, ne3], [_, nb1, nb2, nb3]) = (ne, self.at(order).nb);
        self.view(order, [k, ne1, ne2, ne3], [nb1, nb2, nb3], 0)
    }

    /// The positions of the `k` largest values of each row.
    pub(super) fn top_k(&mut self, a: Id, k: u64) -> Id {
        let [_, ne1, ne2, ne3] = self.at(a).ne;
        self.node(Op::TopK, Type::I32, [k, ne1, ne2, ne3], [a])
    }

    /// The mean of each row.
    pub(super) fn mean(&mut self, a: Id) -> Id {
        let (dtype, [_, ne1, ne2, ne3]) = (self.at(a).dtype, self.at(a).ne);
        self.node(Op::Mean, dtype, [1, ne1, ne2, ne3], [a])
    }

    /// The largest of each `size` values of a row.
    pub(super) fn pool(&mut self, a: Id, size: u64) -> Id {
        let [ne0, ne1, ne2, ne3] = self.at(a).ne;
        let ne = [ne0 / size.max(1), ne1, ne2, ne3];
        self.node(Op::Pool, Type::F32, ne, [a])
    }

    /// The numbers from 0 to below `count`.
    pub(super) fn arange(&mut self, count: u64) -> Id {
        self.node(Op::Arange, Type::F32, [count, 1, 1, 1], [])
    }

    /// The sum of each row.
    pub(super) fn sum_rows(&mut self, a: Id) -> Id {
        let (dtype, [_, ne1, ne2, ne3]) = (self.at(a).dtype, self.at(a).ne);
        self.node(Op::SumRows, dtype, [1, ne1, ne2, ne3], [a])
    }

    /// Padded at the end of each dimension.
    pub(super) fn pad(&mut self, a: Id, by: [u64; 4]) -> Id {
        let (dtype, mut ne) = (self.at(a).dtype, self.at(a).ne);
        for (length, by) in ne.iter_mut().zip(by) {
            *length = length.saturating_add(by);
        }
        self.node(Op::Pad, dtype, ne, [a])
    }

    /// A one-dimensional part of a tensor.
    pub(super) fn view_1d(&mut self, a: Id, ne0: u64, offset: u64) -> Id {
        let row = row_bytes(self.at(a).dtype, ne0);
        self.view(a, [ne0, 1, 1, 1], [row; 3], offset)
    }

    /// `a + b` over `a` itself.
    pub(super) fn add_in_place(&mut self, a: Id, b: Id) -> Id {
        let source = *self.at(a);
        let node = self.view_node(Op::Add, a, source.ne, source.nb, 0);
        self.set_sources(node, 0, [a, b]);
        node
    }

    /// `a * factor` over `a` itself.
    pub(super) fn scale_in_place(&mut self, a: Id) -> Id {
        let source = *self.at(a);
        self.view_node(Op::Scale, a, source.ne, source.nb, 0)
    }

    /// A short convolution over time.
    pub(super) fn ssm_conv(&mut self, a: Id, taps: Id) -> Id {
        let ([length, width, sequences, _], [taps_long, ..]) = (self.at(a).ne, self.at(taps).ne);
        let steps = length.saturating_add(1).saturating_sub(taps_long);
        let ne = [width, steps, sequences, 1];
        self.node(Op::SsmConv, Type::F32, ne, [a, taps])
    }
}
