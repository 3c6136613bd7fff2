//! From a plan to what the engine allocates.

use super::accepted::accepted;
use super::arrange::{load, plans_slots};
use super::auto::{self, Fitted};
use super::compute::{Exactness, Purpose};
use super::config::{self, Config};
use super::host::{cache_terms, gpu_overhead, host_overhead, loading, locked_between};
use super::limits;
use super::measure::Measured;
use super::notes;
use super::parts;
use super::resolved::{Choices, resolved};
use super::subject::Subject;
use super::terms;
use super::traffic;
use super::unknown;
use crate::engine::{Derived, Inputs, Outcome, Users};
use crate::hardware::Machine;
use crate::projection::{DeviceTerms, Moment, Note, Projection, Term};
use crate::units::Bytes;

/// How much is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Everything.
    Full,
    /// Not how far the plan could go: an engine that chooses more by itself asks that its own way.
    WithoutLimits,
}

/// What the engine would make of a plan.
pub(super) fn project(inputs: &Inputs<'_>, extent: Extent) -> Outcome {
    let mut notes = Vec::new();
    let mut config = config::read(inputs.settings, inputs.draft.is_some(), &mut notes);
    let devices = config::devices(inputs.machine, &config);
    let Some(weights) = config.weights(inputs.model) else {
        let word = config.written_weights.as_deref().unwrap_or_default();
        notes.push(notes::unknown_file_type(word));
        return refused(inputs, &config, notes);
    };
    let subject = match Subject::new(*inputs, &config, weights, devices, &mut notes) {
        Ok(subject) => subject,
        Err(error) => {
            notes.push(Note::error(
                "unsupported-model",
                capitalized(&error.to_string()),
            ));
            return refused(inputs, &config, notes);
        }
    };
    let architecture = subject.table.architecture;
    notes::unloadable(&subject.table, &mut notes);
    notes::model(inputs.model, &subject.table, &mut notes);
    notes.extend(inputs.draft.and_then(unknown::note_on_draft));
    notes::refusals(
        inputs.model,
        architecture,
        &config,
        &subject.devices,
        inputs.machine.gpus.len(),
        &mut notes,
    );
    parts::notes(&subject, &config, &mut notes);
    notes::machine(inputs.machine, &config, &subject.devices, &mut notes);
    let asked = config.clone();
    let fitted = auto::choose(&subject, &mut config, &mut notes);
    let spilled = auto::spilled(&subject, fitted.as_ref());
    let measured = match subject.measure(&config, &spilled, Purpose::Allocation) {
        Ok(measured) => measured,
        Err(error) => {
            notes.push(
                Note::error("placement", capitalized(&error.to_string())).on("override_tensor"),
            );
            return refused(inputs, &config, notes);
        }
    };
    notes::file(&subject, &config, &mut notes);
    let chosen = Chosen {
        asked: &asked,
        config: &config,
        fitted: fitted.as_ref(),
        measured: &measured,
        extent,
    };
    finish(&subject, &chosen, notes)
}

/// A plan with what the engine makes of it.
struct Chosen<'a> {
    /// As written.
    asked: &'a Config,
    /// With the engine's choices.
    config: &'a Config,
    fitted: Option<&'a Fitted>,
    measured: &'a Measured,
    extent: Extent,
}

