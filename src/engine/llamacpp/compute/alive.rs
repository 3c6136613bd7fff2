//! What fills a compute buffer when it is fullest, by use: for the explanation of its size.

use super::graph::Graph;
use super::linear::Linear;
use super::schedule::Schedule;
use super::tensor::{Id, Op, Part, Tensor};

/// What a tensor of a compute buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine::llamacpp) enum Use {
    /// Copies of weights from other memory, for operations that run here.
    Weights,
    /// Copies of cached keys, values or states from other memory.
    Cache,
    /// Copies of results of other devices.
    Handed,
    /// Masks, positions, embeddings.
    Inputs,
    /// Scores of attention, or of an indexer, over the cells.
    Scores,
    /// Result of flash attention, f16 copies of keys and values behind it included.
    Attention,
    /// Products of routed experts.
    Experts,
    /// Products of dense feed-forward networks.
    FeedForward,
    /// Logits.
    Logits,
    /// Anything else that passes between layers and their parts.
    Activations,
}

impl Use {
    const COUNT: usize = 10;

    /// All, in the order of [`Alive`].
    const ALL: [Self; Self::COUNT] = [
        Self::Weights,
        Self::Cache,
        Self::Handed,
        Self::Inputs,
        Self::Scores,
        Self::Attention,
        Self::Experts,
        Self::FeedForward,
        Self::Logits,
        Self::Activations,
    ];

    fn of(tensor: &Tensor) -> Self {
        let [_, _, heads, _] = tensor.ne;
        match (tensor.stage.part, tensor.op) {
            _ if tensor.input => Self::Inputs,
            (_, Op::FlashAttn) => Self::Attention,
            (_, Op::SoftMax | Op::LightningIndexer) => Self::Scores,
            (Part::Attention | Part::Indexer, Op::MulMat | Op::Argsort | Op::TopK) if heads > 1 => {
                Self::Scores
            }
            (Part::Experts, _) => Self::Experts,
            (Part::FeedForward, _) => Self::FeedForward,
            (Part::Output, Op::MulMat) => Self::Logits,
            _ => Self::Activations,
        }
    }
}

/// Bytes by use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine::llamacpp) struct Alive([Linear; Use::COUNT]);

impl Alive {
    fn add(&mut self, kind: Use, bytes: Linear) {
        let slots = self.0.iter_mut().zip(Use::ALL);
        for (slot, _) in slots.filter(|(_, at)| *at == kind) {
            *slot = *slot + bytes;
        }
    }

    /// The uses that take most at a number of steps, largest first.
    pub(super) fn largest(&self, steps: i64) -> [Option<(Use, u64)>; 3] {
        let mut uses: Vec<(Use, u64)> = Use::ALL
            .into_iter()
            .zip(self.0.map(|bytes| bytes.at(steps)))
            .filter(|(_, bytes)| *bytes > 0)
            .collect();
        uses.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let mut uses = uses.into_iter();
        std::array::from_fn(|_| uses.next())
    }
}

/// From when to when every tensor held memory, in the allocator's own count of its steps.
pub(super) struct Lives {
    now: u32,
    lives: Vec<Life>,
}

#[derive(Clone, Copy, Default)]
struct Life {
    /// 0: never.
    from: u32,
    /// 0: to the end.
    until: u32,
}

impl Lives {
    pub(super) fn new(tensors: usize) -> Self {
        Self {
            now: 0,
            lives: vec![Life::default(); tensors],
        }
    }

    /// A tensor gets memory; the time.
    pub(super) fn begin(&mut self, id: Id) -> u32 {
        self.now = self.now.saturating_add(1);
        if let Some(life) = self.lives.get_mut(id.index()) {
            life.from = self.now;
        }
        self.now
    }

    /// A tensor's memory is free again, or another's.
    pub(super) fn end(&mut self, id: Id) {
        self.now = self.now.saturating_add(1);
        if let Some(life) = self.lives.get_mut(id.index()) {
            life.until = self.now;
        }
    }

    /// What held memory at these times, one per buffer. `buffer_and_bytes` says where a tensor lies and how large it is.
    pub(super) fn at(
        &self,
        times: &[u32],
        graph: &Graph,
        schedule: &Schedule,
        buffer_and_bytes: impl Fn(Id) -> (u8, Linear),
    ) -> Vec<Alive> {
        let mut alive = vec![Alive::default(); times.len()];
        let copies = copies(graph, schedule);
        for (index, life) in self.lives.iter().enumerate() {
            if life.from == 0 {
                continue;
            }
            let id = Id::at(index);
            let (buffer, bytes) = buffer_and_bytes(id);
            let buffer = usize::from(buffer);
            let (Some(time), Some(alive)) = (times.get(buffer), alive.get_mut(buffer)) else {
                continue;
            };
            if life.from <= *time && (life.until == 0 || *time < life.until) {
                let copy = copies.binary_search_by_key(&index, |(copy, _)| copy.index());
                let copy = copy.ok().and_then(|at| copies.get(at));
                let kind = copy.map_or_else(|| Use::of(graph.at(id)), |(_, kind)| *kind);
                alive.add(kind, bytes);
            }
        }
        alive
    }
}

/// What is copied between devices, by what it is, sorted.
fn copies(graph: &Graph, schedule: &Schedule) -> Vec<(Id, Use)> {
    let mut copies = Vec::new();
    for split in &schedule.splits {
        for &input in &split.inputs {
            let kind = match graph.arena.home(input) {
                Some(home) if home.weight => Use::Weights,
                Some(_) => Use::Cache,
                None if graph.at(input).input => Use::Inputs,
                None => Use::Handed,
            };
            let made = schedule.copies(input, split.backend);
            copies.extend(made.iter().map(|copy| (*copy, kind)));
        }
    }
    // The first split that names a copy says what it is.
    copies.sort_by_key(|(copy, _): &(Id, Use)| copy.index());
    copies.dedup_by_key(|(copy, _)| *copy);
    copies
}
