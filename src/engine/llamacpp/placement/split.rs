//! Blocks over devices.

use super::overrides::Error;
use super::{Device, PlacementConfig};
use crate::engine::llamacpp::config::SplitMode;

/// The devices of blocks and output layer.
pub(super) struct Assigned {
    pub(super) blocks: Vec<Device>,
    pub(super) output: Device,
}

/// The last `gpu_layers` units go to GPUs, in proportion; the output layer is the last unit. Arithmetic is in single
/// precision as in the engine, where ties are decided by it.
pub(super) fn assign(config: &PlacementConfig<'_>, blocks: u32) -> Result<Assigned, Error> {
    let devices = devices(config)?;
    let points = split_points(config, &devices);
    let units = u64::from(blocks) + 1;
    let first = units.saturating_sub(config.gpu_layers);
    let active = if devices.is_empty() {
        0
    } else {
        config.gpu_layers.min(units)
    };
    let device_of = |unit: u64| {
        let Some(index) = unit.checked_sub(first).filter(|index| *index < active) else {
            return Device::Host;
        };
        let place = index as f32 / active as f32;
        let beyond = points.partition_point(|point| *point <= place);
        devices
            .get(beyond)
            .or(devices.last())
            .map_or(Device::Host, |gpu| Device::Gpu(*gpu))
    };
    Ok(Assigned {
        blocks: (0..u64::from(blocks)).map(device_of).collect(),
        output: device_of(u64::from(blocks)),
    })
}

/// The GPUs in use, by their index in the plan.
fn devices(config: &PlacementConfig<'_>) -> Result<Vec<usize>, Error> {
    let count = config.free.len();
    match config.split_mode {
        SplitMode::None if count == 0 => Ok(Vec::new()),
        SplitMode::None if config.main_gpu < count => Ok(vec![config.main_gpu]),
        SplitMode::None => Err(Error::MainGpu {
            index: config.main_gpu,
            count,
        }),
        // One device has nothing to split.
        SplitMode::Row if count > 1 => Err(Error::RowSplit),
        SplitMode::Tensor if count > 1 => Err(Error::TensorSplit),
        SplitMode::Layer | SplitMode::Row | SplitMode::Tensor => Ok((0..count).collect()),
    }
}

/// Cumulative shares, the last of them 1.
fn split_points(config: &PlacementConfig<'_>, devices: &[usize]) -> Vec<f32> {
    let given = |gpu: &usize| config.tensor_split.get(*gpu).copied().unwrap_or(0.0) as f32;
    let by_memory = devices.iter().all(|gpu| given(gpu) == 0.0);
    let mut sum = 0.0_f32;
    let mut points: Vec<f32> = Vec::with_capacity(devices.len());
    for gpu in devices {
        sum += if by_memory {
            config.free.get(*gpu).map_or(0.0, |free| free.get() as f32)
        } else {
            given(gpu)
        };
        points.push(sum);
    }
    if sum > 0.0 {
        for point in &mut points {
            *point /= sum;
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn check(gpus: usize, gpu_layers: u64, split: &[f64], blocks: u32, expected: &[usize]) {
        let free = vec![Bytes::from_gib(24); gpus];
        let config = PlacementConfig {
            free: &free,
            gpu_layers,
            split_mode: SplitMode::Layer,
            tensor_split: split,
            main_gpu: 0,
            overrides: &[],
            overflows: &[],
            remote: &[],
            packing: None,
        };
        let assigned = assign(&config, blocks).expect("accepted");
        let mut counts = vec![0; gpus + 1];
        for device in assigned.blocks.iter().chain([&assigned.output]) {
            counts[device.gpu().unwrap_or(gpus)] += 1;
        }
        assert_eq!(counts, expected);
    }

    #[test]
    fn units_follow_the_shares() {
        // Published log of GLM-5.2 with one prediction block: 55, 9, 8 and 6 layers with caches.
        check(4, 999, &[54.0, 9.0, 8.0, 8.0], 79, &[55, 9, 8, 8, 0]);
        check(2, 33, &[], 32, &[17, 16, 0]);
        check(2, 33, &[3.0, 1.0], 32, &[25, 8, 0]);
        check(1, 1, &[], 32, &[1, 32]);
        check(0, 99, &[], 32, &[33]);
        check(2, 99, &[0.0, 1.0], 32, &[0, 33, 0]);
    }
}
