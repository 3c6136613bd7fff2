//! Where each tensor lives (`load_tensors` in `src/llama-model.cpp` and `create_tensor` in
//! `src/llama-model-loader.cpp`, 0.6.0-dev).

mod overrides;
mod rows;
mod sliced;
mod split;
#[cfg(test)]
mod tests;
mod why;

pub(in crate::engine::llamacpp) use overrides::Error;
pub(in crate::engine::llamacpp) use rows::Rows;
pub(in crate::engine::llamacpp) use sliced::Sliced;
pub(in crate::engine::llamacpp) use why::{parts_terms, rows_terms, weights_terms};

use super::auto::Overflow;
use super::config::{Override, SplitMode};
use super::host::Packing;
use super::tensors::{Layer, Row, TensorTable};
use crate::engine::Memo;
use crate::units::Bytes;

/// A memory that holds tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::engine::llamacpp) enum Device {
    /// A GPU, by its index in the plan.
    Gpu(usize),
    /// Main memory.
    Host,
}

impl Device {
    /// The index of a GPU.
    pub(in crate::engine::llamacpp) fn gpu(self) -> Option<usize> {
        match self {
            Self::Gpu(index) => Some(index),
            Self::Host => None,
        }
    }
}

/// What decides where tensors live.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::llamacpp) struct PlacementConfig<'a> {
    /// Free memory of every GPU of the plan; the default split follows it.
    pub(in crate::engine::llamacpp) free: &'a [Bytes],
    /// Layers on GPUs, the output layer counted; any large number is all.
    pub(in crate::engine::llamacpp) gpu_layers: u64,
    /// How several GPUs are used.
    pub(in crate::engine::llamacpp) split_mode: SplitMode,
    /// Proportions per GPU; empty or all zero = by free memory.
    pub(in crate::engine::llamacpp) tensor_split: &'a [f64],
    /// The GPU of split mode "none".
    pub(in crate::engine::llamacpp) main_gpu: usize,
    /// Tensors sent elsewhere, first match wins.
    pub(in crate::engine::llamacpp) overrides: &'a [Override],
    /// Overrides that the engine's own fit adds; it does so only where the user has none.
    pub(in crate::engine::llamacpp) overflows: &'a [Overflow],
    /// Buffer types of GPUs on other nodes, which come first in the list of GPUs.
    pub(in crate::engine::llamacpp) remote: &'a [String],
    /// The processor keeps weights in a layout of its own, where it has one.
    pub(in crate::engine::llamacpp) packing: Option<Packing>,
}

/// Where everything lives.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine::llamacpp) struct Placement {
    /// The device of each block, prediction blocks included: caches follow it, overridden tensors do not.
    pub(in crate::engine::llamacpp) blocks: Vec<Device>,
    /// The device of the output layer.
    pub(in crate::engine::llamacpp) output: Device,
    /// The device of each row of the table; `None`: not loaded.
    pub(in crate::engine::llamacpp) rows: Vec<Option<Device>>,
    /// Tensors that are held a second time, with the device of the copy: index of the row.
    pub(in crate::engine::llamacpp) copies: Vec<(usize, Device)>,
    /// What the weights take of each GPU.
    pub(in crate::engine::llamacpp) gpus: Vec<Share>,
    /// What they take of main memory.
    pub(in crate::engine::llamacpp) host: Share,
    /// Layout of weights in main memory.
    packing: Option<Packing>,
}

/// The weights of one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine::llamacpp) struct Share {
    /// Size of its buffer.
    pub(in crate::engine::llamacpp) bytes: Bytes,
    /// Part of it that is a second copy of a tensor elsewhere.
    pub(in crate::engine::llamacpp) copied: Bytes,
    /// Part of it that overrides, or operations its own device lacks, brought here.
    pub(in crate::engine::llamacpp) moved: Bytes,
    /// Blocks of the main model that belong here.
    pub(in crate::engine::llamacpp) blocks: u64,
}

impl Placement {
    /// Every tensor in its place.
    ///
    /// # Errors
    /// The engine would refuse the settings, or a pattern cannot be evaluated.
    pub(in crate::engine::llamacpp) fn new(
        config: &PlacementConfig<'_>,
        table: &TensorTable,
        memo: &Memo,
    ) -> Result<Self, Error> {
        let assigned = split::assign(config, table.all_blocks)?;
        let rules = overrides::Rules::new(config, table, memo)?;
        let mut placement = Self {
            blocks: assigned.blocks,
            output: assigned.output,
            rows: Vec::with_capacity(table.rows.len()),
            copies: Vec::new(),
            gpus: vec![Share::default(); config.free.len()],
            host: Share::default(),
            packing: config.packing,
        };
        for (index, row) in table.rows.iter().enumerate() {
            let device = placement.place(index, row, &rules, table);
            placement.rows.push(device);
        }
        placement.tie(table, &rules);
        for block in 0..table.blocks as usize {
            let device = placement.blocks.get(block).copied();
            if let Some(share) = device.and_then(|device| placement.share(device)) {
                share.blocks += 1;
            }
        }
        Ok(placement)
    }

