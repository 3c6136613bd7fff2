//! A draft model: a second model with a context as long as the first's.

use super::{drafting, settings};
use crate::engine::Inputs;
use crate::engine::llamacpp::compute::Purpose;
use crate::engine::llamacpp::config::{self, Config, Context, Device, Shape};
use crate::engine::llamacpp::host::host_overhead;
use crate::engine::llamacpp::notes::buffer_names;
use crate::engine::llamacpp::parts::Parts;
use crate::engine::llamacpp::subject::Subject;
use crate::engine::llamacpp::{project, terms};
use crate::plan::Value;
use crate::projection::Note;
use crate::units::Bytes;

/// The draft model with its settings.
pub(in super::super) struct Companion<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) config: Config,
    /// For each GPU of the draft its position among the model's.
    positions: Vec<Option<usize>>,
}

impl<'a> Companion<'a> {
    /// The draft of a plan; `None` where it names none, or the engine has no file for it.
    pub(in super::super) fn new(
        inputs: Inputs<'a>,
        main: &[Device<'a>],
        notes: &mut Vec<Note>,
    ) -> Option<Self> {
        let model = inputs.draft?;
        let config = settings::config(inputs.settings, notes);
        let weights = settings::weights(inputs.settings, model)?;
        let devices = devices(inputs, main, &config, notes);
        let positions = devices
            .iter()
            .map(|device| main.iter().position(|other| other.index == device.index))
            .collect();
        let inputs = Inputs {
            model,
            draft: None,
            ..inputs
        };
        match Subject::alone(inputs, &config, weights, devices) {
            Ok(subject) => Some(Self {
                subject,
                config,
                positions,
            }),
            Err(error) => {
                notes.push(Note::error(
                    "draft-unsupported",
                    format!("The draft model cannot be loaded: {error}."),
                ));
                None
            }
        }
    }

    /// Tensors of its file.
    pub(in super::super) fn file_bytes(&self) -> Bytes {
        self.subject.table.file_bytes()
    }

    /// Its configuration beside a model's. The engine's own fit measures it with a split of its own and, where the
    /// context is left open, with its own trained context (`common/fit.cpp`, 0.6.0-dev).
    pub(super) fn shaped(&self, main: &Config, shape: Shape, purpose: Purpose) -> Config {
        let mut config = settings::shaped(&self.config, main, shape);
        match purpose {
            Purpose::Allocation => config.tensor_split.clone_from(&main.tensor_split),
            Purpose::DryRun => {
                if matches!(main.context, Context::Unset | Context::Trained) {
                    config.context = Context::Trained;
                }
            }
        }
        config
    }

    /// Its terms.
    pub(super) fn add(&self, main: &Config, shape: Shape, purpose: Purpose, parts: &mut Parts) {
        let config = self.shaped(main, shape, purpose);
        // What cannot be placed is refused with a note.
        let Ok(measured) = self.subject.measure(&config, &[], purpose) else {
            return;
        };
        for (own, position) in self.positions.iter().enumerate() {
            let Some(position) = position else { continue };
            let buffers = project::buffers(&self.subject, &config, &measured, Some(own));
            parts.add(Some(*position), buffers.into_iter().map(drafting));
        }
        let model = self.subject.inputs.model;
        let host = project::buffers(&self.subject, &config, &measured, None);
        parts.add(None, host.into_iter().map(drafting));
        let output = terms::output(measured.output, model, measured.shape);
        parts.add(None, [drafting(output), drafting(host_overhead(model))]);
    }
}

/// The GPUs of the draft: those of the model unless the plan names some (`--spec-draft-device`).
fn devices<'a>(
    inputs: Inputs<'a>,
    main: &[Device<'a>],
    config: &Config,
    notes: &mut Vec<Note>,
) -> Vec<Device<'a>> {
    let asked = match inputs.settings.get("device_draft") {
        Some(Value::Text(text)) => text.trim(),
        _ => "auto",
    };
    if asked.is_empty() || asked.eq_ignore_ascii_case("auto") {
        return main.to_vec();
    }
    if asked.eq_ignore_ascii_case("none") {
        return Vec::new();
    }
    let all = config::devices(
        inputs.machine,
        &Config {
            split_mode: config::SplitMode::Layer,
            ..config.clone()
        },
    );
    let names = buffer_names(&all, config);
    let mut chosen = Vec::new();
    for name in asked.split(',').map(str::trim) {
        // Main memory comes first among the names.
        let found = names
            .iter()
            .skip(1)
            .position(|known| known.eq_ignore_ascii_case(name));
        match found.and_then(|position| all.get(position)) {
            Some(device) => {
                if !main.iter().any(|other| other.index == device.index) {
                    notes.push(
                        Note::warning(
                            "draft-device-apart",
                            format!("{name} is used by the draft alone: what it takes there is not in the projection."),
                        )
                        .on("device_draft"),
                    );
                }
                chosen.push(*device);
            }
            None => notes.push(
                Note::error(
                    "unknown-device",
                    format!(
                        "There is no device {name:?} here; the engine knows {}.",
                        names.get(1..).unwrap_or_default().join(", ")
                    ),
                )
                .on("device_draft"),
            ),
        }
    }
    chosen
}
