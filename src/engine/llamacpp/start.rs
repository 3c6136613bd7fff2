//! With which settings a new plan starts: a useful context, one slot, as much on the GPU as fits.

use super::config::{self, Config, GpuLayers, Override};
use super::file_type::Weights;
use super::limits::slack;
use super::subject::Subject;
use crate::engine::Inputs;
use crate::engine::largest::largest;
use crate::model::FeedForward;
use crate::plan::{Settings, Value};

/// Contexts tried, longest first.
const CONTEXTS: [u64; 2] = [16_384, 8_192];

/// Values worth writing out, so that nothing depends on defaults that move.
pub(super) fn starting_settings(inputs: &Inputs<'_>) -> Settings {
    let weights = Weights::usual(inputs.model);
    let trained = inputs.model.context_length;
    let bounded = |context: u64| {
        if trained == 0 {
            context
        } else {
            context.min(trained)
        }
    };
    let mut start = Start {
        weights,
        context: bounded(CONTEXTS[1]),
        layers: GpuLayers::Count(0),
        cpu_moe: 0,
    };
    let found = subject(inputs, &start);
    if let Some(subject) = found.filter(|subject| !subject.devices.is_empty()) {
        start = placed(&subject, start, bounded);
    }
    start.settings(inputs)
}

#[derive(Clone, Copy)]
struct Start {
    weights: Weights,
    context: u64,
    layers: GpuLayers,
    /// First layers whose experts stay in main memory.
    cpu_moe: u64,
}

impl Start {
    fn settings(self, inputs: &Inputs<'_>) -> Settings {
        let number = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        let text = |text: &str| Value::Text(text.to_owned());
        let mut settings = Settings::new();
        let mut put = |name: &str, value: Value| settings.insert(name.to_owned(), value);
        put("weights", text(self.weights.word()));
        put("ctx_size", number(self.context));
        put("parallel", Value::Integer(1));
        match self.layers {
            GpuLayers::Count(count) => put("n_gpu_layers", number(count)),
            GpuLayers::All | GpuLayers::Auto => put("n_gpu_layers", text("all")),
        };
        if self.cpu_moe >= inputs.model.layers.len() as u64 && self.cpu_moe > 0 {
            put("cpu_moe", Value::Bool(true));
        } else if self.cpu_moe > 0 {
            put("n_cpu_moe", number(self.cpu_moe));
        }
        settings
    }

    fn config(self, inputs: &Inputs<'_>) -> Config {
        let mut config = config::read(
            &self.settings(inputs),
            inputs.draft.is_some(),
            &mut Vec::new(),
        );
        if self.cpu_moe > 0 {
            config.overrides = vec![Override::Experts {
                blocks: self.cpu_moe,
            }];
        }
        config
    }
}

fn subject<'a>(inputs: &Inputs<'a>, start: &Start) -> Option<Subject<'a>> {
    let config = start.config(inputs);
    let devices = config::devices(inputs.machine, &config);
    Subject::new(*inputs, &config, start.weights, devices, &mut Vec::new()).ok()
}

/// The first of these that fits: everything on the GPUs with a long or a short context; experts of some layers in main
/// memory; of all layers, and some layers there whole.
fn placed(subject: &Subject<'_>, start: Start, bounded: impl Fn(u64) -> u64) -> Start {
    let inputs = &subject.inputs;
    // Whether main memory has room for the rest is for the projection to say.
    let left = |start: Start| {
        let mut left = slack(subject, &start.config(inputs), &[], inputs.margin);
        left.truncate(subject.devices.len());
        left
    };
    let all = Start {
        layers: GpuLayers::All,
        ..start
    };
    for context in CONTEXTS {
        let longer = Start {
            context: bounded(context),
            ..all
        };
        if left(longer).iter().all(|left| *left >= 0) {
            return longer;
        }
    }
    let blocks = u64::from(subject.table.blocks);
    let experts = inputs
        .model
        .layers
        .iter()
        .any(|layer| matches!(layer.feed_forward, FeedForward::Experts(_)));
    let mut fewer = start;
    if experts {
        // Counted from the other end: how many layers may keep their experts on the GPU.
        let with_experts = |kept: u64| Start {
            cpu_moe: blocks - kept,
            ..all
        };
        if let Some(kept) = largest(0, blocks, |kept| left(with_experts(kept))) {
            return with_experts(kept);
        }
        fewer.cpu_moe = blocks;
    }
    let with_layers = |count: u64| Start {
        layers: GpuLayers::Count(count),
        ..fewer
    };
    let all_layers = u64::from(subject.table.all_blocks) + 1;
    largest(0, all_layers, |count| left(with_layers(count))).map_or(with_layers(0), with_layers)
}
