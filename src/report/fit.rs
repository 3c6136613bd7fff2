//! Fitting a request: its settings checked, its neighbours in use.

use super::{Request, devices};
use crate::advisor::{self, FitRequest, Fitted, Impossible, Objective, fit::UnknownObjective};
use crate::engine::search::{open_plan, pinned_choices};
use crate::engine::{Inputs, Margin, Memo, setting};
use crate::plan::Settings;

/// Why there is no fit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// A setting that does not exist or has a value of the wrong kind.
    #[error(transparent)]
    Setting(#[from] setting::Error),
    /// The plan names an objective that there is not.
    #[error(transparent)]
    Objective(#[from] UnknownObjective),
    /// The engine has nothing to search for this model.
    #[error("no search for better settings: there is none for this model on {0}")]
    Unsearched(&'static str),
    /// What is known by half has nothing that could be chosen well.
    #[error(
        "no search for better settings: only the weights of this model are known, not what else it takes"
    )]
    OnlyWeights,
    /// Nothing fits with what is pinned.
    #[error(transparent)]
    Impossible(#[from] Box<Impossible>),
}

/// The best settings for a request; `objective` where it is another than that of its `[fit]` table.
///
/// # Errors
/// What is written cannot be, or nothing fits with what is pinned.
pub fn fit(
    request: &Request<'_>,
    objective: Option<Objective>,
    memo: &Memo,
) -> Result<Fitted, FitError> {
    let Request {
        engine,
        model,
        draft,
        fit,
        ..
    } = *request;
    let written = setting::checked(engine, request.settings, model, request.machine)?;
    setting::known(engine, &fit.pinned)?;
    let settings = wished(request, &written)?;
    let objective = match (objective, &fit.objective) {
        (Some(objective), _) => objective,
        (None, Some(word)) => word.parse()?,
        (None, None) => Objective::default(),
    };
    if model.only_weights().is_some() {
        return Err(FitError::OnlyWeights);
    }
    let pinned = pinned(request);
    let machine = devices::shared(request.machine, request.beside);
    let inputs = Inputs {
        model,
        draft,
        machine: machine.as_ref(),
        settings: &settings,
        margin: Margin::of_plan(fit),
        memo,
    };
    let choices = pinned_choices(engine, &pinned);
    let open = open_plan(engine, &settings, &choices);
    let searchable = engine.space(&Inputs {
        settings: &open,
        ..inputs
    });
    // A plan that the engine refuses has its reason; another one has nothing to be searched.
    if searchable.is_none() && !engine.project(&inputs).refused {
        return Err(FitError::Unsearched(engine.id()));
    }
    let mut fitted = advisor::fit(&FitRequest {
        engine,
        inputs,
        pinned: &pinned,
        objective,
    })
    .map_err(|mut impossible| {
        changed_from(&written, &settings, &mut impossible.set, &mut Vec::new());
        impossible
    })?;
    for choice in std::iter::once(&mut fitted.best).chain(&mut fitted.others) {
        changed_from(&written, &settings, &mut choice.set, &mut choice.unset);
    }
    Ok(fitted)
}

/// What of a plan somebody asked for: all but what an earlier fit chose.
fn wished(request: &Request<'_>, written: &Settings) -> Result<Settings, setting::Error> {
    let chosen = setting::canonical(request.engine, &request.fit.chosen)?;
    let pinned = pinned(request);
    let mut wished = written.clone();
    wished.retain(|name, value| pinned.contains(name) || chosen.get(name) != Some(value));
    Ok(wished)
}

/// Changes of what somebody asked for as changes of the plan as written.
fn changed_from(
    written: &Settings,
    wished: &Settings,
    set: &mut Settings,
    unset: &mut Vec<String>,
) {
    for (name, value) in written
        .iter()
        .filter(|(name, _)| !wished.contains_key(*name))
    {
        match set.get(name) {
            Some(chosen) if chosen == value => {
                set.shift_remove(name);
            }
            Some(_) => {}
            None => unset.push(name.clone()),
        }
    }
}

/// What is pinned, by canonical name.
pub(super) fn pinned(request: &Request<'_>) -> Vec<String> {
    let pinned = request.fit.pinned.iter();
    let known = pinned.filter_map(|name| setting::find(request.engine, name));
    known.map(|setting| setting.name.to_owned()).collect()
}
