//! What a token adds to the caches, and the states that do not grow, against independently computed figures.

use plimsoll::model::mixer::{Attention, Cache, Mixer, Reach};
use plimsoll::model::{Layer, Model};
use serde_json::Value;

use super::preset;

/// Layers of one kind and elements per token, or per sequence for states.
#[derive(Default)]
struct Tally {
    layers: u64,
    elements: u64,
}

impl Tally {
    fn add(&mut self, elements: u64) {
        self.layers += 1;
        self.elements = elements;
    }
}

/// The figures' names in the rows.
#[derive(Default)]
struct Caches {
    full: Tally,
    sliding: Tally,
    shared: Tally,
    linear: Tally,
    indexer: Tally,
    conv: u64,
    expanded: u64,
}

impl Caches {
    fn of(model: &Model) -> Self {
        let mut caches = Self::default();
        for layer in &model.layers {
            caches.add(layer);
        }
        caches
    }

    fn add(&mut self, layer: &Layer) {
        match &layer.mixer {
            Mixer::None => {}
            Mixer::Attention(attention) => self.add_attention(attention),
            Mixer::AttentionAndMamba2(attention, mamba) => {
                self.add_attention(attention);
                self.linear.add(mamba.ssm_state());
                self.conv = mamba.conv_state();
            }
            Mixer::Latent(latent) => {
                self.full.add(latent.latent_width());
                self.expanded =
                    latent.num_attention_heads * (latent.qk_head_dim() + latent.v_head_dim);
                if let Some(indexer) = latent.sparse.filter(|indexer| indexer.owned) {
                    self.indexer.add(indexer.index_head_dim);
                }
            }
            Mixer::Compressed(compressed) => self.sliding.add(compressed.head_dim),
            Mixer::GatedDelta(delta) => {
                self.linear.add(delta.matrix_state());
                self.conv = delta.conv_state();
            }
            Mixer::KimiDelta(delta) => self.linear.add(delta.matrix_state()),
            Mixer::Mamba2(mamba) => {
                self.linear.add(mamba.ssm_state());
                self.conv = mamba.conv_state();
            }
            Mixer::Lightning(lightning) => self.linear.add(lightning.matrix_state()),
        }
    }

    fn add_attention(&mut self, attention: &Attention) {
        // The rows count keys that are values once.
        let elements = attention.k_width() + attention.v_width();
        match (attention.cache, attention.reach) {
            (Cache::SharedWith(_), _) => self.shared.add(elements),
            (Cache::Own, Reach::Full) => self.full.add(elements),
            (Cache::Own, Reach::Window(_) | Reach::Chunk(_)) => self.sliding.add(elements),
        }
    }
}

#[test]
fn equal_the_reference() {
    let text = include_str!("../../data/models/parameters.jsonl");
    let mut compared = 0;
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let id = row["model"].as_str().unwrap();
        let caches = Caches::of(&preset(id));
        let figures = [
            ("full_layers", caches.full.layers),
            ("full_elems", caches.full.elements),
            ("sliding_layers", caches.sliding.layers),
            ("sliding_elems", caches.sliding.elements),
            ("kv_shared_layers", caches.shared.layers),
            ("linear_layers", caches.linear.layers),
            ("state_elems", caches.linear.elements),
            ("indexer_layers", caches.indexer.layers),
            ("indexer_elems", caches.indexer.elements),
            ("conv_elems", caches.conv),
            ("expanded_elems", caches.expanded),
        ];
        for (name, found) in figures {
            if let Some(expected) = row["kv"][name].as_u64() {
                assert_eq!(found, expected, "{name} of {id}");
                compared += 1;
            }
        }
    }
    assert!(compared > 350, "only {compared} figures were compared");
}

#[test]
fn compression_follows_the_ratios() {
    for (id, four, many) in [("DeepSeek-V4-Flash", 21, 20), ("DeepSeek-V4-Pro", 30, 31)] {
        let model = preset(id);
        let count = |ratio: u64| {
            let of_ratio = |layer: &&Layer| matches!(&layer.mixer, Mixer::Compressed(mixer) if mixer.compress_ratio == ratio);
            model.layers.iter().filter(of_ratio).count()
        };
        assert_eq!((count(4), count(128)), (four, many), "{id}");
        for layer in &model.layers {
            if let Mixer::Compressed(mixer) = &layer.mixer {
                assert_eq!(mixer.indexer.is_some(), mixer.compress_ratio == 4, "{id}");
            }
        }
    }
}
