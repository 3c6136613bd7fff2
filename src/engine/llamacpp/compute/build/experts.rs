//! Routed experts (`build_moe_ffn`).

use super::Builder;
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Id, Op};
use crate::model::{Activation, Experts, Scoring};

/// How an architecture routes, beyond what the model says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Routing {
    /// Scores become weights by this.
    pub(super) scoring: Scoring,
    /// Weights are normalized.
    pub(super) normalized: bool,
    /// Weights are scaled.
    pub(super) scaled: bool,
    /// Weights are applied before the experts instead of after (Llama 4).
    pub(super) weights_first: bool,
    /// Activation of the experts.
    pub(super) activation: Activation,
}

impl Routing {
    /// As the model's configuration says.
    pub(super) fn of(experts: &Experts, activation: Activation) -> Self {
        Self {
            scoring: experts.scoring,
            normalized: experts.norm_topk_prob,
            scaled: experts.routed_scaling,
            weights_first: false,
            activation,
        }
    }
}

impl Builder<'_> {
    /// The weighted sum of the chosen experts. `scores` replaces the router's product where it was made before,
    /// `chosen` its choice.
    pub(super) fn routed(
        &mut self,
        block: &Block,
        experts: &Experts,
        routing: Routing,
        a: Id,
        scores: Option<Id>,
        chosen: Option<Id>,
    ) -> Id {
        let scores = if let Some(scores) = scores {
            scores
        } else {
            let scores = self.project(block, "ffn_gate_inp.weight", a);
            self.bias(block, "ffn_gate_inp.bias", scores)
        };
        let probabilities = self.score(routing.scoring, scores);
        let chosen = match chosen {
            Some(chosen) => chosen,
            None => self.choose(block, experts, routing, scores, probabilities),
        };
        let weights = self.expert_weights(experts, routing, probabilities, chosen);
        self.graph.expand(weights);
        let [width, tokens, ..] = self.graph.at(a).ne;
        let used = experts.num_experts_per_tok;
        let mut a = self.graph.reshape(a, [width, 1, tokens, 1]);
        if routing.weights_first {
            let repeated = self.graph.repeat(a, [width, used, tokens, 1]);
            a = self.graph.mul(repeated, weights);
        }
        let inner = self.expert_inner(block, routing, a, chosen);
        let mut out = self.expert_product(block, "ffn_down_exps.weight", inner, chosen);
        if let Some(scale) = self.weight(block, "ffn_down_exps.scale") {
            out = self.scale_experts(experts, scale, out, chosen);
        }
        out = self.expert_bias(block, "ffn_down_exps.bias", out, chosen);
        if !routing.weights_first {
            out = self.graph.mul(out, weights);
        }
        self.graph.expand(out);
        self.sum_experts(out, used, tokens)
    }

    fn score(&mut self, scoring: Scoring, scores: Id) -> Id {
        match scoring {
            Scoring::Softmax => self.graph.soft_max(scores, None, None),
            Scoring::SoftmaxOfChosen => scores,
            Scoring::Sigmoid => self.graph.map(Op::Sigmoid, scores),
            Scoring::SqrtSoftplus => {
                let positive = self.graph.map(Op::Softplus, scores);
                self.graph.map(Op::Sqrt, positive)
            }
        }
    }

    fn choose(
        &mut self,
        block: &Block,
        experts: &Experts,
        routing: Routing,
        scores: Id,
        probabilities: Id,
    ) -> Id {
        let mut selection = self.bias(block, "exp_probs_b.bias", probabilities);
        if routing.weights_first {
            // Llama 4 chooses by the raw scores.
            selection = scores;
        }
        if experts.n_group > 1 {
            selection = self.mask_groups(experts, selection);
        }
        self.graph
            .argsort_top_k(selection, experts.num_experts_per_tok)
    }

    /// Only experts of the best groups remain (DeepSeek-V3).
    fn mask_groups(&mut self, experts: &Experts, selection: Id) -> Id {
        let tokens = self.batch.tokens;
        let per_group = experts.num_experts / experts.n_group.max(1);
        let groups = self
            .graph
            .reshape(selection, [per_group, experts.n_group, tokens, 1]);
        let best = self.graph.argsort_top_k(groups, 2);
        let single = self
            .graph
            .reshape(groups, [1, per_group, experts.n_group, tokens]);
        let values = self.graph.get_rows(single, best);
        let values = self.graph.reshape(values, [2, experts.n_group, tokens, 1]);
        let totals = self.graph.sum_rows(values);
        let totals = self.graph.reshape(totals, [experts.n_group, tokens, 1, 1]);
        let kept = self.graph.argsort_top_k(totals, experts.topk_group);
        let rows = self.graph.get_rows(groups, kept);
        let none = self.graph.map(Op::Fill, groups);
        let masked = self.graph.set_rows(none, rows, kept);
        self.graph
            .reshape(masked, [experts.num_experts, tokens, 1, 1])
    }

    fn expert_weights(
        &mut self,
        experts: &Experts,
        routing: Routing,
        probabilities: Id,
        chosen: Id,
    ) -> Id {
        let (tokens, used) = (self.batch_rows(chosen), experts.num_experts_per_tok);
        let single = self
            .graph
            .reshape(probabilities, [1, experts.num_experts, tokens, 1]);
        let mut weights = self.graph.get_rows(single, chosen);
        let (flat, deep) = ([used, tokens, 1, 1], [1, used, tokens, 1]);
        if routing.scoring == Scoring::SoftmaxOfChosen {
            weights = self.graph.reshape(weights, flat);
            weights = self.graph.soft_max(weights, None, None);
            weights = self.graph.reshape(weights, deep);
        }
        if routing.normalized {
            weights = self.graph.reshape(weights, flat);
            let total = self.graph.sum_rows(weights);
            let total = self.graph.map(Op::Clamp, total);
            weights = self.graph.zip(Op::Div, weights, total);
            weights = self.graph.reshape(weights, deep);
        }
        if routing.scaled {
            weights = self.graph.scale(weights);
        }
        weights
    }

    fn batch_rows(&self, chosen: Id) -> u64 {
        let [_, rows, ..] = self.graph.at(chosen).ne;
        rows
    }

    fn expert_inner(&mut self, block: &Block, routing: Routing, a: Id, chosen: Id) -> Id {
        if let Some(joint) = self.weight(block, "ffn_gate_up_exps.weight") {
            let joint = self.graph.mul_mat_id(joint, a, chosen);
            let joint = self.expert_bias(block, "ffn_gate_up_exps.bias", joint, chosen);
            let ([both, used, tokens, _], [_, nb1, nb2, _]) =
                (self.graph.at(joint).ne, self.graph.at(joint).nb);
            let half = both / 2;
            let ne = [half, used, tokens];
            let gate = self.graph.view_3d(joint, ne, [nb1, nb2], 0);
            let up = self.graph.view_3d(joint, ne, [nb1, nb2], 4 * half);
            return self.graph.glu_split(gate, up);
        }
        let up = self.expert_product(block, "ffn_up_exps.weight", a, chosen);
        let up = self.expert_bias(block, "ffn_up_exps.bias", up, chosen);
        if self.weight(block, "ffn_gate_exps.weight").is_none() {
            return self.activate(routing.activation, up);
        }
        let gate = self.expert_product(block, "ffn_gate_exps.weight", a, chosen);
        let gate = self.expert_bias(block, "ffn_gate_exps.bias", gate, chosen);
        if routing.activation == Activation::Situ {
            return self.situ(gate, up);
        }
        self.graph.glu_split(gate, up)
    }

    fn expert_product(&mut self, block: &Block, name: &'static str, a: Id, chosen: Id) -> Id {
        match self.weight(block, name) {
            Some(experts) => self.graph.mul_mat_id(experts, a, chosen),
            None => a,
        }
    }

    fn expert_bias(&mut self, block: &Block, name: &'static str, a: Id, chosen: Id) -> Id {
        match self.weight(block, name) {
            Some(bias) => self.graph.add_id(a, bias, chosen),
            None => a,
        }
    }

    /// A factor per expert (`build_lora_mm_id`).
    fn scale_experts(&mut self, experts: &Experts, scale: Id, a: Id, chosen: Id) -> Id {
        let (count, tokens) = (experts.num_experts, self.batch_rows(chosen));
        let scale = self.graph.reshape(scale, [1, count, 1, 1]);
        let scale = self.graph.repeat(scale, [1, count, tokens, 1]);
        let scale = self.graph.get_rows(scale, chosen);
        self.graph.mul(a, scale)
    }

    /// Views of each expert's rows first, then their sum.
    fn sum_experts(&mut self, experts: Id, used: u64, tokens: u64) -> Id {
        let ([width, ..], [_, nb1, nb2, _]) =
            (self.graph.at(experts).ne, self.graph.at(experts).nb);
        let views: Vec<Id> = (0..used)
            .map(|expert| {
                let offset = expert.saturating_mul(nb1);
                let view = self.graph.view_2d(experts, width, tokens, nb2, offset);
                self.graph.expand(view);
                view
            })
            .collect();
        let Some((&first, rest)) = views.split_first() else {
            return experts;
        };
        if rest.is_empty() {
            return self.graph.cont(first);
        }
        rest.iter().fold(first, |sum, &view| {
            let sum = self.graph.add(sum, view);
            self.graph.expand(sum);
            sum
        })
    }
}
