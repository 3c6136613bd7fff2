//! Graph builders: one file per kind of layer, on shared pieces (`src/llama-graph.cpp` 0.6.0-dev).

mod attention;
mod experts;
mod feed_forward;
mod gemma;
mod hybrid;
mod input;
mod latent;
mod recurrent;
mod sparse;
mod transformer;

use super::backend::Rules;
use super::graph::Graph;
use super::plan::{Block, GraphPlan, Weight};
use super::tensor::{Home, Id, Op, Part};
use super::{Exactness, GraphLoad};
use crate::model::{Activation, Mixer, Norm, Scoring};
use crate::quant::Type;

use self::experts::Routing;
use self::hybrid::HybridStyle;
use self::latent::LatentStyle;
use self::transformer::{PositionScales, SOFTMAX_NORMALIZED, Style};

/// One graph to build.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    /// Tokens.
    pub(super) tokens: u64,
    /// Sequences.
    pub(super) sequences: u64,
    /// Rows of logits.
    pub(super) outputs: u64,
}

/// A graph under construction, with what its parts share.
pub(super) struct Builder<'a> {
    pub(super) graph: Graph,
    pub(super) plan: &'a GraphPlan,
    pub(super) load: &'a GraphLoad,
    pub(super) rules: &'a Rules,
    pub(super) batch: Batch,
    pub(super) flash_attn: bool,
    /// Values are cached transposed: fused attention was ruled out before the cache was made.
    pub(super) values_transposed: bool,
    /// Norms are bound to the device of their block.
    pub(super) pins_norms: bool,
    /// Caches lie with their blocks.
    pub(super) kv_offload: bool,
    /// Attention nodes with the backend of their block, to resolve `flash_attn = auto`.
    pub(super) attention_nodes: Vec<(Id, u8)>,
    known: Vec<(&'static str, usize, Id)>,
    /// Rotary factors, one copy per device (`TENSOR_DUPLICATED` in `llama-model-loader.cpp`).
    rope_factors: Vec<(u8, Id)>,
    /// Caches of the blocks built so far.
    caches_by_block: Vec<(usize, (Id, Id))>,
}

/// Blocks are counted from 0; what stands outside of them is filed under this.
const OUTSIDE: usize = usize::MAX;

impl<'a> Builder<'a> {
    fn new(
        plan: &'a GraphPlan,
        load: &'a GraphLoad,
        rules: &'a Rules,
        batch: Batch,
        flash_attn: bool,
    ) -> Self {
        Self {
            graph: Graph::with_capacity(plan.blocks.len() * 96 + 64),
            plan,
            load,
            rules,
            batch,
            flash_attn,
            values_transposed: load.flash_attn == Some(false),
            // `graph_get_cb`: fewer than 32 tokens, or everything offloaded.
            pins_norms: batch.tokens < 32 || plan.all_offloaded,
            kv_offload: plan.kv_offload,
            attention_nodes: Vec::new(),
            known: Vec::new(),
            rope_factors: Vec::new(),
            caches_by_block: Vec::new(),
        }
    }

    /// Streams of cells: one per sequence unless unified.
    pub(super) fn streams(&self) -> u64 {
        if self.load.kv_unified {
            1
        } else {
            self.batch.sequences
        }
    }

    /// A weight of a block, where it has it.
    pub(super) fn weight(&mut self, block: &Block, name: &'static str) -> Option<Id> {
        let weight = block.weights.get(name)?;
        Some(self.leaf(name, block.index, weight))
    }

    /// A weight outside of the blocks, where there is one.
    pub(super) fn outside(&mut self, name: &'static str) -> Option<Id> {
        let weight = self.plan.outside.get(name)?;
        Some(self.leaf(name, OUTSIDE, weight))
    }

    fn leaf(&mut self, name: &'static str, block: usize, weight: Weight) -> Id {
        let known = self.known.iter().rev().take(48);
        let mut known = known.filter(|(own, at, _)| *at == block && *own == name);
        if let Some((_, _, id)) = known.next() {
            return *id;
        }
        let home = Home {
            backend: weight.backend,
            weight: true,
        };
        let id = self.graph.existing(weight.dtype, weight.ne, home);
        self.known.push((name, block, id));
        id
    }

    /// Product with a weight; the vector itself where the block lacks it.
    pub(super) fn project(&mut self, block: &Block, name: &'static str, a: Id) -> Id {
        match self.weight(block, name) {
            Some(weight) => self.graph.mul_mat(weight, a),
            None => a,
        }
    }

    /// Adds a bias, where the block has it.
    pub(super) fn bias(&mut self, block: &Block, name: &'static str, a: Id) -> Id {
        match self.weight(block, name) {
            Some(bias) => self.graph.add(a, bias),
            None => a,
        }
    }

