//! The search.

use super::{Choice, Figures, FitRequest, Fitted, Impossible};
use crate::engine::Inputs;
use crate::plan::Settings;

/// The best settings for the objective.
pub(super) fn search(request: &FitRequest<'_>) -> Result<Fitted, Impossible> {
    let start = request.engine.starting_settings(&request.inputs);
    let open = |name: &String| !request.pinned.contains(name);
    let set: Settings = start.into_iter().filter(|(name, _)| open(name)).collect();
    let mut settings = request.inputs.settings.clone();
    settings.extend(set.clone());
    let inputs = Inputs {
        settings: &settings,
        ..request.inputs
    };
    let free = request
        .engine
        .free(&inputs)
        .filter(|free| free.iter().all(|free| *free >= 0));
    let free = free.ok_or_else(|| Impossible {
        pin: None,
        message: "Nothing fits with what is pinned.".to_owned(),
        set: Settings::new(),
        gain: None,
    })?;
    Ok(Fitted {
        best: Choice {
            set,
            unset: Vec::new(),
            figures: Figures {
                free,
                ..Figures::default()
            },
            gives_up: String::new(),
            good_for: String::new(),
        },
        others: Vec::new(),
    })
}
