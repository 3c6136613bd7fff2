//! On which GPUs Ollama puts a model (`selectLlamaServerPlacement`, `server/sched.go` v0.33.0-rc2).

use super::gpus::{Device, Library};

/// Where a model goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Placement {
    /// The GPUs that `llama-server` sees, in order.
    pub(super) gpus: Vec<Device>,
    /// `--main-gpu`, with `--split-mode none`.
    pub(super) main: Option<i64>,
    /// It went to one GPU of several because it is believed to fit there.
    pub(super) fits_one: bool,
}

impl Placement {
    /// Takes out what the server does not use although it is handed over.
    pub(super) fn hide(&mut self) {
        // Integrated GPUs where there is another one (`src/llama.cpp`, 0.6.0-dev).
        if self.gpus.iter().any(|device| !device.integrated) {
            self.gpus.retain(|device| !device.integrated);
        }
        // A negative index is none at all.
        if self.main.is_some_and(i64::is_negative) {
            self.gpus.clear();
            self.main = None;
        }
    }
}

/// What decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    /// `main_gpu`, where it is written.
    pub(super) main_gpu: Option<i64>,
    /// `OLLAMA_SCHED_SPREAD`.
    pub(super) spread: bool,
    /// What the model is believed to take.
    pub(super) predicted: u64,
    /// Main memory that is free.
    pub(super) host_free: u64,
}

/// Part of free memory that may be filled, in percent.
pub(super) const FILL: u64 = 80;

/// So many percent of a number, as the engine's integers have it.
pub(super) fn percent(number: u64, percent: u64) -> u64 {
    number.saturating_mul(percent) / 100
}

/// Chooses among the GPUs that are there; none where the model stays with the processor.
pub(super) fn place(devices: &[Device], wish: &Wish) -> Placement {
    if devices.len() <= 1 {
        return Placement {
            gpus: devices.to_vec(),
            main: wish.main_gpu,
            fits_one: false,
        };
    }
    let groups = by_library(devices);
    let alone = |device: Device, fits_one: bool| Placement {
        gpus: vec![device],
        main: Some(0),
        fits_one,
    };
    let best = |candidates: Vec<Device>| best_device(candidates, wish.host_free);
    if let Some(main) = wish.main_gpu {
        let position = usize::try_from(main).ok();
        let candidates = groups
            .iter()
            .filter_map(|group| group.get(position?).copied());
        if let Some(device) = best(candidates.collect()) {
            return alone(device, false);
        }
    } else if !wish.spread {
        let fits =
            |device: &Device| wish.predicted <= percent(available_on(device, wish.host_free), FILL);
        let candidates = devices.iter().copied().filter(fits);
        if let Some(device) = best(candidates.collect()) {
            return alone(device, true);
        }
    }
    Placement {
        gpus: best_group(groups, wish.host_free),
        main: wish.main_gpu,
        fits_one: false,
    }
}

/// Memory that a placement has (`availableMemoryForPlacement`).
pub(super) fn available(placement: &Placement, host_free: u64) -> u64 {
    let main = placement.main.and_then(|main| usize::try_from(main).ok());
    match main.and_then(|main| placement.gpus.get(main)) {
        Some(device) => available_on(device, host_free),
        None => available_to(&placement.gpus, host_free),
    }
}

/// What shares main memory has no more than is free there.
fn available_on(device: &Device, host_free: u64) -> u64 {
    if device.integrated && host_free > 0 {
        device.free.min(host_free)
    } else {
        device.free
    }
}

fn available_to(devices: &[Device], host_free: u64) -> u64 {
    let sum = |integrated: bool| {
        devices
            .iter()
            .filter(|device| device.integrated == integrated)
            .fold(0_u64, |sum, device| sum.saturating_add(device.free))
    };
    let shared = sum(true);
    let shared = if host_free > 0 {
        shared.min(host_free)
    } else {
        shared
    };
    sum(false).saturating_add(shared)
}

fn by_library(devices: &[Device]) -> Vec<Vec<Device>> {
    let mut groups: Vec<(Library, Vec<Device>)> = Vec::new();
    for device in devices {
        match groups
            .iter_mut()
            .find(|(library, _)| *library == device.library)
        {
            Some((_, group)) => group.push(*device),
            None => groups.push((device.library, vec![*device])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// A card of its own before one that shares memory, then the one with most free; the first of equals.
fn best_device(candidates: Vec<Device>, host_free: u64) -> Option<Device> {
    candidates.into_iter().reduce(|best, device| {
        let key = |device: &Device| (!device.integrated, available_on(device, host_free));
        if key(&device) > key(&best) {
            device
        } else {
            best
        }
    })
}

fn best_group(groups: Vec<Vec<Device>>, host_free: u64) -> Vec<Device> {
    let best = groups.into_iter().reduce(|best, group| {
        let key = |group: &[Device]| {
            let own = group.iter().any(|device| !device.integrated);
            (own, available_to(group, host_free))
        };
        if key(&group) > key(&best) {
            group
        } else {
            best
        }
    });
    best.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn card(index: usize, library: Library, integrated: bool, free_gib: u64) -> Device {
        Device {
            index,
            library,
            integrated,
            total: 128 * GIB,
            free: free_gib * GIB,
            flash: true,
        }
    }

    fn wish(predicted_gib: u64) -> Wish {
        Wish {
            main_gpu: None,
            spread: false,
            predicted: predicted_gib * GIB,
            host_free: 64 * GIB,
        }
    }

    fn check(devices: &[Device], wish: &Wish, indices: &[usize], main: Option<i64>) {
        let placement = place(devices, wish);
        let found: Vec<usize> = placement.gpus.iter().map(|device| device.index).collect();
        assert_eq!((found.as_slice(), placement.main), (indices, main));
    }

    #[test]
    fn what_fits_one_goes_to_the_one_with_most_room() {
        let cards = [
            card(0, Library::Cuda, false, 20),
            card(1, Library::Cuda, false, 24),
        ];
        check(&cards, &wish(16), &[1], Some(0));
        check(&cards, &wish(19), &[1], Some(0));
        check(&cards, &wish(20), &[0, 1], None);
        let spread = Wish {
            spread: true,
            ..wish(1)
        };
        check(&cards, &spread, &[0, 1], None);
        let main = Wish {
            main_gpu: Some(0),
            ..wish(40)
        };
        check(&cards, &main, &[0], Some(0));
        let absent = Wish {
            main_gpu: Some(2),
            ..wish(1)
        };
        check(&cards, &absent, &[0, 1], Some(2));
    }

    #[test]
    fn only_cards_of_one_library_work_together() {
        let mixed = [
            card(0, Library::Rocm, false, 16),
            card(1, Library::Cuda, false, 12),
            card(2, Library::Cuda, false, 12),
            card(3, Library::Cuda, true, 60),
        ];
        check(&mixed, &wish(70), &[1, 2, 3], None);
        // A card of its own, though the shared memory has more room.
        check(&mixed, &wish(12), &[0], Some(0));
        check(&mixed, &wish(40), &[3], Some(0));
    }

    #[test]
    fn shared_memory_has_what_is_free_in_main_memory() {
        let shared = [card(0, Library::Cuda, true, 100)];
        let placement = place(&shared, &wish(1));
        assert_eq!(available(&placement, 64 * GIB), 64 * GIB);
        assert_eq!(available(&placement, 0), 100 * GIB);
    }
}
