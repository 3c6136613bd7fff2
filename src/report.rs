//! Projection, verdict, notes and limits: what the window shows and `--json` prints.

mod devices;
mod expectations;
mod experts;
mod fit;
mod headline;
mod json;
mod limit;
mod named_file;
mod neighbours;
mod room;
mod users;

pub use experts::{ExpertPrice, expert_prices, experts, place_experts};
pub use fit::{FitError, fit};
pub use limit::ContextLimit;
pub use users::with_users;

use crate::advisor;
use crate::engine::search::pinned_choices;
use crate::engine::{Derived, Engine, Inputs, Margin, Memo, Outcome, left_to_system, setting};
use crate::hardware::Machine;
use crate::model::Model;
use crate::plan::{FitOptions, LaunchOptions, Settings};
use crate::projection::{Category, DeviceTerms, Note, Severity};
use crate::quality::Quality;
use crate::speed::Speed;
use crate::units::Bytes;

/// Code of the note by which an engine says that it keeps the margin free by its own count, where ours leaves less.
pub const MARGIN_KEPT_BY_ENGINE: &str = "margin-kept-by-engine";

/// Code of the note by which an engine says that its own choice of layers puts more on a card than it has.
pub const FIT_OVERFILLS: &str = "fit-overfills";

/// Everything that is shown about a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Identity of the engine.
    pub engine: &'static str,
    /// Version whose rules were used.
    pub engine_version: String,
    /// Name of the model.
    pub model: String,
    /// Does it fit?
    pub verdict: Verdict,
    /// Only the weights of a model are known: every total is at least what is shown, and a plan that has room for that
    /// much is judged tight.
    pub lower_bound: bool,
    /// Devices at the moment that decides: GPUs in plan order, the host last.
    pub devices: Vec<DeviceReport>,
    /// Name of the moment that decides.
    pub peak: &'static str,
    /// Every moment, the deciding one among them.
    pub moments: Vec<MomentReport>,
    /// Errors first, then warnings, then hints.
    pub notes: Vec<Note>,
    /// Every setting with its effective value, automatic choices filled in.
    pub settings: Settings,
    /// Figures beside the projection.
    pub derived: Derived,
    /// How fast it will be where memory suffices; `None` where it would not start or a note says what is not known.
    pub speed: Option<Speed>,
    /// What its formats cost.
    pub quality: Quality,
}

/// Does a plan fit?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// On every device, with the margin free.
    Fits,
    /// On every device, but with less than the margin free on one.
    Tight,
    /// Not on every device.
    Exceeds,
    /// The engine would not start; an error note says why.
    Refused,
}

/// One device with what is allocated on it.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceReport {
    /// "gpu0", "node1/gpu0", "host", "unified".
    pub id: String,
    /// What kind of memory it is.
    pub kind: DeviceKind,
    /// Product name.
    pub name: String,
    /// What the engine can use, others' use included.
    pub capacity: Bytes,
    /// What the driver calls total.
    pub driver_total: Bytes,
    /// In use by others.
    pub in_use: Bytes,
    /// Part of `in_use` that further plans take which run beside this one, and the system itself where nothing else counts
    /// it; of main memory that a GPU shares, what this plan takes of the pool too.
    pub beside: Vec<Neighbour>,
    /// To be kept free beside the terms: of the plan's margin what their overhead does not take already; nothing on the
    /// host, which has no hidden user.
    pub margin: Bytes,
    /// Terms of this plan.
    pub terms: DeviceTerms,
}

/// What a plan beside this one takes of a device.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Neighbour {
    /// What the plan is called.
    pub plan: String,
    /// What it takes.
    pub bytes: Bytes,
}

/// What kind of memory a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// Memory of its own.
    Gpu,
    /// One pool with the processor.
    Unified,
    /// Main memory.
    Host,
}

impl DeviceReport {
    /// Sum of this plan's terms.
    pub fn total(&self) -> Bytes {
        self.terms.total()
    }

    /// What of the margin is counted as overhead already, and so not kept free beside it.
    pub fn overhead_in_margin(&self) -> Bytes {
        if self.margin == Bytes::ZERO {
            return Bytes::ZERO;
        }
        let overhead = self.terms.terms.iter();
        overhead
            .filter(|term| term.category == Category::Overhead)
            .map(|term| term.bytes)
            .sum()
    }

