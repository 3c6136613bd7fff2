//! Memory to keep free on each GPU, and main memory to leave to the system.

use crate::hardware::{Machine, Os};
use crate::plan::FitOptions;
use crate::projection::{Category, DeviceTerms};
use crate::units::Bytes;

/// Memory to keep free on each GPU beside an engine's buffers: for what they do not count, and for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Margin {
    /// As much on each.
    Bytes(Bytes),
    /// A part of what each can hold, in percent.
    Percent(u8),
}

impl Margin {
    /// Where a plan does not say.
    ///
    /// llama.cpp's own fit leaves as much (`common/common.h`, `fit_params_target`), for the context, libraries and pools
    /// that its buffers do not count.
    pub const DEFAULT: Self = Self::Bytes(Bytes::from_mib(1024));

    /// None at all: what is merely possible.
    pub const NONE: Self = Self::Bytes(Bytes::ZERO);

    /// The margin a plan asks for.
    pub fn of_plan(fit: &FitOptions) -> Self {
        match (fit.margin_mib, fit.margin_percent) {
            (Some(mib), _) => Self::Bytes(Bytes::from_mib(mib)),
            (None, Some(percent)) => Self::Percent(percent),
            (None, None) => Self::DEFAULT,
        }
    }

    /// What of it is to stay free beside everything that is counted, on a device that can hold `capacity`: the engine's own
    /// fit takes it off what is free before its own overhead is there (`common_params_fit_impl`, `common/fit.cpp`
    /// 0.6.0-dev), so that this comes out of the margin, and a margin that the overhead may use up leaves room for that.
    pub fn beside(self, capacity: Bytes, overhead: Overhead) -> Bytes {
        let margin = self.of(capacity);
        if margin == Bytes::ZERO {
            return margin;
        }
        margin.max(overhead.most).saturating_sub(overhead.usual)
    }

    /// In bytes, on a device that can hold `capacity`.
    pub fn of(self, capacity: Bytes) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => capacity.mul_ratio(u64::from(percent), 100),
        }
    }
}

/// What a process takes of a device that none of the engine's buffers count: context of the driver, pools of its kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// As counted.
    pub usual: Bytes,
    /// The most that is known.
    pub most: Bytes,
}

impl Overhead {
    /// What is counted of it on one device.
    pub fn of(device: &DeviceTerms) -> Self {
        let terms = device.terms.iter();
        let overhead = terms.filter(|term| term.category == Category::Overhead);
        overhead.fold(Self::default(), |sum, term| {
            let (_, most) = term.range;
            Self {
                usual: sum.usual + term.bytes,
                most: sum.most + most,
            }
        })
    }
}

/// Main memory that the system itself takes and that nothing counts: what its maker says it needs, less what is in use
/// already. A machine that was detected has its system in use; one that is only described has not. Reports and fits count
/// it as in use.
pub fn left_to_system(machine: &Machine) -> Bytes {
    let needs = match machine.os {
        // Least memory of a server without a desktop (Ubuntu Server 24.04, system requirements).
        Os::Linux => Bytes::from_gib(1),
        // Windows 11, system requirements; for macOS what guides to `iogpu.wired_limit_mb` keep at least.
        Os::Windows | Os::Macos => Bytes::from_gib(4),
    };
    let in_use = machine.pool().map(|pool| pool.in_use);
    needs.saturating_sub(in_use.unwrap_or(machine.host.in_use))
}

impl std::fmt::Display for Margin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(formatter),
            Self::Percent(percent) => write!(formatter, "{percent} %"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_of_each_device() {
        let card = Bytes::from_gib(24);
        assert_eq!(Margin::DEFAULT.of(card), Bytes::from_gib(1));
        assert_eq!(
            Margin::Percent(5).of(card),
            Bytes::new(24 * (1 << 30) * 5 / 100)
        );
    }

    #[test]
    fn overhead_comes_out_of_the_margin() {
        let card = Bytes::from_gib(24);
        let [usual, most] = [450, 700].map(Bytes::from_mib);
        let overhead = Overhead { usual, most };
        let beside = |mib| Margin::Bytes(Bytes::from_mib(mib)).beside(card, overhead);
        assert_eq!(beside(1024), Bytes::from_mib(574));
        // What may be taken is left, however small the margin.
        assert_eq!(beside(100), Bytes::from_mib(250));
        assert_eq!(beside(0), Bytes::ZERO);
    }
}
