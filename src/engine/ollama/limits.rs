//! How far a plan can go: the longest context of one request and the most requests at once.
//!
//! Batch and placement follow the tokens of all requests together, so each number is translated anew; what is needed only
//! grows while they stay as they are, so the search goes from one such change to the next.

use super::placement::Placement;
use super::project::{fits_itself, room};
use super::translate::{Translation, number, translate, with_settings};
use crate::engine::largest::largest_over;
use crate::engine::llamacpp::base;
use crate::engine::{Inputs, Margin};
use crate::plan::Settings;

/// Contexts are tried in steps of this many tokens, which caches are padded to (`src/llama-context.cpp`, 0.6.0-dev).
const STEP: u64 = 256;

/// Most requests at once that are tried; the server takes 256 (`src/llama-cparams.h`, 0.6.0-dev).
const MOST_USERS: u64 = 256;

/// Tokens over all requests above which the automatic batch grows (`generationBatchForContext`, `server/sched.go`
/// v0.33.0-rc2).
const BATCH_GROWS_ABOVE: [u64; 2] = [4096, 32_768];

/// The longest context of one request, in the meaning of `num_ctx`; `None` where none fits.
pub(super) fn context(inputs: &Inputs<'_>, translation: &Translation<'_>) -> Option<u64> {
    let trained = translation.file?.trained;
    // Where the server fits the layers, it keeps the margin by its own count.
    let margin = if fits_itself(translation) {
        Margin::NONE
    } else {
        inputs.margin
    };
    let steps = Search {
        inputs,
        settings: inputs.settings.clone(),
        name: "num_ctx",
        unit: STEP,
        tokens: STEP.saturating_mul(translation.parallel),
        margin,
        further_ends: Vec::new(),
    }
    .largest((trained / STEP).max(1));
    steps.map(|steps| steps.saturating_mul(STEP))
}

/// The most requests at once; `None` where not even one fits.
pub(super) fn users(inputs: &Inputs<'_>, translation: &Translation<'_>) -> Option<u64> {
    // With one request at a time there is nothing to search.
    let most = if translation.parallel < translation.config.parallel {
        1
    } else {
        MOST_USERS
    };
    let mut settings = inputs.settings.clone();
    settings.insert("num_ctx".to_owned(), number(translation.context.tokens));
    // Where the server fits the layers, it keeps the margin by its own count.
    let margin = if fits_itself(translation) {
        Margin::NONE
    } else {
        inputs.margin
    };
    Search {
        inputs,
        settings,
        name: "num_parallel",
        unit: 1,
        tokens: translation.context.tokens,
        margin,
        // Where the server chooses the layers anew for every number, each is worth too much to try them all.
        further_ends: if fits_itself(translation) {
            Vec::new()
        } else {
            base::slot_ends(&translation.inputs(inputs))
        },
    }
    .largest(most)
}

/// A search for the largest value of a setting.
struct Search<'a> {
    inputs: &'a Inputs<'a>,
    /// The others.
    settings: Settings,
    name: &'static str,
    /// The setting's value per step.
    unit: u64,
    /// Tokens of all requests per step.
    tokens: u64,
    margin: Margin,
    /// Steps after which less may be needed though nothing is decided otherwise.
    further_ends: Vec<u64>,
}

/// What Ollama decides by the number of tokens.
#[derive(PartialEq)]
struct Decided {
    placement: Placement,
    batch: Option<u64>,
    loading: super::loading::Loading,
}

impl Search<'_> {
    /// The largest number of steps that fits.
    fn largest(&self, most: u64) -> Option<u64> {
        let mut others = self.settings.clone();
        others.shift_remove(self.name);
        let key = (self.name, self.tokens, most, self.margin, self.key(&others));
        let found = self.inputs.memo.get(&key, || {
            self.stretches(most)
                .into_iter()
                .rev()
                .find_map(|(first, last)| {
                    if self.exceeds_everything(first) {
                        return None;
                    }
                    largest_over(&[(first, last)], |steps| {
                        let settings = self.with(steps);
                        let inputs = with_settings(self.inputs, &settings);
                        room(&inputs, self.margin).unwrap_or_else(|| vec![-1])
                    })
                })
        });
        *found
    }

    /// Whether not even the weights fit, for any number of the stretch that starts here.
    fn exceeds_everything(&self, first: u64) -> bool {
        let settings = self.with(first);
        let inputs = with_settings(self.inputs, &settings);
        base::exceeds_everything(&translate(&inputs).inputs(&inputs))
    }

    /// First and last steps of the stretches over which nothing is decided otherwise.
    fn stretches(&self, most: u64) -> Vec<(u64, u64)> {
        let mut ends = vec![most];
        for above in BATCH_GROWS_ABOVE {
            let last = above.checked_div(self.tokens).unwrap_or(0);
            if (1..most).contains(&last) {
                ends.push(last);
            }
        }
        ends.extend(self.further_ends.iter().filter(|last| **last < most));
        ends.sort_unstable();
        ends.dedup();
        let mut stretches = Vec::new();
        let mut first = 1;
        for last in ends {
            if first <= last {
                self.split(
                    (first, self.decided(first)),
                    (last, self.decided(last)),
                    &mut stretches,
                );
            }
            first = last.saturating_add(1);
        }
        stretches
    }

    /// Halves a stretch until nothing changes within. No decision comes back after another one, so equal ends mean that.
    fn split(&self, from: (u64, Decided), to: (u64, Decided), stretches: &mut Vec<(u64, u64)>) {
        if from.1 == to.1 {
            stretches.push((from.0, to.0));
            return;
        }
        if to.0 - from.0 <= 1 {
            stretches.push((from.0, from.0));
            stretches.push((to.0, to.0));
            return;
        }
        let middle = from.0 + (to.0 - from.0) / 2;
        self.split(from, (middle, self.decided(middle)), stretches);
        self.split((middle + 1, self.decided(middle + 1)), to, stretches);
    }

    fn decided(&self, steps: u64) -> Decided {
        let settings = self.with(steps);
        let translation = translate(&with_settings(self.inputs, &settings));
        Decided {
            placement: translation.placement.clone(),
            batch: translation.batch,
            loading: translation.loading,
        }
    }

    fn with(&self, steps: u64) -> Settings {
        let mut settings = self.settings.clone();
        let value = number(steps.saturating_mul(self.unit));
        settings.insert(self.name.to_owned(), value);
        settings
    }

    /// What the answer depends on beside the search itself.
    fn key(&self, settings: &Settings) -> impl std::hash::Hash {
        let machine = self.inputs.machine;
        let gpus: Vec<_> = machine
            .gpus
            .iter()
            .map(|gpu| {
                (
                    (gpu.memory.usable, gpu.memory.in_use),
                    (gpu.unified, gpu.vendor, gpu.compute_capability),
                    gpu.gfx_target.clone(),
                )
            })
            .collect();
        (
            self.inputs.model.fingerprint,
            self.inputs.draft.map(|draft| draft.fingerprint),
            // Values may be fractions, which have no hash.
            format!("{settings:?}"),
            (
                machine.os,
                machine.nodes,
                machine.host.ram,
                machine.host.in_use,
            ),
            gpus,
        )
    }
}