    /// In use by programs that nobody planned.
    pub fn in_use_by_others(&self) -> Bytes {
        let beside = self.beside.iter().map(|neighbour| neighbour.bytes).sum();
        self.in_use.saturating_sub(beside)
    }

    /// Capacity less others' use less this plan; negative when over.
    pub fn free(&self) -> i64 {
        self.capacity.signed_sub(self.in_use + self.total())
    }
}

/// One moment with its devices.
#[derive(Clone, Debug, PartialEq)]
pub struct MomentReport {
    /// "load", "run", or an event of a training step.
    pub name: &'static str,
    /// In the order of [`Report::devices`].
    pub devices: Vec<DeviceReport>,
}

/// What a report is made from.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Who runs it.
    pub engine: &'static dyn Engine,
    /// What is loaded.
    pub model: &'a Model,
    /// The small model that drafts for it.
    pub draft: Option<&'a Model>,
    /// What runs on the same machine at the same time.
    pub beside: &'a [Beside],
    /// On what.
    pub machine: &'a Machine,
    /// As written, any spelling the engine accepts.
    pub settings: &'a Settings,
    /// The `[fit]` table.
    pub fit: &'a FitOptions,
    /// The `[launch]` table: what it loads is compared with what is projected.
    pub launch: &'a LaunchOptions,
}

/// A plan that runs beside another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// What the plan is called.
    pub plan: String,
    /// Bytes per device, in the order of [`Report::devices`].
    pub devices: Vec<Bytes>,
    /// Identity of its engine.
    pub engine: &'static str,
    /// The address it listens at, where its plan says one.
    pub host: Option<String>,
    /// The port it listens on.
    pub port: u16,
}

impl Beside {
    /// What a plan of this report takes as it runs, and where it listens.
    pub fn new(plan: String, report: &Report, launch: &LaunchOptions) -> Self {
        let devices = report.devices.iter().map(DeviceReport::total).collect();
        let usual = crate::engine::find(report.engine).map_or(0, Engine::usual_port);
        Self {
            plan,
            devices,
            engine: report.engine,
            host: launch.host.clone(),
            port: launch.port.unwrap_or(usual),
        }
    }
}

/// Projects a request and judges it.
///
/// # Errors
/// A setting that does not exist or has a value of the wrong kind.
pub fn report(request: &Request<'_>, memo: &Memo) -> Result<Report, setting::Error> {
    let settings = setting::checked(
        request.engine,
        request.settings,
        request.model,
        request.machine,
    )?;
    setting::known(request.engine, &request.fit.pinned)?;
    let margin = Margin::of_plan(request.fit);
    let system = left_to_system(request.machine);
    let shared = devices::shared(request.machine, request.beside);
    let machine = shared.as_ref();
    let request = &Request {
        machine,
        ..*request
    };
    let inputs = Inputs {
        model: request.model,
        draft: request.draft,
        machine,
        settings: &settings,
        margin,
        memo,
    };
    let outcome = request.engine.project(&inputs);
    let mut report = judge(request, outcome, margin, system);
    report.derived.max_context_tokens_per_second = limit::speed_at(request, &inputs, &report);
    let advice = advice(request, &inputs, &report);
    report.notes.extend(advice);
    let pinned = pinned_choices(request.engine, &fit::pinned(request));
    report.notes = after_what_pins_allow(report.notes, &pinned);
    Ok(report)
}

/// Changes of what is pinned say so, and come last among notes that matter as much.
fn after_what_pins_allow(mut notes: Vec<Note>, pinned: &[String]) -> Vec<Note> {
    let touched = |note: &Note| -> Vec<String> {
        let changes = note.fix.iter().flat_map(|fix| fix.set.keys());
        let pinned = changes.filter(|name| pinned.contains(name));
        pinned.cloned().collect()
    };
    for note in &mut notes {
        let names = touched(note);
        if !names.is_empty() {
            note.message = format!(
                "{} The fix changes {}, which is pinned.",
                note.message,
                names.join(" and ")
            );
        }
    }
    notes.sort_by_key(|note| (note.severity, !touched(note).is_empty()));
    notes
}

