//! What fitting tries: a context and a place for every layer.

/// Parameters of one dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in super::super) struct Candidate {
    /// Context in tokens; `None` = as asked for.
    pub(in super::super) context: Option<u64>,
    /// Where the layers go; `None` = as asked for.
    pub(in super::super) layers: Option<Vec<DeviceLayers>>,
    /// All routed experts in main memory, nothing else changed.
    pub(in super::super) experts_on_host: bool,
}

/// The layers of one GPU (`ngl_t` in `common/fit.cpp`, 0.6.0-dev).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in super::super) struct DeviceLayers {
    /// Layers in all, the output layer counted.
    pub(in super::super) layers: u32,
    /// How many of them leave a part elsewhere; the last ones.
    pub(in super::super) partial: u32,
    /// What the first of those keeps; all further ones keep everything but their experts.
    pub(in super::super) first: Fraction,
    /// Where the first of those leaves the rest: a GPU, or main memory.
    pub(in super::super) overflow: Option<usize>,
}

/// What a GPU keeps of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in super::super) enum Fraction {
    /// Attention.
    Attention,
    /// Attention and the up matrices.
    Up,
    /// Attention, up and gate matrices.
    Gate,
    /// Everything but routed experts.
    #[default]
    Dense,
}

/// A tensor override that a candidate needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Overflow {
    /// Which block.
    pub(in super::super) block: u64,
    /// What stays.
    pub(in super::super) keeps: Fraction,
    /// Where the rest goes.
    pub(in super::super) target: Option<usize>,
}

impl DeviceLayers {
    /// Layers that are whole. Where the engine moves the output layer, its count of partial ones wraps below zero.
    pub(super) fn full(self) -> u32 {
        self.layers.wrapping_sub(self.partial)
    }
}

impl Fraction {
    /// What follows `blk.N.` in the engine's pattern (`get_overflow_pattern` in `common/fit.cpp`, 0.6.0-dev).
    pub(in super::super) fn pattern(self) -> &'static str {
        match self {
            Self::Attention => r"\.ffn_(gate|up|gate_up|down).*",
            Self::Up => r"\.ffn_(gate|gate_up|down).*",
            Self::Gate => r"\.ffn_down.*",
            Self::Dense => r"\.ffn_(up|down|gate_up|gate)_(ch|)exps",
        }
    }
}

impl Overflow {
    /// The rule as written on the command line.
    pub(in super::super) fn regex(self) -> String {
        format!(r"blk\.{}{}", self.block, self.keeps.pattern())
    }
}

/// Layers on all GPUs together, the output layer counted.
pub(in super::super) fn gpu_layers(devices: &[DeviceLayers]) -> u64 {
    devices.iter().map(|device| u64::from(device.layers)).sum()
}

/// The overrides of a distribution, in the engine's order (`set_ngl_tensor_split_tbo`). `blocks` = layers of the
/// model without the output layer, as fitting counts them.
pub(in super::super) fn overflows(devices: &[DeviceLayers], blocks: u64) -> Vec<Overflow> {
    let mut overflows = Vec::new();
    let mut block = (blocks + 1).saturating_sub(gpu_layers(devices));
    for device in devices {
        if device.partial > device.layers {
            block += u64::from(device.layers);
            continue;
        }
        block += u64::from(device.full());
        for index in 0..u64::from(device.partial) {
            let (keeps, target) = if index == 0 {
                (device.first, device.overflow)
            } else {
                (Fraction::Dense, None)
            };
            overflows.push(Overflow {
                block: block + index,
                keeps,
                target,
            });
        }
        block += u64::from(device.partial);
    }
    overflows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_layers_are_the_last_of_each_device() {
        let devices = [
            DeviceLayers {
                layers: 3,
                partial: 1,
                first: Fraction::Up,
                overflow: Some(1),
            },
            DeviceLayers {
                layers: 4,
                partial: 2,
                ..DeviceLayers::default()
            },
        ];
        // Ten blocks and the output layer; seven on GPUs, so block 4 is the first of them.
        let blocks: Vec<(u64, Fraction, Option<usize>)> = overflows(&devices, 10)
            .iter()
            .map(|overflow| (overflow.block, overflow.keeps, overflow.target))
            .collect();
        assert_eq!(
            blocks,
            [
                (6, Fraction::Up, Some(1)),
                (9, Fraction::Dense, None),
                (10, Fraction::Dense, None)
            ]
        );
    }
}
