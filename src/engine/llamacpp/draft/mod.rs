//! Speculative decoding: the draft model or the prediction blocks, with contexts of their own
//! (`common_speculative_init_result`, `common_base_params_to_speculative` in `common/speculative.cpp`, 0.6.0-dev).

mod companion;
mod notes;
mod prediction;
mod settings;
mod speculation;

pub(super) use companion::Companion;
pub(super) use notes::notes;
pub(super) use prediction::{Prediction, block_name};
pub(super) use speculation::{SpecType, Speculation};

use super::compute::Purpose;
use super::config::{Config, Shape};
use super::parts::Parts;
use super::placed::Placed;
use super::subject::Subject;
use crate::projection::{Part, Term};

/// What drafts, on its devices.
pub(super) fn add(
    subject: &Subject<'_>,
    config: &Config,
    shape: Shape,
    placed: &Placed,
    purpose: Purpose,
    parts: &mut Parts,
) {
    if let Some(companion) = &subject.companion {
        companion.add(config, shape, purpose, parts);
    } else if let Some(prediction) = &subject.prediction {
        prediction.add(subject, config, shape, placed, purpose, parts);
    }
}

/// The term as one of what drafts.
fn drafting(term: Term) -> Term {
    Term {
        part: Part::Draft,
        ..term
    }
}
