//! How many tokens are computed at once, which Ollama passes on as batch and micro-batch.

use super::gpus::{Device, Library};
use super::placement::{FILL, percent};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// Tried from the largest that a context calls for down to the smallest: size, contexts above which it is called for,
/// what it is believed to take more, and how full the GPUs may be before it, in percent (`generationBatch...`,
/// `server/sched.go` v0.33.0-rc2).
const STEPS: [Step; 2] = [
    Step {
        batch: 2048,
        above: 32_768,
        surcharge: 2 * GIB,
        headroom: 60,
    },
    Step {
        batch: 1024,
        above: 4096,
        surcharge: 768 * MIB,
        headroom: 75,
    },
];

struct Step {
    batch: u64,
    above: u64,
    surcharge: u64,
    headroom: u64,
}

/// The default of the API, where nothing calls for more.
pub(super) const DEFAULT: u64 = 512;

/// For cards with little memory and no flash attention.
const CONSTRAINED: u64 = 256;

/// The automatic batch (`automaticGenerationBatch`, `server/sched.go` v0.33.0-rc2) of a context over all slots.
pub(super) fn automatic(
    context: u64,
    predicted: u64,
    available: u64,
    flash_disabled: bool,
    gpus: &[Device],
) -> u64 {
    let cuda = |device: &&Device| device.library == Library::Cuda;
    if flash_disabled && gpus.iter().any(|device| cuda(&device)) {
        let small = gpus.iter().filter(cuda).any(|device| {
            let memory = match (device.free, device.total) {
                (0, total) => total,
                (free, 0) => free,
                (free, total) => free.min(total),
            };
            (1..=8 * GIB).contains(&memory)
        });
        return if context > 4096 && small {
            CONSTRAINED
        } else {
            DEFAULT
        };
    }
    let fits = |step: &&Step| {
        if predicted == 0 || available == 0 {
            return true;
        }
        let most = percent(available, FILL);
        predicted <= percent(available, step.headroom)
            && most
                .checked_sub(predicted)
                .is_some_and(|left| step.surcharge <= left)
    };
    STEPS
        .iter()
        .filter(|step| context > step.above)
        .find(fits)
        .map_or(DEFAULT, |step| step.batch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(library: Library, free_gib: u64) -> Device {
        Device {
            index: 0,
            library,
            integrated: false,
            total: 96 * GIB,
            free: free_gib * GIB,
            flash: true,
        }
    }

    /// The cases of `TestAutomaticGenerationBatch` (`server/sched_test.go` v0.33.0-rc2), and their edges.
    #[test]
    fn a_batch_grows_with_the_context_while_there_is_room() {
        for (context, predicted, available, flash_off, expected) in [
            (4096, 0, 0, false, 512),
            (8192, 0, 0, false, 1024),
            (65_536, 0, 0, false, 2048),
            (65_536, 8, 14, false, 2048),
            (65_536, 9, 14, false, 1024),
            (65_536, 8, 11, false, 1024),
            (65_536, 9, 11, false, 512),
            (32_768, 1, 96, false, 1024),
            (65_536, 8, 14, true, 512),
        ] {
            let gpus = [card(Library::Cuda, available)];
            let found = automatic(context, predicted * GIB, available * GIB, flash_off, &gpus);
            assert_eq!(found, expected, "{context} {predicted} {available}");
        }
    }

    #[test]
    fn small_cards_without_flash_attention_get_less() {
        let on = |library, context, free| {
            automatic(context, 3 * GIB, free * GIB, true, &[card(library, free)])
        };
        assert_eq!(on(Library::Cuda, 8192, 6), 256);
        assert_eq!(on(Library::Cuda, 4096, 6), 512);
        assert_eq!(on(Library::Cuda, 8192, 9), 512);
        assert_eq!(on(Library::Vulkan, 8192, 9), 1024);
    }
}
