//! Settings tried: what they leave free, and where layers end up.

use super::super::accepted::accepted;
use super::super::auto;
use super::super::compute::Purpose;
use super::super::config::{self, Config, GpuLayers, Shape};
use super::super::limits;
use super::super::measure::Contents;
use super::super::placed::Placed;
use super::super::placement::Device;
use super::super::subject::Subject;
use super::super::tensors::Layer;
use crate::engine::search::Probe;
use crate::engine::{Inputs, Margin, left_to_system};
use crate::plan::Settings;
use crate::units::Bytes;

/// Settings with what comes of them.
#[derive(Clone)]
pub(super) struct Trial {
    pub(super) settings: Settings,
    pub(super) probe: Probe,
    /// GPUs in use.
    pub(super) gpus: usize,
    /// What each GPU could hold of weights and caches, with the compute buffers as they are.
    pub(super) capacity: Vec<i64>,
    /// The largest compute buffer of a GPU.
    pub(super) buffer: i64,
    /// The block in which that buffer was fullest; `None` outside of all.
    peak: Option<u64>,
    /// Weights and caches alone are more than all GPUs together have room for: whatever else is done with them they do not
    /// fit, and their graphs were not made.
    pub(super) hopeless: bool,
    /// They are more than all devices together have room for, main memory included.
    pub(super) nowhere: bool,
}

impl Trial {
    /// Tries settings; `None` where the engine would not start. What is hopeless is not worked out, but where `exact`; their
    /// compute buffers come to `floor` at least.
    pub(super) fn new(
        inputs: &Inputs<'_>,
        settings: Settings,
        exact: bool,
        floor: i64,
    ) -> Option<Self> {
        let inputs = Inputs {
            settings: &settings,
            ..*inputs
        };
        let (subject, asked) = accepted(&inputs)?;
        let mut config = asked.clone();
        let fitted = auto::choose(&subject, &mut config, &mut Vec::new());
        let spilled = auto::spilled(&subject, fitted.as_ref());
        let moves = auto::moves_layers(&subject, &asked);
        if !exact && !moves {
            let contents = subject.contents(&config, &spilled).ok()?;
            let room = limits::most_left(&subject, &contents, inputs.margin);
            if is_hopeless(&subject, &room, floor) {
                return Some(Self::without_graphs(&subject, &config, &contents, room));
            }
        }
        let measured = subject
            .measure(&config, &spilled, Purpose::Allocation)
            .ok()?;
        // The engine itself fills GPUs up to the margin, by its own buffers alone.
        let fills_margin = moves && keeps_margin(&subject, &config, &spilled);
        let margin = if fills_margin {
            Margin::NONE
        } else {
            inputs.margin
        };
        let signed = |bytes: Bytes| i64::try_from(bytes.get()).unwrap_or(i64::MAX);
        let mut room = limits::room(&subject, &measured, margin);
        if let Some(host) = room.last_mut() {
            *host = host.saturating_sub(signed(left_to_system(inputs.machine)));
        }
        let used = measured.used();
        let buffers = measured.compute.gpus.iter();
        let largest = buffers.clone().max_by_key(|buffer| buffer.bytes);
        let capacity = buffers
            .zip(&used)
            .zip(&room)
            .map(|((buffer, used), room)| {
                let held = used.total.saturating_sub(signed(buffer.bytes));
                room.saturating_add(held)
            })
            .collect();
        Some(Self {
            probe: Probe {
                fills_margin,
                ..probe(&subject, &config, (&measured.placed, measured.shape), room)
            },
            buffer: largest.map_or(0, |buffer| signed(buffer.bytes)),
            peak: largest.and_then(|buffer| buffer.peak.block.map(u64::from)),
            hopeless: false,
            nowhere: false,
            gpus: subject.devices.len(),
            capacity,
            settings,
        })
    }

    /// Settings as they would be if graphs took nothing; `None` where the engine would not start.
    pub(super) fn sketch(inputs: &Inputs<'_>, settings: &Settings) -> Option<Self> {
        let inputs = Inputs {
            settings,
            ..*inputs
        };
        let (subject, mut config) = accepted(&inputs)?;
        let fitted = auto::choose(&subject, &mut config, &mut Vec::new());
        let spilled = auto::spilled(&subject, fitted.as_ref());
        let contents = subject.contents(&config, &spilled).ok()?;
        let room = limits::most_left(&subject, &contents, inputs.margin);
        Some(Self::without_graphs(&subject, &config, &contents, room))
    }

