//! Memory to keep free on each GPU, and main memory to leave to the system.

use crate::hardware::{Machine, Os};
use crate::plan::FitOptions;
use crate::units::Bytes;

/// Memory to keep free on each GPU, for what an engine's buffers do not count and for others.
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

    /// In bytes, on a device that can hold `capacity`.
    pub fn of(self, capacity: Bytes) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => capacity.mul_ratio(u64::from(percent), 100),
        }
    }
}

/// Main memory that a good plan leaves to the system: what its maker says it needs, less what is in use already. A machine
/// that was detected has its system in use; one that is only described has not.
pub fn left_to_system(machine: &Machine) -> Bytes {
    let needs = match machine.os {
        // Least memory of a server without a desktop (Ubuntu Server 24.04, system requirements).
        Os::Linux => Bytes::from_gib(1),
        // Windows 11, system requirements; for macOS what guides to `iogpu.wired_limit_mb` keep at least.
        Os::Windows | Os::Macos => Bytes::from_gib(4),
    };
    needs.saturating_sub(machine.host.in_use)
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
}