/// What would mend a plan that does not fit, or make use of what one leaves.
fn advice(request: &Request<'_>, inputs: &Inputs<'_>, report: &Report) -> Vec<Note> {
    let devices = || report.devices.iter();
    let places: Vec<&str> = devices().map(|device| device.id.as_str()).collect();
    let pinned = fit::pinned(request);
    let Request { engine, .. } = *request;
    let Report {
        settings, derived, ..
    } = report;
    match report.verdict {
        Verdict::Exceeds => {
            let remedies = engine.remedies(inputs, settings, derived);
            // Of one memory for all there is one place to lack something.
            let places: Vec<&str> = match (request.machine.pool(), places.first()) {
                (Some(_), Some(pool)) => vec![*pool; places.len()],
                _ => places,
            };
            let own_count = report.notes.iter().any(|note| note.code == FIT_OVERFILLS);
            let margin = advisor::larger_margin(engine, inputs, &places, own_count);
            let mut notes = Vec::from_iter(margin);
            notes.extend(advisor::fixes(engine, inputs, remedies, &pinned, &places));
            notes
        }
        Verdict::Fits => {
            let margin =
                |device: &DeviceReport| i64::try_from(device.margin.get()).unwrap_or(i64::MAX);
            let spare: Vec<i64> = devices()
                .map(|device| device.free().saturating_sub(margin(device)))
                .collect();
            let ideas = engine.ideas(inputs, settings, derived, &spare);
            advisor::hints(engine, inputs, ideas, &pinned, (&spare, &places))
        }
        Verdict::Tight | Verdict::Refused => Vec::new(),
    }
}

fn judge(request: &Request<'_>, outcome: Outcome, margin: Margin, system: Bytes) -> Report {
    let Outcome {
        projection,
        resolved,
        mut notes,
        refused,
        lower_bound,
        derived,
        traffic,
    } = outcome;
    let moments: Vec<MomentReport> = projection
        .moments
        .iter()
        .map(|moment| MomentReport {
            name: moment.name,
            devices: devices::reports(request, system, margin, &moment.devices),
        })
        .collect();
    let peak = moments.get(projection.peak);
    let devices = peak.map_or_else(
        || devices::reports(request, system, margin, &[]),
        |moment| moment.devices.clone(),
    );
    let peak = peak.map_or("run", |moment| moment.name);
    notes.extend(room::crowded(system, &moments));
    notes.extend(room::over_ceiling(request.machine, &projection));
    notes.extend(room::file_larger_than_disk(request, &derived));
    notes.extend(named_file::of_other_type(request, &resolved));
    notes.extend(neighbours::same_port(request));
    let refused = refused || notes.iter().any(|note| note.severity == Severity::Error);
    let verdict = match verdict(refused, &moments) {
        // Room for a part of it is no promise.
        Verdict::Fits if lower_bound => Verdict::Tight,
        verdict => verdict,
    };
    let traffic = traffic.filter(|_| verdict != Verdict::Refused);
    let speed = expectations::speed(traffic, request.machine, &moments, &mut notes);
    notes.sort_by_key(|note| note.severity);
    let engine_version = match resolved.get("engine_version") {
        Some(crate::plan::Value::Text(version)) => version.clone(),
        _ => request.engine.newest_version().to_owned(),
    };
    Report {
        engine: request.engine.id(),
        engine_version,
        model: request.model.name.clone(),
        verdict,
        lower_bound,
        devices,
        peak,
        moments,
        notes,
        quality: expectations::quality(
            (request.engine, request.model),
            &resolved,
            derived.bits_per_weight,
        ),
        settings: resolved,
        derived,
        speed,
    }
}

fn verdict(refused: bool, moments: &[MomentReport]) -> Verdict {
    if refused {
        return Verdict::Refused;
    }
    // Every moment must fit, not only the one with the largest sum.
    moments
        .iter()
        .flat_map(|moment| &moment.devices)
        .map(device_verdict)
        .fold(Verdict::Fits, |worst, verdict| match (worst, verdict) {
            (Verdict::Exceeds, _) | (_, Verdict::Exceeds) => Verdict::Exceeds,
            (Verdict::Tight, _) | (_, Verdict::Tight) => Verdict::Tight,
            _ => Verdict::Fits,
        })
}

fn device_verdict(device: &DeviceReport) -> Verdict {
    // An unused card cannot be too full, whatever others do with it.
    if device.total() == Bytes::ZERO {
        Verdict::Fits
    } else if device.free() < 0 {
        Verdict::Exceeds
    } else if Bytes::new(device.free().unsigned_abs()) < device.margin {
        Verdict::Tight
    } else {
        Verdict::Fits
    }
}
