//! How far a plan can go: the longest context and the most slots that fit.

use super::auto::{self, Fitted, Overflow, Used, largest};
use super::compute::Purpose;
use super::config::{CELL_PADDING, Config, GpuLayers, Shape, SplitMode};
use super::host::{gpu_context_bytes, gpu_overhead_bytes, host_overhead_bytes};
use super::kv_cache;
use super::measure::{Contents, Measured};
use super::parts::{Parts, parts};
use super::subject::Subject;
use super::terms::AllReduce;
use crate::engine::largest::{growing, largest_over};
use crate::engine::{Margin, Overhead, left_to_system};
use crate::projection::Category;
use crate::units::Bytes;

/// Most sequences (`LLAMA_MAX_SEQ`, `src/llama-cparams.h` 0.6.0-dev).
pub(super) const MAX_SEQUENCES: u64 = 256;

/// Stretches of slots over which memory never shrinks: within one the micro-batch, which is rounded up to a multiple of the
/// slots (`graph_reserve` in `src/llama-context.cpp`, 0.6.0-dev), does not.
pub(super) fn slot_stretches(micro_batch: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
    growing(MAX_SEQUENCES, |slots| {
        let tokens = micro_batch(slots).max(1);
        tokens.checked_next_multiple_of(slots).unwrap_or(tokens)
    })
}

/// Bytes that caches grow by per token of context, over all devices.
pub(super) fn bytes_per_token(subject: &Subject<'_>, config: &Config, measured: &Measured) -> f64 {
    let step = CELL_PADDING.saturating_mul(measured.shape.streams);
    let longer = config.with_context(measured.shape.context.saturating_add(step));
    let total = |groups: &[kv_cache::Group]| groups.iter().map(|group| group.bytes).sum::<Bytes>();
    let grown = subject.caches(&longer, &measured.placed);
    let mut growth = total(&grown).saturating_sub(total(&measured.caches));
    if !measured.parts.is_empty() {
        let shape = longer.shape(subject.trained);
        let parts = parts(
            subject,
            &longer,
            shape,
            &measured.placed,
            Purpose::Allocation,
        );
        let caches = |parts: &Parts| parts.total(Category::KvCache);
        growth += caches(&parts).saturating_sub(caches(&measured.parts));
    }
    growth.get() as f64 / step as f64
}

/// The longest context, in tokens of all slots together, with which every device keeps its margin; not beyond the
/// trained one per slot. `asked` is the plan as written: where layers are left to the engine, it chooses them anew for
/// each context, so the answer does not depend on the context that is planned. Then it is enough that nothing exceeds,
/// since the engine itself fills GPUs up to the margin and counts nothing but its own buffers.
pub(super) fn longest_context(
    subject: &Subject<'_>,
    asked: &Config,
    planned: &Measured,
    fitted: Option<&Fitted>,
) -> Option<u64> {
    let step = CELL_PADDING.saturating_mul(asked.shape(subject.trained).streams);
    let most = subject.trained.checked_div(CELL_PADDING)?.max(1);
    let margin = if auto::moves_layers(subject, asked) {
        Margin::NONE
    } else {
        subject.inputs.margin
    };
    let key = ("context", asked.with_context(0), subject.key());
    let steps = subject.inputs.memo.get(&key, || {
        if exceeds_everything(subject, asked) {
            return None;
        }
        let with = |steps: u64| asked.with_context(steps.saturating_mul(step));
        let whole = fitted.is_none_or(|fitted| fitted.candidate.layers.is_none());
        if whole && fits_for_sure(subject, &with(most), planned) {
            return Some(most);
        }
        largest(1, most, |steps| {
            let mut config = with(steps);
            if config.gpu_layers != GpuLayers::Auto
                && let Ok(contents) = subject.contents(&config, &[])
            {
                // What contents alone are too much for needs no graph.
                let left = most_left(subject, &contents, margin);
                if left.iter().any(|left| *left < 0) {
                    return left;
                }
            }
            let fitted = auto::choose(subject, &mut config, &mut Vec::new());
            let spilled = auto::spilled(subject, fitted.as_ref());
            slack(subject, &config, &spilled, margin)
        })
    });
    steps.map(|steps| steps.saturating_mul(step))
}

/// Whether the weights alone are more than all devices together have free: then no context, no number of slots and no
/// place of any layer makes the plan fit, and nothing need be measured.
pub(super) fn exceeds_everything(subject: &Subject<'_>, config: &Config) -> bool {
    // Where matrices are cut, what each part takes is another matter.
    if !matches!(config.split_mode, SplitMode::Layer | SplitMode::None) {
        return false;
    }
    let least = least_weights(subject);
    let machine = subject.inputs.machine;
    let gpus = subject.devices.iter().map(|device| {
        let memory = device.gpu.memory;
        memory.usable.saturating_sub(memory.in_use)
    });
    let free = gpus.sum::<Bytes>() + machine.host.ram.saturating_sub(machine.host.in_use);
    least > free
}

