//! How long the context of one request is.

use super::config::Config;
use super::gpus::Device;

const GIB: u64 = 1 << 30;

/// Default contexts by the memory of all GPUs together, and the one below (`server/routes.go` v0.33.0-rc2).
const TIERS: [(u64, u64); 2] = [(47 * GIB, 262_144), (23 * GIB, 32_768)];
const LOWEST: u64 = 4096;

/// Least context (`getRunner`, `server/sched.go` v0.33.0-rc2).
const LEAST: u64 = 4;

/// Where a context comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// `num_ctx`.
    Written,
    /// `OLLAMA_CONTEXT_LENGTH`.
    Server,
    /// The memory of the GPUs.
    Tier,
}

/// The context of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Context {
    /// Before the model's own limit.
    pub(super) asked: u64,
    /// What it comes to: no longer than trained (`effectiveContext`).
    pub(super) tokens: u64,
    pub(super) origin: Origin,
}

/// As Ollama chooses it.
pub(super) fn context(config: &Config, devices: &[Device], trained: u64) -> Context {
    let (asked, origin) = match (config.num_ctx, config.context_length) {
        (Some(written), _) => (u64::try_from(written).unwrap_or(0), Origin::Written),
        (None, 0) => (tier(total(devices, config.overhead)), Origin::Tier),
        (None, length) => (length, Origin::Server),
    };
    let asked = asked.max(LEAST);
    Context {
        asked,
        tokens: if trained > 0 {
            asked.min(trained)
        } else {
            asked
        },
        origin,
    }
}

/// Memory of all GPUs less what is set aside on each. The engine's own numbers wrap around where more is set aside than
/// a GPU has, and so do these.
pub(super) fn total(devices: &[Device], overhead: u64) -> u64 {
    devices.iter().fold(0, |sum: u64, device| {
        sum.wrapping_add(device.total.wrapping_sub(overhead))
    })
}

/// The default context of so much memory.
fn tier(total: u64) -> u64 {
    TIERS
        .iter()
        .find(|(least, _)| total >= *least)
        .map_or(LOWEST, |(_, context)| *context)
}

/// The context of the one more attempt after an automatic one did not fit (`nextLowerAutoNumCtx`).
pub(super) fn next_lower(tokens: u64) -> Option<u64> {
    match tokens {
        32_769.. => Some(32_768),
        4097.. => Some(4096),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `server/routes_options_test.go` and `server/routes.go`, v0.33.0-rc2.
    #[test]
    fn the_default_follows_the_memory() {
        for (mib, expected) in [
            (0, 4096),
            (23_449, 4096),
            (23 * 1024, 32_768),
            (24 * 1024, 32_768),
            (47 * 1024 - 1, 32_768),
            (48 * 1024, 262_144),
        ] {
            assert_eq!(tier(mib << 20), expected, "{mib} MiB");
        }
        assert_eq!(next_lower(131_072), Some(32_768));
        assert_eq!(next_lower(32_768), Some(4096));
        assert_eq!(next_lower(4096), None);
    }
}