    /// A norm with its weight and bias (`build_norm`); `kind` is the bare operation.
    pub(super) fn norm(
        &mut self,
        block: &Block,
        kind: Op,
        names: (&'static str, &'static str),
        a: Id,
    ) -> Id {
        let (weight, bias) = (self.weight(block, names.0), self.weight(block, names.1));
        let bare = self.graph.map(kind, a);
        if weight.is_none() && bias.is_none() {
            return bare;
        }
        self.pin_norm(block, bare);
        let mut normed = bare;
        if let Some(weight) = weight {
            normed = self.graph.mul(normed, weight);
        }
        match bias {
            Some(bias) => self.graph.add(normed, bias),
            None => normed,
        }
    }

    /// An RMS norm with its weight.
    pub(super) fn rms_norm(&mut self, block: &Block, name: &'static str, a: Id) -> Id {
        self.norm(block, Op::RmsNorm, (name, ""), a)
    }

    /// An RMS norm that the builder does not bind to its block.
    pub(super) fn unbound_norm(&mut self, block: &Block, name: &'static str, a: Id) -> Id {
        let weight = self.weight(block, name);
        let bare = self.graph.map(Op::RmsNorm, a);
        match weight {
            Some(weight) => self.graph.mul(bare, weight),
            None => bare,
        }
    }

    /// Norms stay with their block, lest the scheduler moves them to the one before (`graph_get_cb`).
    fn pin_norm(&mut self, block: &Block, node: Id) {
        if self.pins_norms && self.rules.supports(&self.graph, block.backend, node) {
            self.graph.pin(node, block.backend);
        }
    }

    /// A norm outside of the blocks.
    pub(super) fn outside_norm(&mut self, kind: Op, name: &'static str, a: Id) -> Id {
        let bare = self.graph.map(kind, a);
        match self.outside(name) {
            Some(weight) => self.graph.mul(bare, weight),
            None => bare,
        }
    }

    /// The chosen rows of both, in the last block.
    pub(super) fn last_rows(&mut self, ids: Id, a: Id, b: Id) -> (Id, Id) {
        (self.graph.get_rows(a, ids), self.graph.get_rows(b, ids))
    }

    /// Whether this is the last block of the model.
    pub(super) fn is_last(&self, block: &Block) -> bool {
        self.plan
            .blocks
            .last()
            .is_some_and(|last| last.index == block.index)
    }

    /// Norm and head: `result_norm` is kept as an output, and so are the logits.
    pub(super) fn head(&mut self, kind: Op, a: Id) -> Id {
        self.graph.stage(Part::Output, None);
        let normed = self.outside_norm(kind, "output_norm.weight", a);
        let normed = match self.outside("output_norm.bias") {
            Some(bias) => self.graph.add(normed, bias),
            None => normed,
        };
        self.graph.set_output(normed);
        self.logits(normed)
    }

    /// The output matrix, or the tied embedding where there is none.
    pub(super) fn logits(&mut self, normed: Id) -> Id {
        let head = self
            .outside("output.weight")
            .or_else(|| self.outside("token_embd.weight"));
        let logits = match head {
            Some(head) => self.graph.mul_mat(head, normed),
            None => normed,
        };
        match self.outside("output.bias") {
            Some(bias) => self.graph.add(logits, bias),
            None => logits,
        }
    }

    /// A tanh between two scales.
    pub(super) fn cap(&mut self, a: Id) -> Id {
        let scaled = self.graph.scale(a);
        let bounded = self.graph.map(Op::Unary, scaled);
        self.graph.scale(bounded)
    }

    fn hidden_size(&self) -> u64 {
        self.plan.trunk.hidden_size
    }

    fn activation(&self) -> Activation {
        self.plan.trunk.activation
    }

    fn final_norm(&self) -> Norm {
        self.plan.trunk.final_norm
    }

    /// Factors of rotary frequencies, of which each device has its own.
    fn rope_factors(&mut self, block: &Block) -> Option<Id> {
        let known = self.rope_factors.iter();
        if let Some((_, id)) = known.clone().find(|(own, _)| *own == block.backend) {
            return Some(*id);
        }
        let weight = ["rope_freqs.weight", "rope_factors_long.weight"]
            .into_iter()
            .find_map(|name| self.plan.outside.get(name))?;
        let home = Home {
            backend: block.backend,
            weight: true,
        };
        let id = self.graph.existing(weight.dtype, weight.ne, home);
        self.rope_factors.push((block.backend, id));
        Some(id)
    }

    /// A factor per token row.
    fn row_scales(&mut self) -> Id {
        self.graph.input(Type::F32, [1, self.batch.tokens, 1, 1])
    }

    /// A factor per position of queries.
    fn position_scales(&mut self) -> Id {
        self.graph.input(Type::F32, [1, 1, self.batch.tokens, 1])
    }
}

/// A built graph.
pub(super) struct Built {
    pub(super) graph: Graph,
    /// Fused attention nodes with the backend of their block.
    pub(super) attention_nodes: Vec<(Id, u8)>,
}

/// The graph of one batch.
pub(super) fn build(
    plan: &GraphPlan,
    load: &GraphLoad,
    rules: &Rules,
    batch: Batch,
    flash_attn: bool,
) -> Built {
    let mut builder = Builder::new(plan, load, rules, batch, flash_attn);
    let logits = match family(plan) {
        Family::Transformer(style) => builder.transformer(style),
        Family::Latent(style) => builder.latent_decoder(style),
        Family::Hybrid(style) => builder.hybrid_decoder(style),
        Family::Sparse => builder.sparse_decoder(),
        Family::Gemma4 => builder.gemma4(),
    };
    builder.graph.set_output(logits);
    builder.graph.expand(logits);
    Built {
        graph: builder.graph,
        attention_nodes: builder.attention_nodes,
    }
}

