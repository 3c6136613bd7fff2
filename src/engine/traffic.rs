//! What an engine reads and computes per token, as placed: what an estimate of speed is made from.

use crate::quant::Type;
use crate::units::Bytes;

/// Work of a plan, by device. Counts, no speeds: [`crate::speed`] knows how fast devices are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Every GPU of every node in plan order; those that are not used have nothing to do.
    pub gpus: Vec<DeviceTraffic>,
    /// How they work together.
    pub together: Together,
    /// The processor.
    pub host: DeviceTraffic,
    /// Tokens that one slot can hold.
    pub context: u64,
    /// Sequences served at the same time.
    pub slots: u64,
    /// Slots share one cache, which each of them may fill alone.
    pub shared_cache: bool,
    /// Tokens of a prompt computed at once.
    pub micro_batch: u64,
    /// From so many tokens on, weights in main memory are copied to a GPU and used there; `None`: never.
    pub uploads_from: Option<u64>,
    /// Bytes read from the file to load it.
    pub file_bytes: Bytes,
    /// Weights in main memory that are pages of the file: the system can drop them and read them again.
    pub pages: Bytes,
    /// A full GPU is lent main memory instead of failing.
    pub spills: bool,
}

/// How several GPUs work on one token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Together {
    /// Each has layers of its own: one after the other.
    #[default]
    InTurn,
    /// Each has a part of every layer: at the same time, and their sums are exchanged twice per layer.
    AtOnce,
}

/// Work of one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceTraffic {
    /// Weights read, by format and share of experts used.
    pub weights: Vec<WeightRead>,
    /// Caches read, by how far they reach.
    pub caches: Vec<CacheRead>,
    /// Recurrent states of one sequence, read and written for each token.
    pub state_bytes: Bytes,
    /// Layers that run here.
    pub layers: u64,
    /// Those of them with routed experts.
    pub expert_layers: u64,
    /// Weights held here: what is copied to a GPU when loading.
    pub resident: Bytes,
    /// All that the plan takes here, where a report counted it.
    pub held: Bytes,
    /// Part of `held` that there is no room for.
    pub lacking: Bytes,
}

/// Weights of one format and one share of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightRead {
    /// How they are stored.
    pub format: Type,
    /// Bytes of all of them.
    pub bytes: Bytes,
    /// Elements of those that tokens of a prompt are multiplied with; the head is not among them.
    pub elements: u64,
    /// Experts that a token uses; as many as `of` where every token uses all.
    pub used: u64,
    /// Experts there are; at least 1.
    pub of: u64,
}

/// Caches of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheRead {
    /// Bytes of one cell over the layers of this kind.
    pub cell_bytes: u64,
    /// Operations of attention per cell and token over these layers.
    pub cell_operations: u64,
    /// Tokens that one cell stands for.
    pub tokens_per_cell: u64,
    /// Most cells that are read, whatever the depth: a window.
    pub most_cells: u64,
    /// The GPU that holds it has no kernel for it: each token copies it to the processor, which attends to it there.
    pub by_processor: bool,
}

impl WeightRead {
    /// Share of the bytes that a batch of so many tokens reads: with independent choices, `1 - (1 - used/of)^tokens` of
    /// the experts are wanted by at least one of them.
    pub fn share(&self, tokens: f64) -> f64 {
        if self.used >= self.of || self.of == 0 {
            return 1.0;
        }
        let one = self.share_of_one();
        if tokens <= 1.0 {
            return one;
        }
        1.0 - (1.0 - one).powf(tokens)
    }

    /// Share that one token uses.
    pub fn share_of_one(&self) -> f64 {
        if self.of == 0 {
            1.0
        } else {
            (self.used as f64 / self.of as f64).min(1.0)
        }
    }
}

impl CacheRead {
    /// Cells that a token reads behind so many others.
    pub fn cells(&self, depth: u64) -> u64 {
        (depth / self.tokens_per_cell.max(1)).min(self.most_cells)
    }
}

impl DeviceTraffic {
    /// Bytes of weights that a batch of so many tokens reads.
    pub fn weight_bytes(&self, tokens: f64) -> f64 {
        let reads = self.weights.iter();
        reads
            .map(|read| read.bytes.get() as f64 * read.share(tokens))
            .sum()
    }

    /// Bytes of caches that one token reads here behind so many others, states not included.
    pub fn cache_bytes(&self, depth: u64) -> f64 {
        let here = self.caches.iter().filter(|cache| !cache.by_processor);
        here.map(|cache| cache.cell_bytes as f64 * cache.cells(depth) as f64)
            .sum()
    }

    /// Bytes of caches held here that one token copies to the processor.
    pub fn carried_bytes(&self, depth: u64) -> f64 {
        let carried = self.caches.iter().filter(|cache| cache.by_processor);
        carried
            .map(|cache| cache.cell_bytes as f64 * cache.cells(depth) as f64)
            .sum()
    }

    /// Operations of matrix products per token of a prompt, two per weight used.
    pub fn operations(&self) -> f64 {
        let reads = self.weights.iter();
        reads
            .map(|read| 2.0 * read.elements as f64 * read.share_of_one())
            .sum()
    }

    /// Operations of attention of one token here behind so many others.
    pub fn attention_operations(&self, depth: u64) -> f64 {
        let here = self.caches.iter().filter(|cache| !cache.by_processor);
        here.map(|cache| cache.cell_operations as f64 * cache.cells(depth) as f64)
            .sum()
    }

    /// Operations of attention that the processor does in this device's place.
    pub fn carried_operations(&self, depth: u64) -> f64 {
        let carried = self.caches.iter().filter(|cache| cache.by_processor);
        carried
            .map(|cache| cache.cell_operations as f64 * cache.cells(depth) as f64)
            .sum()
    }

    /// Nothing runs here.
    pub fn is_idle(&self) -> bool {
        self.weights.is_empty() && self.caches.is_empty()
    }
}

impl Traffic {
    /// GPUs with work.
    pub fn gpus_used(&self) -> usize {
        self.gpus.iter().filter(|gpu| !gpu.is_idle()).count()
    }
}
