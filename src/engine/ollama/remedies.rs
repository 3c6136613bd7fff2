//! What Ollama could do otherwise to need less.

use super::notes::in_own_words;
use super::project::fits_itself;
use super::translate::{number, translate};
use crate::engine::llamacpp::LlamaCpp;
use crate::engine::{Derived, Engine as _, Inputs, Remedy, Step};
use crate::plan::{Settings, Value};
use crate::projection::grouped;

/// The server's own remedies as far as Ollama can say them, with Ollama's for context, users and placement among them.
pub(super) fn remedies(inputs: &Inputs<'_>, derived: &Derived) -> Vec<Remedy> {
    let translation = translate(inputs);
    let below = translation.inputs(inputs);
    // What the server calls the longest context is that of all users together: it is not asked.
    let mut remedies: Vec<Remedy> = LlamaCpp
        .remedies(&below, &Settings::new(), &Derived::default())
        .into_iter()
        .filter_map(|remedy| {
            let steps: Vec<Step> = remedy
                .steps
                .into_iter()
                .filter_map(|step| {
                    let set = in_own_words(&step.set, &translation.settings)?;
                    Some(Step { set, ..step })
                })
                .collect();
            let name = steps.first()?.set.keys().next()?.clone();
            let setting = crate::engine::setting::find(super::Ollama::THIS, &name)?.name;
            Some(Remedy { setting, steps })
        })
        .collect();
    let own = [
        spread(inputs, &translation),
        users(translation.parallel),
        context(translation.context.tokens, derived),
    ];
    // Smaller weights cost most: they stay last.
    let last = remedies
        .iter()
        .position(|remedy| remedy.setting == "weights")
        .unwrap_or(remedies.len());
    remedies.splice(last..last, own.into_iter().flatten());
    remedies
}

fn spread(inputs: &Inputs<'_>, translation: &super::translate::Translation<'_>) -> Option<Remedy> {
    let several = inputs.machine.gpus.len() > 1;
    (several && translation.placement.fits_one && !fits_itself(translation)).then(|| Remedy {
        setting: "sched_spread",
        steps: vec![step(
            "Spreading the model over all GPUs",
            "sched_spread",
            Value::Bool(true),
        )],
    })
}

/// Each request has a context of its own, so half as many need about half the cache.
fn users(parallel: u64) -> Option<Remedy> {
    let halves = std::iter::successors(Some(parallel / 2), |users| Some(users / 2));
    let steps: Vec<Step> = halves
        .take_while(|users| *users > 0)
        .map(|users| {
            let what = match users {
                1 => "One request at a time".to_owned(),
                users => format!("At most {users} requests at once"),
            };
            step(what, "num_parallel", number(users))
        })
        .collect();
    (!steps.is_empty()).then_some(Remedy {
        setting: "num_parallel",
        steps,
    })
}

fn context(planned: u64, derived: &Derived) -> Option<Remedy> {
    let longest = derived.max_context_tokens?;
    (longest < planned).then(|| Remedy {
        setting: "num_ctx",
        steps: vec![step(
            format!("A context of {} tokens", grouped(longest)),
            "num_ctx",
            number(longest),
        )],
    })
}

fn step(what: impl Into<String>, name: &str, value: Value) -> Step {
    Step {
        what: what.into(),
        set: Settings::from([(name.to_owned(), value)]),
        gain: None,
        known_to_fit: false,
    }
}