/// Which builder, and how.
enum Family {
    Transformer(Style),
    Latent(LatentStyle),
    Hybrid(HybridStyle),
    Sparse,
    Gemma4,
}

/// The builder of an architecture; the nearest where it has none.
fn family(plan: &GraphPlan) -> Family {
    known_family(plan).unwrap_or_else(|| {
        let has = |wanted: fn(&Mixer) -> bool| {
            let mut blocks = plan.blocks.iter();
            blocks.any(|block| wanted(&block.layer.mixer))
        };
        if has(|mixer| matches!(mixer, Mixer::Latent(_))) {
            Family::Latent(LatentStyle::default())
        } else if has(Mixer::is_recurrent) {
            Family::Hybrid(HybridStyle::default())
        } else {
            Family::Transformer(Style::default())
        }
    })
}

fn known_family(plan: &GraphPlan) -> Option<Family> {
    let qwen = HybridStyle {
        axes: 1,
        rows_last: true,
        routing: Some(SOFTMAX_NORMALIZED),
        ..HybridStyle::default()
    };
    Some(match plan.architecture.as_str() {
        "deepseek2" => Family::Latent(LatentStyle::default()),
        "minicpm3" => Family::Latent(LatentStyle { scaled: true }),
        "deepseek32" | "glm-dsa" => Family::Sparse,
        "gemma4" => Family::Gemma4,
        "qwen3next" => Family::Hybrid(qwen),
        "qwen35" | "qwen35moe" => Family::Hybrid(HybridStyle { axes: 4, ..qwen }),
        "nemotron_h" | "nemotron_h_moe" => Family::Hybrid(HybridStyle {
            rows_last: true,
            scores_first: true,
            ..HybridStyle::default()
        }),
        "falcon-h1" => Family::Hybrid(HybridStyle::default()),
        "granitehybrid" => Family::Hybrid(HybridStyle {
            scaled: true,
            routing: Some(SOFTMAX_NORMALIZED),
            ..HybridStyle::default()
        }),
        _ => return style(plan).map(Family::Transformer),
    })
}

/// Whether the architecture has its own graph here.
pub(super) fn exactness(plan: &GraphPlan) -> Exactness {
    if known_family(plan).is_some() {
        Exactness::Emulated
    } else {
        Exactness::Approximate
    }
}

/// What an architecture's graph does beyond what the model says; `None` where it is not known.
fn style(plan: &GraphPlan) -> Option<Style> {
    let plain = Style::default();
    let softmax = Style {
        routing: Some(SOFTMAX_NORMALIZED),
        ..plain
    };
    Some(match plan.architecture.as_str() {
        "llama" | "qwen3moe" => softmax,
        "mistral3" => Style {
            position_scales: PositionScales::All,
            ..softmax
        },
        "qwen2" | "qwen3" | "glm4moe" | "smollm3" | "deci" | "chatglm" | "internlm2"
        | "baichuan" | "stablelm" => plain,
        "glm4" => Style {
            pinned_last_norm: true,
            ..plain
        },
        "olmo2" => Style {
            windows: true,
            ..plain
        },
        "minimax-m2" => Style {
            normalized_experts: true,
            ..plain
        },
        "qwen2vl" => Style { axes: 4, ..plain },
        "qwen3vl" | "qwen3vlmoe" => Style {
            axes: 4,
            deepstack: plan.trunk.deepstack,
            ..softmax
        },
        "llama4" => Style {
            windows: true,
            position_scales: PositionScales::Unrotated,
            routing: Some(Routing {
                scoring: Scoring::Sigmoid,
                normalized: false,
                scaled: false,
                weights_first: true,
                activation: Activation::Silu,
            }),
            ..plain
        },
        "phi3" | "phimoe" => Style {
            scaled_queries: true,
            residual_first: true,
            ..softmax
        },
        "gemma2" => Style {
            windows: true,
            scaled_embedding: true,
            scaled_queries: true,
            capped_logits: true,
            ..plain
        },
        "gemma3" => Style {
            windows: true,
            scaled_rows: true,
            scaled_queries: true,
            capped_logits: plan.trunk.capped_logits,
            ..plain
        },
        "granite" | "granitemoe" => Style {
            scaled_embedding: true,
            scaled_residual: true,
            scaled_logits: true,
            ..softmax
        },
        "command-r" => Style {
            scaled_logits: true,
            ..plain
        },
        "gpt-oss" => Style {
            windows: true,
            rows_after_blocks: true,
            routing: Some(Routing {
                scoring: Scoring::SoftmaxOfChosen,
                normalized: false,
                scaled: false,
                weights_first: false,
                activation: Activation::ClampedSwiglu,
            }),
            ..plain
        },
        _ => return None,
    })
}
