//! The graph of a vision tower and its projector, and the buffers it needs (`clip_graph::build_vit` and `build_attn` in
//! `tools/mtmd/clip.cpp`, `tools/mtmd/models/{siglip,qwen2vl,qwen3vl,pixtral,llama4,gemma4v,kimik25}.cpp`, 0.6.0-dev).

mod input;
mod layer;
mod output;

use super::backend::Rules;
use super::fusion::{self, Keep};
use super::graph::Graph;
use super::linear::Domain;
use super::place::place;
use super::schedule::Schedule;
use super::tensor::{Home, Id, Op};
use crate::model::{Tower, TowerKind, Vision};
use crate::quant::Type;
use crate::units::Bytes;

/// What a tower computes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine::llamacpp) struct Picture {
    /// Patches along each edge.
    pub(in crate::engine::llamacpp) side: u64,
    /// On a GPU of this compute capability, times ten; `None`: on the processor.
    pub(in crate::engine::llamacpp) compute_capability: Option<u32>,
    /// Type of the matrices.
    pub(in crate::engine::llamacpp) matrices: Type,
    /// Type of the patch embedding.
    pub(in crate::engine::llamacpp) patches: Type,
}

/// The compute buffers of the GPU and of main memory.
pub(in crate::engine::llamacpp) fn picture_buffers(
    vision: &Vision,
    picture: Picture,
) -> (Bytes, Bytes) {
    let rules = Rules {
        gpus: u8::from(picture.compute_capability.is_some()),
        op_offload: false,
        attention_copies: true,
        tensor_cores: picture.compute_capability.is_some_and(|own| own >= 75),
        ada: picture.compute_capability.is_some_and(|own| own >= 89),
    };
    // Fused where the device has the kernel for these heads (`clip_model_loader::warmup`).
    let fused = Run::new(vision, picture, rules, true);
    let run = fused.built();
    let run = if run.attention_is_supported() {
        run
    } else {
        Run::new(vision, picture, rules, false).built()
    };
    let placed = run.buffers();
    let bytes = |backend: usize| placed.get(backend).copied().unwrap_or(Bytes::ZERO);
    match picture.compute_capability {
        Some(_) => (bytes(0), bytes(1)),
        None => (Bytes::ZERO, bytes(0)),
    }
}

struct Run<'a> {
    graph: Graph,
    vision: &'a Vision,
    picture: Picture,
    rules: Rules,
    fused: bool,
    attentions: Vec<Id>,
    positions: Vec<Id>,
    mask: Option<Id>,
    /// A class token beside the patches.
    extra: u64,
}

impl<'a> Run<'a> {
    fn new(vision: &'a Vision, picture: Picture, rules: Rules, fused: bool) -> Self {
        Self {
            graph: Graph::with_capacity(2048),
            vision,
            picture,
            rules,
            fused,
            attentions: Vec::new(),
            positions: Vec::new(),
            mask: None,
            extra: u64::from(vision.tower.kind == TowerKind::Llama4),
        }
    }

    fn tower(&self) -> Tower {
        self.vision.tower
    }

    fn width(&self) -> u64 {
        self.vision.encoder.hidden_size
    }

    fn patches(&self) -> u64 {
        self.picture.side.saturating_mul(self.picture.side)
    }

    fn tokens(&self) -> u64 {
        self.patches().saturating_add(self.extra)
    }

    fn attention_is_supported(&self) -> bool {
        let mut nodes = self.attentions.iter();
        nodes.all(|&id| self.rules.supports(&self.graph, 0, id))
    }

    /// A weight, on the device of all of them.
    fn weight(&mut self, dtype: Type, ne: [u64; 4]) -> Id {
        let home = Home {
            backend: 0,
            weight: true,
        };
        self.graph.existing(dtype, ne, home)
    }

    fn matrix(&mut self, columns: u64, rows: u64, a: Id) -> Id {
        let block = self.picture.matrices.block_elements();
        // Rows that are no whole number of blocks stay in 16 bits.
        let dtype = if columns.is_multiple_of(block) {
            self.picture.matrices
        } else {
            Type::F16
        };
        let weight = self.weight(dtype, [columns, rows, 1, 1]);
        self.graph.mul_mat(weight, a)
    }

    fn bias(&mut self, width: u64, a: Id) -> Id {
        let bias = self.weight(Type::F32, [width, 1, 1, 1]);
        self.graph.add(a, bias)
    }

    fn norm(&mut self, width: u64, a: Id) -> Id {
        let layer_norm = self.has_biases();
        let op = if layer_norm { Op::Norm } else { Op::RmsNorm };
        let bare = self.graph.map(op, a);
        let weight = self.weight(Type::F32, [width, 1, 1, 1]);
        let normed = self.graph.mul(bare, weight);
        if layer_norm {
            self.bias(width, normed)
        } else {
            normed
        }
    }

    /// Layer norms with biases; the others have root mean squares.
    fn has_biases(&self) -> bool {
        matches!(
            self.tower().kind,
            TowerKind::Siglip | TowerKind::Qwen3 | TowerKind::Llama4 | TowerKind::Moon
        )
    }

    fn is_gated(&self) -> bool {
        matches!(
            self.tower().kind,
            TowerKind::Qwen25 | TowerKind::Pixtral | TowerKind::Gemma4
        )
    }

    fn built(mut self) -> Self {
        let out = self.build();
        self.graph.expand(out);
        self
    }

    fn buffers(mut self) -> Vec<Bytes> {
        let mut schedule = Schedule::new(&mut self.graph, self.rules, false);
        let mut keep = Keep::default();
        for split in &mut schedule.splits {
            if split.backend < self.rules.gpus {
                fusion::optimize(&self.graph, &mut split.nodes, &mut keep);
            }
        }
        let mut domain = Domain::everywhere(0);
        domain.narrow();
        let placed = place(
            &self.graph,
            None,
            self.rules,
            &schedule,
            &keep,
            &[],
            &mut domain,
        );
        placed
            .unwrap_or_default()
            .iter()
            .map(|placed| Bytes::new(placed.bytes.at(0)))
            .collect()
    }
}
