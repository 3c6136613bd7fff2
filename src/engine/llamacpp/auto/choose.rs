//! Runs the engine's own fit where a plan leaves something to it.

use super::candidate::{Candidate, Overflow, gpu_layers, overflows};
use super::fit::{Fitted, Limits, Status, fit};
use super::{DryRun, Used};
use crate::engine::llamacpp::compute::Purpose;
use crate::engine::llamacpp::config::{Config, Context, GpuLayers, Override, SplitMode};
use crate::engine::llamacpp::subject::Subject;
use crate::model::FeedForward;
use crate::projection::{Note, grouped};
use crate::report::FIT_OVERFILLS;
use crate::units::Bytes;

/// First version that fits by itself (ggml-org/llama.cpp#16653, December 2025).
const SINCE: &str = "2025-12";

/// What fitting made of a plan.
struct Chosen {
    fitted: Fitted,
    config: Config,
    notes: Vec<Note>,
}

/// Fills in what the plan leaves open, as the engine would; what it decided, where it decided anything. Kept, since
/// whatever is asked about a plan asks this first.
pub(in super::super) fn choose(
    subject: &Subject<'_>,
    config: &mut Config,
    notes: &mut Vec<Note>,
) -> Option<Fitted> {
    let open = matches!(config.context, Context::Unset | Context::Trained)
        || config.gpu_layers == GpuLayers::Auto;
    if !open || !runs(subject, config) {
        return None;
    }
    let key = (&*config, subject.key());
    let chosen = subject.inputs.memo.get(&key, || chosen(subject, config));
    notes.extend(chosen.notes.iter().cloned());
    *config = chosen.config.clone();
    Some(chosen.fitted.clone())
}

fn chosen(subject: &Subject<'_>, config: &Config) -> Chosen {
    let limits = limits(subject, config);
    let run = Run { subject, config };
    let fitted = fit(&limits, &run);
    let asked = config.asked_context(subject.trained);
    let mut notes = Vec::new();
    remark(&fitted, &limits, asked, &mut notes);
    notes.extend(overfilled(&run, &fitted.candidate, &limits));
    Chosen {
        config: applied(config, &fitted.candidate),
        fitted,
        notes,
    }
}

/// Whether the engine fits what is left to it.
fn runs(subject: &Subject<'_>, config: &Config) -> bool {
    config.fit
        && subject.trained > 0
        && config.version.at_least(SINCE)
        && config.split_mode != SplitMode::Tensor
}

/// Whether the engine moves layers to where there is room for them.
pub(in super::super) fn moves_layers(subject: &Subject<'_>, config: &Config) -> bool {
    config.gpu_layers == GpuLayers::Auto
        && runs(subject, config)
        && !subject.devices.is_empty()
        && !is_fixed(config, subject.devices.len())
}

/// Whether layers must stay as asked for: the user gave overrides or a split.
fn is_fixed(config: &Config, gpus: usize) -> bool {
    let split = config.tensor_split.iter().any(|share| *share > 0.0);
    !config.overrides.is_empty() || gpus > 1 && (split || config.split_mode == SplitMode::Row)
}

/// Overrides that fitting added.
pub(in super::super) fn spilled(subject: &Subject<'_>, fitted: Option<&Fitted>) -> Vec<Overflow> {
    let layers = fitted.and_then(|fitted| fitted.candidate.layers.as_ref());
    layers.map_or_else(Vec::new, |layers| {
        overflows(layers, u64::from(subject.fitted_blocks()))
    })
}

/// The margin that a plan gives fitting for one GPU: a single number holds for all, and none is given beyond the list
/// (`--fit-target`, `common/arg.cpp` 0.6.0-dev).
fn own_margin(targets: &[u64], index: usize) -> Option<Bytes> {
    let mib = match targets {
        [all] => Some(all),
        each => each.get(index),
    };
    mib.copied().map(Bytes::from_mib)
}

fn limits(subject: &Subject<'_>, config: &Config) -> Limits {
    let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    let free: Vec<i64> = subject
        .free()
        .iter()
        .map(|free| signed(free.get()))
        .collect();
    let margin = subject.inputs.margin;
    let mut margins: Vec<i64> = subject
        .devices
        .iter()
        .enumerate()
        .map(|(index, device)| {
            let own = own_margin(&config.fit_target, index);
            let bytes = own.unwrap_or_else(|| margin.of(device.gpu.memory.usable));
            signed(bytes.get())
        })
        .collect();
    if margins.is_empty() {
        margins.push(signed(margin.of(subject.inputs.machine.host.ram).get()));
    }
    let fixed = is_fixed(config, free.len());
    Limits {
        margins,
        free,
        host_total: signed(subject.inputs.machine.host.ram.get()),
        trained: subject.trained,
        least_context: match config.context {
            Context::Trained => None,
            Context::Unset | Context::Tokens(_) => Some(config.fit_context),
        },
        asked_context: match config.context {
            Context::Tokens(tokens) => Some(tokens),
            Context::Unset | Context::Trained => None,
        },
        streams: if config.unified {
            1
        } else {
            config.sequences.max(1)
        },
        blocks: subject.fitted_blocks(),
        asked_layers: match config.gpu_layers {
            GpuLayers::Auto => None,
            GpuLayers::All => Some(u64::MAX),
            GpuLayers::Count(count) => Some(count),
        },
        experts: subject
            .inputs
            .model
            .layers
            .iter()
            .any(|layer| matches!(layer.feed_forward, FeedForward::Experts(_))),
        fixed,
    }
}

