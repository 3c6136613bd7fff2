//! Comparisons, and what their errors come to.

/// One projected figure beside the reported one.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What is compared.
    pub what: What,
    /// The engine's name for the kind of model.
    pub family: String,
    /// What about the settings is special.
    pub groups: Vec<&'static str>,
    /// Model, settings and device.
    pub name: String,
    /// In MiB.
    pub projected: f64,
    /// In MiB.
    pub reported: f64,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// Everything on one device.
    Device,
    /// Weights of one device.
    Weights,
    /// Caches and states over all devices.
    Cache,
    /// Compute buffer of a GPU.
    GpuCompute,
    /// Compute buffer of main memory.
    HostCompute,
    /// Output buffer.
    Output,
}

impl What {
    /// All, in the order of tables.
    pub const ALL: [Self; 6] = [
        Self::Device,
        Self::Weights,
        Self::Cache,
        Self::GpuCompute,
        Self::HostCompute,
        Self::Output,
    ];

    /// Head of its column.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Device => "device total",
            Self::Weights => "weights",
            Self::Cache => "caches",
            Self::GpuCompute => "GPU compute",
            Self::HostCompute => "host compute",
            Self::Output => "output",
        }
    }

    /// Smaller reported figures count as this many MiB, so that a KiB more of nothing is no error. Caches have no such
    /// floor: they are exact or wrong.
    const fn floor(self) -> f64 {
        match self {
            Self::Cache => 0.01,
            _ => 256.0,
        }
    }
}

impl Sample {
    /// As a share of the reported figure.
    pub fn error(&self) -> f64 {
        let difference = (self.projected - self.reported).abs();
        // Reported figures are rounded: output buffers to two decimals, all others to four.
        let rounding = if self.what == What::Output {
            0.0051
        } else {
            0.001
        };
        if difference < rounding {
            return 0.0;
        }
        difference / self.reported.max(self.what.floor())
    }
}

/// Errors in order of size.
#[derive(Clone, Debug, Default)]
pub struct Errors(Vec<f64>);

impl Errors {
    /// Those of the samples given.
    pub fn of<'a>(samples: impl Iterator<Item = &'a Sample>) -> Self {
        let mut errors: Vec<f64> = samples.map(Sample::error).collect();
        errors.sort_by(f64::total_cmp);
        Self(errors)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The smallest error that this share of all does not exceed.
    pub fn quantile(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let index = (last as f64 * share).round() as usize;
        self.0.get(index).copied().unwrap_or(0.0)
    }

    /// The largest.
    pub fn worst(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }
}