fn finish(subject: &Subject<'_>, chosen: &Chosen<'_>, mut notes: Vec<Note>) -> Outcome {
    let Chosen {
        config, measured, ..
    } = *chosen;
    let inputs = &subject.inputs;
    let is_known = measured.compute.exactness != Exactness::Unknown;
    let flash = is_known.then_some(measured.compute.flash_attn);
    let run = running(subject, config, measured);
    let on_gpus = measured.weights_on_gpus();
    let load = loading(measured.loader, &measured.host_weights, on_gpus, &run);
    notes::after(
        &notes::Seen {
            machine: inputs.machine,
            config,
            shape: measured.shape,
            trained: subject.trained,
            caches: &measured.caches,
            devices: &run,
            load: &load,
            loader: measured.loader,
            host_weights: &measured.host_weights,
            file: subject.table.file_bytes(),
            flash,
            margin: inputs.margin,
            fitted: chosen
                .fitted
                .is_some_and(|fitted| fitted.candidate.layers.is_some()),
            graphs: measured.compute.exactness,
        },
        &mut notes,
    );
    let is_error = |note: &Note| note.severity == crate::projection::Severity::Error;
    Outcome {
        projection: projection(inputs.machine, load, run),
        resolved: resolved(
            inputs,
            &Choices {
                config,
                trained: subject.trained,
                fitted: chosen.fitted,
                flash,
                blocks: u64::from(subject.table.all_blocks),
                fitted_blocks: u64::from(subject.fitted_blocks()),
            },
        ),
        refused: notes.iter().any(is_error),
        notes,
        derived: derived(subject, chosen),
        lower_bound: lower_bound(inputs),
        traffic: is_known.then(|| traffic::of(subject, config, &measured.placed, &measured.parts)),
    }
}

/// Of what is loaded there is something of which only the weights are known.
fn lower_bound(inputs: &Inputs<'_>) -> bool {
    let models = [Some(inputs.model), inputs.draft];
    let mut models = models.into_iter().flatten();
    models.any(|model| model.only_weights().is_some())
}

/// Loading, then running.
fn projection(machine: &Machine, load: Vec<DeviceTerms>, run: Vec<DeviceTerms>) -> Projection {
    let peak = peak(machine, [&load, &run]);
    let moment = |name, devices| Moment { name, devices };
    Projection {
        moments: vec![moment("load", load), moment("run", run)],
        peak,
    }
}

/// Index of the moment in which the device with the least room has least; the later one where they are equal.
fn peak(machine: &Machine, moments: [&Vec<DeviceTerms>; 2]) -> usize {
    let tightest = |devices: &Vec<DeviceTerms>| {
        if let Some(pool) = machine.pool() {
            // One memory for all of it.
            let total: Bytes = devices.iter().map(DeviceTerms::total).sum();
            return Some(pool.bytes.signed_sub(pool.in_use + total));
        }
        let (gpus, _) = devices.split_at(devices.len().saturating_sub(1));
        let gpus = machine.gpus.iter().cycle().zip(gpus);
        let host = devices.last().map(|host| {
            let ram = machine.host.ram;
            ram.signed_sub(machine.host.in_use + host.total())
        });
        gpus.map(|(gpu, device)| {
            let memory = gpu.memory;
            memory.usable.signed_sub(memory.in_use + device.total())
        })
        .chain(host)
        .min()
    };
    let [load, run] = moments.map(tightest);
    usize::from(load >= run)
}

/// The most slots with as many tokens each as planned; `None` where the engine would not start, or none fits.
pub(super) fn most_users(inputs: &Inputs<'_>) -> Option<Users> {
    let (subject, asked) = accepted(inputs)?;
    let mut config = asked.clone();
    auto::choose(&subject, &mut config, &mut Vec::new());
    let planned = plans_slots(inputs.settings);
    let tokens_each = limits::tokens_each(&subject, &config, planned);
    let plan = |slots: u64| {
        let mut settings = inputs.settings.clone();
        settings.extend(load(tokens_each, slots));
        config::read(&settings, inputs.draft.is_some(), &mut Vec::new())
    };
    let on_gpus = limits::most_slots_on_gpus(&subject, plan);
    Some(Users {
        most: limits::most_slots(&subject, plan)?,
        on_gpus,
        tokens_each,
    })
}

fn derived(subject: &Subject<'_>, chosen: &Chosen<'_>) -> Derived {
    let Chosen {
        asked,
        config,
        fitted,
        measured,
        extent,
    } = *chosen;
    // How far a plan can go that is known by half cannot be told.
    let full = extent == Extent::Full && !lower_bound(&subject.inputs);
    let (params_total, params_active) = subject.table.parameters(subject.inputs.model);
    let file_bytes = subject.table.file_bytes();
    Derived {
        params_total,
        params_active,
        file_bytes,
        weights_bytes: measured.placed.total(),
        bits_per_weight: subject.table.bits_per_weight(),
        kv_bytes_per_token: limits::bytes_per_token(subject, config, measured),
        max_context_tokens: full
            .then(|| limits::longest_context(subject, asked, measured, fitted))
            .flatten(),
        max_context_tokens_on_gpus: full
            .then(|| limits::longest_on_gpus(subject, asked, measured, fitted))
            .flatten(),
        // Users are counted where it is asked for.
        ..Derived::default()
    }
}

