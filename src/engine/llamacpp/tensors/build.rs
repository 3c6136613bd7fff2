//! Collects tensors under the engine's names.

use std::fmt;

use super::{Architecture, Layer, Stored, Tensor};
use crate::model::{Model, Norm};

/// The list as it grows.
pub(super) struct Build<'a> {
    /// The model.
    pub(super) model: &'a Model,
    /// What it is converted to.
    pub(super) architecture: Architecture,
    tensors: Vec<Tensor>,
    /// Prefix and place of the block at hand.
    block: Option<u32>,
    loaded: bool,
}

impl<'a> Build<'a> {
    /// Nothing yet.
    pub(super) fn new(model: &'a Model, architecture: Architecture) -> Self {
        Self {
            model,
            architecture,
            tensors: Vec::new(),
            block: None,
            loaded: true,
        }
    }

    /// What follows belongs to this block, which the loader reads or skips.
    pub(super) fn enter(&mut self, block: u32, loaded: bool) {
        self.block = Some(block);
        self.loaded = loaded;
    }

    /// The list.
    pub(super) fn finish(self) -> Vec<Tensor> {
        self.tensors
    }

    /// Width of the residual stream.
    pub(super) fn width(&self) -> u64 {
        self.model.hidden_size
    }

    /// A tensor outside of the blocks.
    pub(super) fn outside(&mut self, layer: Layer, name: &str, shape: &[u64], stored: Stored) {
        self.tensors.push(Tensor {
            name: name.to_owned(),
            layer,
            shape: padded(shape),
            stored,
            loaded: true,
        });
    }

    /// A tensor of the block at hand under its full name behind the block's prefix.
    pub(super) fn named(&mut self, name: &str, shape: &[u64], stored: Stored) {
        self.push(format_args!("{name}"), shape, stored);
    }

    fn push(&mut self, name: fmt::Arguments<'_>, shape: &[u64], stored: Stored) {
        let Some(block) = self.block else { return };
        self.tensors.push(Tensor {
            name: format!("blk.{block}.{name}"),
            layer: Layer::Block(block),
            shape: padded(shape),
            stored,
            loaded: self.loaded,
        });
    }

    /// A matrix, or one per expert.
    pub(super) fn weight(&mut self, name: &str, shape: &[u64]) {
        self.push(format_args!("{name}.weight"), shape, Stored::Plain);
    }

    /// A tensor that converters keep in 32 bits although its name is a matrix's.
    pub(super) fn single(&mut self, name: &str, shape: &[u64]) {
        self.push(format_args!("{name}.weight"), shape, Stored::Single);
    }

    /// A bias, where the model has it.
    pub(super) fn bias(&mut self, name: &str, shape: &[u64], present: bool) {
        if present {
            self.push(format_args!("{name}.bias"), shape, Stored::Single);
        }
    }

    /// A matrix with a bias over its columns.
    pub(super) fn linear(&mut self, name: &str, columns: u64, rows: u64, bias: bool) {
        self.weight(name, &[columns, rows]);
        self.bias(name, &[rows], bias);
    }

    /// A norm over `width` elements.
    pub(super) fn norm(&mut self, name: &str, kind: Norm, width: u64) {
        self.single(name, &[width]);
        self.bias(name, &[width], kind == Norm::LayerNormWithBias);
    }
}

fn padded(shape: &[u64]) -> [u64; 4] {
    let mut extents = [1; 4];
    for (extent, given) in extents.iter_mut().zip(shape) {
        *extent = *given;
    }
    extents
}