    /// The share of a device.
    pub(in crate::engine::llamacpp) fn of(&self, device: Device) -> Share {
        match device {
            Device::Host => self.host,
            Device::Gpu(index) => self.gpus.get(index).copied().unwrap_or_default(),
        }
    }

    /// Bytes loaded over all devices.
    pub(in crate::engine::llamacpp) fn total(&self) -> Bytes {
        self.gpus
            .iter()
            .chain([&self.host])
            .map(|share| share.bytes)
            .sum()
    }

    fn share(&mut self, device: Device) -> Option<&mut Share> {
        match device {
            Device::Host => Some(&mut self.host),
            Device::Gpu(index) => self.gpus.get_mut(index),
        }
    }

    /// Where a tensor belongs by the order of layers.
    fn home(&self, row: &Row) -> Option<Device> {
        match row.tensor.layer {
            Layer::Input => Some(Device::Host),
            Layer::Output => Some(self.output),
            Layer::Block(block) => self.blocks.get(block as usize).copied(),
            Layer::EveryBlock => self.blocks.first().copied(),
        }
    }

    fn place(
        &mut self,
        index: usize,
        row: &Row,
        rules: &overrides::Rules<'_>,
        table: &TensorTable,
    ) -> Option<Device> {
        if !row.tensor.loaded {
            return None;
        }
        let home = self.home(row)?;
        let target = rules.target(index, row);
        let device = match target {
            Some(target) => target,
            // The loader falls back to main memory where a device lacks the operation.
            None if row.gpu_can => home,
            None => Device::Host,
        };
        if row.tensor.layer == Layer::EveryBlock && target.is_none() && device == home {
            self.repeat(index, row, home, table);
        }
        self.add(row, device, device != home);
        Some(device)
    }

    /// Copies of a table that every block uses, one per further device with blocks.
    fn repeat(&mut self, index: usize, row: &Row, home: Device, table: &TensorTable) {
        let mut further: Vec<Device> = Vec::new();
        for device in self.blocks.iter().take(table.blocks as usize) {
            if *device != home && !further.contains(device) {
                further.push(*device);
            }
        }
        for device in further {
            self.copy(index, row, device);
        }
    }

    /// The tied head: the embedding once more where the output layer is elsewhere, or where the loader does not see
    /// that it has it.
    fn tie(&mut self, table: &TensorTable, rules: &overrides::Rules<'_>) {
        let embedding = table
            .rows
            .iter()
            .position(|row| row.tensor.name == "token_embd.weight");
        let (true, Some(index)) = (table.tied, embedding) else {
            return;
        };
        let (Some(row), Some(Some(device))) = (table.rows.get(index), self.rows.get(index)) else {
            return;
        };
        let device = *device;
        // Both bear the embedding's name, so an override holds for both; otherwise the copy goes with the output layer.
        let head = match (rules.target(index, row), row.gpu_can) {
            (Some(target), _) => target,
            (None, true) => self.output,
            (None, false) => Device::Host,
        };
        // A product's layout is not that of a table: the embedding cannot serve as both.
        let repacked = head == Device::Host && self.packing.is_some_and(|own| own.takes_head(row));
        if head != device || repacked || table.architecture.makes_head_first() {
            self.copy(index, row, head);
        }
    }

    /// What a tensor takes of a device.
    pub(in crate::engine::llamacpp) fn size(&self, row: &Row, device: Device) -> Bytes {
        match device {
            Device::Host => {
                row.host_bytes
                    + self
                        .packing
                        .map_or(Bytes::ZERO, |packing| packing.extra(row))
            }
            Device::Gpu(_) => row.gpu_bytes,
        }
    }

    fn copy(&mut self, index: usize, row: &Row, device: Device) {
        self.copies.push((index, device));
        let bytes = self.size(row, device);
        if let Some(share) = self.share(device) {
            share.bytes += bytes;
            share.copied += bytes;
        }
    }

    fn add(&mut self, row: &Row, device: Device, moved: bool) {
        let bytes = self.size(row, device);
        if let Some(share) = self.share(device) {
            share.bytes += bytes;
            if moved {
                share.moved += bytes;
            }
        }
    }
}