/// The configuration of a candidate, without its tensor overrides.
fn applied(config: &Config, candidate: &Candidate) -> Config {
    let mut config = config.clone();
    if let Some(tokens) = candidate.context {
        config.context = Context::Tokens(tokens);
    }
    if let Some(devices) = &candidate.layers {
        config.gpu_layers = GpuLayers::Count(gpu_layers(devices));
        if devices.len() > 1 {
            config.tensor_split = devices
                .iter()
                .map(|device| f64::from(device.layers))
                .collect();
        }
    }
    if candidate.experts_on_host {
        config.overrides = vec![Override::AllExperts];
    }
    config
}

struct Run<'a> {
    subject: &'a Subject<'a>,
    config: &'a Config,
}

impl Run<'_> {
    fn rules(&self, candidate: &Candidate) -> Vec<Overflow> {
        let blocks = u64::from(self.subject.fitted_blocks());
        let layers = candidate.layers.as_ref();
        layers.map_or_else(Vec::new, |devices| overflows(devices, blocks))
    }
}

impl DryRun for Run<'_> {
    fn measure(&self, candidate: &Candidate) -> Vec<Used> {
        let config = applied(self.config, candidate);
        let rules = self.rules(candidate);
        // What cannot be placed is refused by the projection itself.
        self.subject
            .measure(&config, &rules, Purpose::DryRun)
            .map_or_else(|_| Vec::new(), |measured| measured.fitted())
    }

    fn least(&self, candidate: &Candidate) -> Vec<i64> {
        let config = applied(self.config, candidate);
        let rules = self.rules(candidate);
        self.subject
            .contents(&config, &rules)
            .map_or_else(|_| Vec::new(), |contents| self.subject.least(&contents))
    }
}

fn remark(fitted: &Fitted, limits: &Limits, asked: u64, notes: &mut Vec<Note>) {
    let context = fitted.candidate.context;
    if let Some(tokens) = context.filter(|tokens| *tokens < asked) {
        notes.push(
            Note::hint(
                "context-fitted",
                format!(
                    "The engine reduces the context from {} to {} tokens, for want of memory.",
                    grouped(asked),
                    grouped(tokens)
                ),
            )
            .on("ctx_size"),
        );
    }
    if fitted.status == Status::Failure && !limits.free.is_empty() {
        let message = if context.is_some_and(|tokens| tokens < asked) {
            "Not everything fits even with the context that the engine reduces it to, and its own fit moves no layers \
             where layers, split or overrides are given: it tries to load the rest of the plan as it is."
        } else {
            "Not everything fits, and the engine's own fit changes nothing where layers, split or overrides are given: \
             it tries to load the plan as it is."
        };
        notes.push(Note::warning("fit-gives-up", message).on("n_gpu_layers"));
    }
    let all = u64::from(limits.blocks) + 1;
    if let Some(devices) = &fitted.candidate.layers {
        let on_gpu = gpu_layers(devices);
        let experts = devices.iter().any(|device| device.partial > 0);
        let message = match (on_gpu < all, experts) {
            (true, _) => format!(
                "The engine puts {on_gpu} of {all} layers on the GPU, the rest stays in main memory."
            ),
            (false, true) => "The engine keeps experts of some layers in main memory.".to_owned(),
            (false, false) => {
                format!("The engine spreads {all} layers so that every GPU keeps its margin.")
            }
        };
        notes.push(Note::hint("layers-fitted", message).on("n_gpu_layers"));
    }
}

/// The card on which a fit puts more than it has, by the fit's own count. Its steps look at the card alone that they fill;
/// and whichever layer comes first on the last card keeps its experts there, since the first of its layers is taken for the
/// one without parts (`common_params_fit_impl`, `set_ngl_tensor_split_tbo`, `common/fit.cpp` 0.6.0-dev).
fn overfilled(run: &Run<'_>, candidate: &Candidate, limits: &Limits) -> Option<Note> {
    candidate.layers.as_ref()?;
    let used = run.measure(candidate);
    let over = limits.free.iter().zip(&used);
    let (position, over) = over
        .map(|(free, used)| used.total.saturating_sub(*free))
        .enumerate()
        .max_by_key(|(_, over)| *over)
        .filter(|(_, over)| *over > 0)?;
    let over = Bytes::new(over.unsigned_abs());
    let device = run.subject.devices.get(position)?;
    let why = if limits.experts && position + 1 == limits.free.len() {
        ", and the first layer on the last card keeps its experts there, whichever layer that becomes"
    } else {
        ""
    };
    Some(
        Note::warning(
            FIT_OVERFILLS,
            format!(
                "The engine's own fit puts {over} more on gpu{} than is free there, by its own count: it looks only at the \
                 card that it fills{why}. The server would run out of memory as it loads.",
                device.index
            ),
        )
        .on("n_gpu_layers"),
    )
}