/// Terms per device of the machine when the server runs: GPUs in plan order, the host last.
fn running(subject: &Subject<'_>, config: &Config, measured: &Measured) -> Vec<DeviceTerms> {
    let machine = subject.inputs.machine;
    let model = subject.inputs.model;
    let nodes = usize::try_from(machine.nodes.max(1)).unwrap_or(1);
    let gpus = machine.gpus.len().saturating_mul(nodes);
    let mut devices: Vec<DeviceTerms> = vec![DeviceTerms::default(); gpus];
    for (position, device) in subject.devices.iter().enumerate() {
        let mut all = buffers(subject, config, measured, Some(position));
        all.extend(gpu_overhead(
            device.gpu,
            machine.os,
            subject.width,
            measured.shape.micro_batch,
        ));
        if measured.splits_tensors() {
            all.push(terms::communication(machine.os));
        }
        beside(&mut all, measured, Some(position));
        if let Some(slot) = devices.get_mut(device.index) {
            slot.terms = all;
        }
    }
    let mut host = buffers(subject, config, measured, None);
    if measured.output > Bytes::ZERO {
        host.push(terms::output(measured.output, model, measured.shape));
    }
    host.extend(cache_terms(
        config,
        measured.shape,
        &measured.caches,
        &measured.states,
        machine.host.ram,
    ));
    if model.vocab_size > 0 {
        host.push(host_overhead(model));
    }
    host.extend(locked_between(&measured.host_weights));
    beside(&mut host, measured, None);
    devices.push(DeviceTerms { terms: host });
    devices
}

/// Adds what is loaded beside the model, each category after the model's own.
fn beside(terms: &mut Vec<Term>, measured: &Measured, home: Option<usize>) {
    let parts = measured.parts.on(home);
    if !parts.is_empty() {
        terms.extend(parts.iter().cloned());
        terms.sort_by_key(|term| term.category);
    }
}

/// Weights, caches, states and compute buffer of one device.
pub(super) fn buffers(
    subject: &Subject<'_>,
    config: &Config,
    measured: &Measured,
    home: Option<usize>,
) -> Vec<Term> {
    let mut all = Vec::with_capacity(8);
    let weights = subject.weights_terms(measured);
    let position = home.unwrap_or(subject.devices.len());
    all.extend(weights.get(position).into_iter().flatten().cloned());
    let here = measured.caches.iter().filter(|group| group.home == home);
    all.extend(here.map(|group| terms::cache(group, config)));
    all.extend(unknown::cache(subject, config, measured, home));
    let here = measured.states.iter().filter(|group| group.home == home);
    all.extend(here.map(terms::state));
    let buffer = match home {
        Some(gpu) => measured.compute.gpus.get(gpu),
        None => Some(&measured.compute.host),
    };
    all.extend(
        buffer
            .and_then(|buffer| terms::compute(buffer, measured.compute.exactness, measured.shape)),
    );
    all
}

/// A plan that the engine refuses before it allocates anything.
fn refused(inputs: &Inputs<'_>, config: &Config, notes: Vec<Note>) -> Outcome {
    let parameters = inputs.model.parameters();
    Outcome {
        resolved: resolved(
            inputs,
            &Choices {
                config,
                trained: inputs.model.max_position_embeddings,
                fitted: None,
                flash: None,
                blocks: inputs.model.blocks().into(),
                fitted_blocks: inputs.model.blocks().into(),
            },
        ),
        notes,
        refused: true,
        derived: Derived {
            params_total: parameters.text(),
            params_active: parameters.active(),
            ..Derived::default()
        },
        projection: Projection::default(),
        lower_bound: false,
        traffic: None,
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).chain(['.']).collect()
    })
}