/// Every tensor once, where it takes least.
fn least_weights(subject: &Subject<'_>) -> Bytes {
    let rows = subject.table.rows.iter().filter(|row| row.tensor.loaded);
    rows.map(|row| row.gpu_bytes.min(row.host_bytes)).sum()
}

/// Whether a longer context fits even if the compute buffers grew in proportion. They grow by less: some of what is in
/// them does not depend on the context.
fn fits_for_sure(subject: &Subject<'_>, longer: &Config, planned: &Measured) -> bool {
    let (from, to) = (planned.shape, longer.shape(subject.trained));
    let same = |shape: Shape| {
        (
            shape.micro_batch,
            shape.outputs,
            shape.sequences,
            shape.streams,
        )
    };
    if same(from) != same(to) || from.cells == 0 || !planned.parts.is_empty() {
        return false;
    }
    let caches = subject.caches(longer, &planned.placed);
    let scaled =
        |bytes: Bytes| bytes.mul_ratio(to.cells.max(from.cells), from.cells) + Bytes::new(1);
    let used = planned.used_with(&caches, scaled);
    left(subject, planned, to, &used, subject.inputs.margin)
        .iter()
        .all(|left| *left >= 0)
}

/// The longest context with every layer on a GPU, where the engine could also move layers to main memory.
pub(super) fn longest_on_gpus(
    subject: &Subject<'_>,
    asked: &Config,
    planned: &Measured,
    fitted: Option<&Fitted>,
) -> Option<u64> {
    let whole = all_on_gpus(subject, asked)?;
    longest_context(subject, &whole, planned, fitted)
}

/// The plan with every layer on a GPU, where that is left to the engine.
fn all_on_gpus(subject: &Subject<'_>, asked: &Config) -> Option<Config> {
    auto::moves_layers(subject, asked).then(|| Config {
        gpu_layers: GpuLayers::All,
        ..asked.clone()
    })
}

/// The tokens that a plan gives every slot: all of them where the slots are left to the engine, which then lets them share
/// one cache; else as many as each has of the context.
pub(super) fn tokens_each(subject: &Subject<'_>, config: &Config, slots_are_planned: bool) -> u64 {
    let context = config.asked_context(subject.trained);
    if slots_are_planned {
        context / config.sequences.max(1)
    } else {
        context
    }
}

/// The most slots with so many tokens each, counted to the one: each number has a graph of its own. `plan` is the plan as
/// written with so many slots. Where layers are left to the engine, it chooses them anew for each number, and it is enough
/// that nothing exceeds, as for [`longest_context`].
pub(super) fn most_slots(subject: &Subject<'_>, plan: impl Fn(u64) -> Config) -> Option<u64> {
    let one = plan(1);
    let key = ("slots", &one, plan(2), subject.key());
    let most = subject.inputs.memo.get(&key, || {
        if exceeds_everything(subject, &one) {
            return None;
        }
        let moves = auto::moves_layers(subject, &one);
        let margin = if moves {
            Margin::NONE
        } else {
            subject.inputs.margin
        };
        let stretches = slot_stretches(|slots| plan(slots).shape(subject.trained).micro_batch);
        largest_over(&stretches, |slots| {
            let mut config = plan(slots);
            // What contents alone are too much for needs no graph.
            match subject.contents(&config, &[]) {
                Ok(contents) if moves => {
                    if fits_nowhere(subject, &config, &contents, margin) {
                        return vec![-1];
                    }
                }
                Ok(contents) => {
                    let left = most_left(subject, &contents, margin);
                    if left.iter().any(|left| *left < 0) {
                        return left;
                    }
                }
                Err(_) => return vec![-1],
            }
            let fitted = auto::choose(subject, &mut config, &mut Vec::new());
            let spilled = auto::spilled(subject, fitted.as_ref());
            slack(subject, &config, &spilled, margin)
        })
    });
    *most
}

/// The same with every layer on a GPU, where the engine could also move layers to main memory.
pub(super) fn most_slots_on_gpus(
    subject: &Subject<'_>,
    plan: impl Fn(u64) -> Config,
) -> Option<u64> {
    all_on_gpus(subject, &plan(1))?;
    most_slots(subject, |slots| Config {
        gpu_layers: GpuLayers::All,
        ..plan(slots)
    })
}

/// What every GPU has left beyond its margin, and main memory at all; negative where it is too little.
pub(super) fn slack(
    subject: &Subject<'_>,
    config: &Config,
    overflows: &[Overflow],
    margin: Margin,
) -> Vec<i64> {
    let Ok(measured) = subject.measure(config, overflows, Purpose::Allocation) else {
        return vec![-1];
    };
    room(subject, &measured, margin)
}

/// The same of what is measured already.
pub(super) fn room(subject: &Subject<'_>, measured: &Measured, margin: Margin) -> Vec<i64> {
    left(subject, measured, measured.shape, &measured.used(), margin)
}

