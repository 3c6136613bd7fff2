//! The tensors of a model file: what llama.cpp's converter writes and its loader expects, by architecture
//! (`src/models/*.cpp` and `src/llama-arch.cpp`, 0.6.0-dev).

mod architecture;
mod attention;
mod block;
mod build;
mod feed_forward;
mod native;
mod outside;
mod reads;
mod recurrent;
mod row;
mod table;

pub use crate::engine::llamacpp::mixture::NoFallback;
pub use architecture::{Architecture, Unsupported};
pub use native::Findings;
pub(in crate::engine::llamacpp) use reads::is_architecture;
pub(in crate::engine::llamacpp) use row::held;
pub use row::{Matrix, Network, Part, Row};
pub use table::{Error, TensorTable};

use crate::model::Model;

/// One tensor of a model file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    /// Its GGUF name ("blk.0.attn_q.weight").
    pub name: String,
    /// Which buffers it goes with.
    pub layer: Layer,
    /// Its dimensions, fastest first; unused ones are 1 (ggml's `ne`).
    pub shape: [u64; 4],
    /// In which form the converter writes it.
    pub stored: Stored,
    /// The loader reads it; prediction blocks are skipped.
    pub loaded: bool,
}

/// The part of a model that decides on which device a tensor lives (`llm_tensor_layer` in `src/llama-arch.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Looked up by token, always by the processor.
    Input,
    /// One of the blocks, by index.
    Block(u32),
    /// Every block uses it: each device with blocks gets a copy (tables of rotary factors).
    EveryBlock,
    /// Norm, head and what else follows the last block.
    Output,
}

/// How a converter writes a tensor before it is quantized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stored {
    /// In the 16 or 32 bits of the whole file; the quantizer may replace it.
    Plain,
    /// Always in 32 bits: vectors, norms, routers, convolutions.
    Single,
    /// A table of 32-bit integers.
    Integer,
}

impl Tensor {
    /// Its number of dimensions (`ggml_n_dims`).
    pub fn dimensions(&self) -> usize {
        self.shape
            .iter()
            .rposition(|extent| *extent > 1)
            .map_or(1, |index| index + 1)
    }

    /// Its number of elements.
    pub fn elements(&self) -> u64 {
        crate::model::product(&self.shape)
    }
}

/// The tensors of the model's file, by block and name as the quantizer and loader walk them
/// (`weight_name_comparer` in `src/llama-model-loader.h`, 0.6.0-dev). `prediction`: prediction blocks are loaded.
///
/// # Errors
/// The engine has no architecture for the model.
pub fn tensors(
    model: &Model,
    prediction: bool,
) -> Result<(Architecture, Vec<Tensor>), Unsupported> {
    let architecture = Architecture::of(model)?;
    Ok((architecture, tensors_as(model, architecture, prediction)))
}

/// The same where the architecture is known.
fn tensors_as(model: &Model, architecture: Architecture, prediction: bool) -> Vec<Tensor> {
    let mut build = build::Build::new(model, architecture);
    outside::tensors(&mut build);
    block::tensors(&mut build, prediction);
    let mut tensors = build.finish();
    // Built block by block, so only the names within one are out of order.
    for block in tensors.chunk_by_mut(|a, b| block_of(a) == block_of(b)) {
        block.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    }
    tensors
}

fn block_of(tensor: &Tensor) -> Option<u32> {
    match tensor.layer {
        Layer::Block(block) if tensor.name.starts_with("blk.") => Some(block),
        _ => None,
    }
}
