//! llama.cpp's own allocation sizes against the projection (`tests/data/oracle/llamacpp_mem.jsonl`).

mod errors;
pub(crate) mod row;

use plimsoll::engine::Margin;
use plimsoll::engine::llamacpp::LlamaCpp;
use plimsoll::engine::{Engine as _, Inputs, Memo, Outcome};
use plimsoll::plan::Settings;
use plimsoll::projection::{Category, DeviceTerms};
use plimsoll::units::Bytes;

use errors::{Errors, Sample};
use row::{Kind, Row};

const ROWS: &str = include_str!("../../data/oracle/llamacpp_mem.jsonl");

/// Rows of many settings at once, for every architecture a preset maps to.
const SWEEP: &str = include_str!("../../data/oracle/llamacpp_sweep.jsonl");

/// What the projection says of one device, in MiB, by the engine's own buffers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Buffers {
    model: f64,
    context: f64,
    compute: f64,
    output: f64,
}

impl Buffers {
    fn of(device: &DeviceTerms) -> Self {
        let sum = |categories: &[Category]| {
            device
                .terms
                .iter()
                .filter(|term| categories.contains(&term.category))
                .map(|term| term.bytes)
                .sum::<Bytes>()
                .as_mib()
        };
        Self {
            model: sum(&[Category::Weights]),
            context: sum(&[Category::KvCache, Category::RecurrentState]),
            compute: sum(&[Category::Compute]),
            output: sum(&[Category::Output]),
        }
    }

    fn total(self) -> f64 {
        self.model + self.context + self.compute + self.output
    }
}

fn project(row: &Row, memo: &Memo) -> Option<Outcome> {
    let model = row.model()?;
    let machine = row.machine();
    let settings: Settings = row.settings();
    Some(LlamaCpp.project(&Inputs {
        model: &model,
        draft: None,
        machine: &machine,
        settings: &settings,
        margin: Margin::DEFAULT,
        memo,
    }))
}

#[test]
fn buffers_agree_with_the_engine() {
    let memo = Memo::default();
    let mut errors = Errors::default();
    let mut refused = 0;
    for (line, text) in ROWS.lines().enumerate() {
        let row = Row::parse(text);
        let outcome = project(&row, &memo).expect("a row has a preset or hyper-parameters");
        let name = format!("{} {}", line + 1, row.label());
        if row.error.is_some() {
            assert!(outcome.refused, "{name} should be refused");
            refused += 1;
            continue;
        }
        assert!(
            !outcome.refused,
            "{name} is refused: {:?}",
            outcome.notes.first()
        );
        compare(&row, &name, &outcome, &mut errors);
    }
    println!("{}", errors.table());
    println!("{refused} refusals agree");
    for kind in [Kind::Dense, Kind::Latent, Kind::Experts, Kind::Other] {
        let worst = errors.worst(kind, "cache");
        assert!(worst <= 0.001, "caches of {kind:?} models: {worst:.4}");
    }
    for kind in [Kind::Dense, Kind::Latent, Kind::Experts] {
        let (median, worst) = (errors.median(kind, "total"), errors.worst(kind, "total"));
        assert!(median <= 0.001, "totals of {kind:?} models: {median:.4}");
        assert!(worst <= 0.005, "worst total of {kind:?} models: {worst:.4}");
    }
    // Compute buffers are emulated node by node.
    for (arch, worst) in errors.worst_compute() {
        assert!(worst <= 0.001, "worst compute buffer of {arch}: {worst:.4}");
    }
}

#[test]
fn buffers_agree_under_mixed_settings() {
    let memo = Memo::default();
    // The oracle's figures have four decimals.
    let same = |ours: f64, theirs: f64| (ours - theirs).abs() < 0.002;
    for (line, text) in SWEEP.lines().enumerate() {
        let row = Row::parse(text);
        let name = format!(
            "{} {}",
            line + 1,
            text.split(",\"buf\"").next().unwrap_or(text)
        );
        let outcome = project(&row, &memo).expect("a row has a preset");
        assert!(!outcome.refused, "{name}: {:?}", outcome.notes.first());
        let moment = outcome.projection.peak_moment().expect("a moment");
        let gpus = row.gpus();
        for (index, device) in moment.devices.iter().enumerate() {
            let ours = Buffers::of(device);
            let reported = if index < gpus {
                vec![row.buffer(&format!("CUDA{index}"))]
            } else {
                vec![row.buffer("CUDA_Host"), row.buffer("CPU")]
            };
            let sum = |part: fn(&Buffers) -> f64| reported.iter().map(part).sum::<f64>();
            let (context, compute) = (sum(|own| own.context), sum(|own| own.compute));
            let device = index;
            assert!(
                same(ours.compute, compute),
                "{name}: {} for {compute} on device {device}",
                ours.compute
            );
            assert!(
                same(ours.context, context),
                "{name}: {} for {context} on device {device}",
                ours.context
            );
            // Mapped weights of the host are reported as the range they span.
            if index < gpus {
                let model = sum(|own| own.model);
                let near = (ours.model - model).abs() <= 0.5 + 0.001 * model;
                assert!(
                    near,
                    "{name}: {} for {model} on device {device}",
                    ours.model
                );
            }
        }
    }
}

fn compare(row: &Row, name: &str, outcome: &Outcome, errors: &mut Errors) {
    let moment = outcome
        .projection
        .peak_moment()
        .expect("a plan that starts has a moment");
    let gpus = row.gpus();
    let projected = |index: usize| {
        moment
            .devices
            .get(index)
            .map(Buffers::of)
            .unwrap_or_default()
    };
    for gpu in 0..gpus {
        let reported = row.buffer(&format!("CUDA{gpu}"));
        errors.add(row, name, &format!("gpu{gpu}"), projected(gpu), reported);
    }
    let mut host = row.buffer("CUDA_Host");
    let cpu = row.buffer("CPU");
    host.model += cpu.model;
    host.context += cpu.context;
    host.compute += cpu.compute;
    host.output = row.output_mib();
    errors.add(row, name, "host", projected(gpus), host);
    let all: Vec<Buffers> = (0..=gpus).map(projected).collect();
    let cache: f64 = all.iter().map(|buffers| buffers.context).sum();
    errors.push(Sample {
        kind: row.kind(),
        arch: row.arch.clone(),
        what: "cache",
        name: name.to_owned(),
        projected: cache,
        reported: row.context_mib(),
        floor: 0.0,
    });
}