/// What is left with the contents alone, without compute buffers and what else comes beside them: it will be less.
pub(super) fn most_left(subject: &Subject<'_>, contents: &Contents, margin: Margin) -> Vec<i64> {
    let machine = subject.inputs.machine;
    let least = subject.least(contents);
    let free = free_for_buffers(subject, contents.shape, margin);
    let mut left: Vec<i64> = free
        .iter()
        .zip(&least)
        .map(|(free, least)| free.saturating_sub(*least))
        .collect();
    let host = machine.host.ram.signed_sub(machine.host.in_use);
    left.push(host.saturating_sub(least.last().copied().unwrap_or(0)));
    left
}

/// Whether weights and caches are more than all devices together have room for: then no place of any layer makes the plan
/// fit.
pub(super) fn fits_nowhere(
    subject: &Subject<'_>,
    config: &Config,
    contents: &Contents,
    margin: Margin,
) -> bool {
    let machine = subject.inputs.machine;
    if machine.pool().is_some() || !matches!(config.split_mode, SplitMode::Layer | SplitMode::None)
    {
        return false;
    }
    let signed = |bytes: Bytes| i64::try_from(bytes.get()).unwrap_or(i64::MAX);
    // A card that is not used keeps nothing free.
    let gpus = free_for_buffers(subject, contents.shape, margin);
    let gpus = gpus.into_iter().map(|free| free.max(0));
    let host = machine.host.ram.saturating_sub(machine.host.in_use);
    let host = signed(host.saturating_sub(left_to_system(machine)));
    let free = gpus.fold(host, i64::saturating_add);
    signed(least_weights(subject) + contents.context()) > free
}

/// What every GPU has for buffers.
fn free_for_buffers(subject: &Subject<'_>, shape: Shape, margin: Margin) -> Vec<i64> {
    let signed = |bytes: Bytes| i64::try_from(bytes.get()).unwrap_or(i64::MAX);
    let devices = subject.devices.iter().zip(overheads(subject, shape));
    devices
        .map(|(device, overhead)| {
            let memory = device.gpu.memory;
            let kept = overhead.usual + margin.beside(memory.usable, overhead);
            memory
                .usable
                .signed_sub(memory.in_use)
                .saturating_sub(signed(kept))
        })
        .collect()
}

/// What the process takes of every GPU beside its buffers.
fn overheads(subject: &Subject<'_>, shape: Shape) -> Vec<Overhead> {
    let (os, width) = (subject.inputs.machine.os, subject.width);
    let devices = subject.devices.iter();
    devices
        .map(|device| gpu_overhead_bytes(device.gpu, os, width, shape.micro_batch))
        .collect()
}

/// What is left of what every device has free, given what is used.
fn left(
    subject: &Subject<'_>,
    measured: &Measured,
    shape: Shape,
    used: &[Used],
    margin: Margin,
) -> Vec<i64> {
    let machine = subject.inputs.machine;
    let model = subject.inputs.model;
    let signed = |bytes: Bytes| i64::try_from(bytes.get()).unwrap_or(i64::MAX);
    let overheads: Vec<Overhead> = overheads(subject, shape);
    let on_gpus: Vec<i64> = overheads
        .iter()
        .zip(used)
        .map(|(overhead, used)| {
            let together = if measured.splits_tensors() {
                AllReduce::SCRATCH
            } else {
                Bytes::ZERO
            };
            used.total.saturating_add(signed(overhead.usual + together))
        })
        .collect();
    let mut left: Vec<i64> = subject
        .devices
        .iter()
        .zip(&on_gpus)
        .zip(&overheads)
        .map(|((device, used), overhead)| {
            let memory = device.gpu.memory;
            memory
                .usable
                .signed_sub(memory.in_use)
                .saturating_sub(*used)
                .saturating_sub(signed(margin.beside(memory.usable, *overhead)))
        })
        .collect();
    let host = used.last().copied().unwrap_or_default();
    let running = host.total.saturating_add(signed(measured.output));
    // Before there are caches and graphs, the loader needs room of its own.
    let staging = measured.host_weights.staging.bytes();
    let loading = host.model.saturating_add(signed(staging));
    let always = signed(measured.host_weights.locked_between + host_overhead_bytes(model));
    let (free, most) = match machine.pool() {
        // What the GPU takes of one memory is gone for the processor, and the margin is one of the GPU.
        Some(pool) => {
            let sum = |sum: i64, used: i64| sum.saturating_add(used);
            let kept = |overhead| signed(margin.beside(pool.gpu.memory.usable, overhead));
            let overhead = overheads.first().copied().unwrap_or_default();
            let run = on_gpus.iter().copied().fold(running, sum);
            let load = subject.devices.iter().zip(used).map(|(device, used)| {
                let context = gpu_context_bytes(device.gpu, machine.os);
                used.model.saturating_add(signed(context.usual))
            });
            let load = load.fold(loading, sum);
            let context = gpu_context_bytes(pool.gpu, machine.os);
            let run = run.saturating_add(kept(overhead));
            let load = load.saturating_add(kept(context));
            (pool.bytes.signed_sub(pool.in_use), run.max(load))
        }
        None => (
            machine.host.ram.signed_sub(machine.host.in_use),
            running.max(loading),
        ),
    };
    left.push(free.saturating_sub(most).saturating_sub(always));
    left
}