    /// One whose graphs are not worth making.
    fn without_graphs(
        subject: &Subject<'_>,
        config: &Config,
        contents: &Contents,
        room: Vec<i64>,
    ) -> Self {
        let gpus = subject.devices.len();
        let margin = subject.inputs.margin;
        Self {
            probe: probe(subject, config, (&contents.placed, contents.shape), room),
            gpus,
            capacity: vec![0; gpus],
            buffer: 0,
            peak: None,
            hopeless: true,
            nowhere: limits::fits_nowhere(subject, config, contents, margin),
            settings: subject.inputs.settings.clone(),
        }
    }

    /// Whether it fits where the other does not, or has more on the GPUs.
    pub(super) fn serves_better(&self, other: &Self) -> bool {
        let key = |trial: &Self| (trial.probe.fits(), trial.probe.gpu_share);
        key(self) > key(other)
    }

    /// What the only GPU's compute buffer comes to at least with other settings that have all layers on it and the blocks
    /// before `same` as they are here: up to the block in which it was fullest here their graphs are computed alike.
    pub(super) fn floor(&self, same: u64) -> i64 {
        match self.peak {
            Some(block) if self.gpus == 1 && block + 1 < same => self.buffer,
            _ => 0,
        }
    }

    /// Whether every GPU keeps its margin, whatever main memory has.
    pub(super) fn fits_gpus(&self) -> bool {
        let gpus = self.probe.room.iter().take(self.gpus);
        gpus.into_iter().all(|room| *room >= 0)
    }
}

/// Whether all GPUs together lack room, of which compute buffers need `floor` at least.
fn is_hopeless(subject: &Subject<'_>, room: &[i64], floor: i64) -> bool {
    let on_gpus = room.iter().take(subject.devices.len());
    on_gpus.fold(0_i64, |sum, left| sum.saturating_add(*left)) < floor
}

/// Whether every GPU keeps its margin by the engine's own count: where it has nothing more to move, it loads all the same.
fn keeps_margin(subject: &Subject<'_>, config: &Config, spilled: &[auto::Overflow]) -> bool {
    // A target in the settings is kept in place of the margin.
    if !config.fit_target.is_empty() {
        return true;
    }
    let Ok(measured) = subject.measure(config, spilled, Purpose::DryRun) else {
        return false;
    };
    let signed = |bytes: Bytes| i64::try_from(bytes.get()).unwrap_or(i64::MAX);
    let gpus = subject.devices.iter().zip(subject.free());
    gpus.zip(measured.fitted()).all(|((device, free), used)| {
        let margin = subject.inputs.margin.of(device.gpu.memory.usable);
        signed(*free).saturating_sub(used.total) >= signed(margin)
    })
}

fn probe(
    subject: &Subject<'_>,
    config: &Config,
    (placed, shape): (&Placed, Shape),
    room: Vec<i64>,
) -> Probe {
    let table = &subject.table;
    let placement = &placed.placement;
    let on_gpu = |device: &&Device| device.gpu().is_some();
    let layers = placement.blocks.iter().filter(on_gpu).count() + {
        let output = [placement.output];
        output.iter().filter(on_gpu).count()
    };
    let mut in_ram: Vec<u32> = Vec::new();
    for (row, device) in table.rows.iter().zip(&placement.rows) {
        if let (Layer::Block(block), Some(Device::Host)) = (row.tensor.layer, device)
            && row.is_routed()
            && in_ram.last() != Some(&block)
        {
            in_ram.push(block);
        }
    }
    let total = placement.total().get();
    let on_gpus: Bytes = placement.gpus.iter().map(|share| share.bytes).sum();
    Probe {
        room,
        fills_margin: false,
        bits_per_weight: table.bits_per_weight(),
        gpu_share: if total == 0 {
            0.0
        } else {
            on_gpus.get() as f64 / total as f64
        },
        gpu_layers: (layers as u64, placement.blocks.len() as u64 + 1),
        expert_layers_in_ram: in_ram.len() as u64,
        context_per_slot: if shape.streams == 1 && config.sequences > 1 {
            shape.cells / config.sequences
        } else {
            shape.cells
        },
        slots: shape.sequences,
        weights: table.weights.short(subject.inputs.model).to_owned(),
        cache: (
            config.cache_k.name().to_owned(),
            config.cache_v.name().to_owned(),
        ),
    }
}

/// Whether the engine is to choose the layers.
pub(super) fn layers_are_automatic(inputs: &Inputs<'_>) -> bool {
    config::read(inputs.settings, inputs.draft.is_some(), &mut Vec::new()).gpu_layers
        == GpuLayers::Auto
}
