//! What the advisor may search, and everything in its place: Ollama has few settings for that, and chooses most itself.

use super::notes::in_own_words;
use super::translate::{number, translate};
use crate::engine::llamacpp::{LlamaCpp, base};
use crate::engine::search::{Arrangement, Ask, Effort, Format, Residency, Space};
use crate::engine::{Engine as _, Inputs};
use crate::plan::{Settings, Value};

/// Settings that are chosen anew where they are not pinned: formats, and those that say where layers go.
pub(super) const SEARCHED: [&str; 5] = [
    "weights",
    "kv_cache_type",
    "num_gpu",
    "sched_spread",
    "main_gpu",
];

/// Settings that say where layers go; those that are not pinned are chosen anew.
const PLACEMENT: [&str; 3] = ["num_gpu", "sched_spread", "main_gpu"];

/// What can be searched.
pub(super) fn space(inputs: &Inputs<'_>) -> Option<Space> {
    let translation = translate(inputs);
    let space = LlamaCpp.space(&translation.inputs(inputs))?;
    let own = |formats: Vec<Format>| -> Vec<Format> {
        let said = |format: Format| {
            let set = in_own_words(&format.set, &translation.settings)?;
            Some(Format {
                set,
                along: Settings::new(),
                ..format
            })
        };
        formats.into_iter().filter_map(said).collect()
    };
    let written = |name: &str| inputs.settings.contains_key(name);
    let context = written("num_ctx") || translation.config.context_length > 0;
    let one = translation.parallel < translation.config.parallel || one_at_a_time(inputs);
    Some(Space {
        weights: own(space.weights),
        planned_weights: space.planned_weights.filter(|_| written("weights")),
        caches: own(space.caches),
        most_slots: if one { 1 } else { space.most_slots },
        planned_context: context.then_some(translation.context.tokens),
        planned_slots: written("num_parallel").then_some(translation.parallel),
        gpus: !translation.devices.is_empty(),
        ..space
    })
}

/// Would two requests at once be served as one?
fn one_at_a_time(inputs: &Inputs<'_>) -> bool {
    let mut settings = inputs.settings.clone();
    settings.insert("num_parallel".to_owned(), number(2));
    let inputs = super::translate::with_settings(inputs, &settings);
    translate(&inputs).parallel == 1
}

/// So many requests with so many tokens each.
pub(super) fn load(context: u64, users: u64) -> Settings {
    Settings::from([
        ("num_ctx".to_owned(), number(context)),
        ("num_parallel".to_owned(), number(users)),
    ])
}

/// Everything on the GPUs that Ollama chooses, or on all of them; then as `llama-server` fits it, experts first; the
/// processor alone at last.
pub(super) fn arrange(inputs: &Inputs<'_>, ask: &Ask<'_>) -> Option<Arrangement> {
    let open = |name: &str| !ask.pinned.iter().any(|pinned| pinned == name);
    let mut base = inputs.settings.clone();
    base.retain(|name, _| !PLACEMENT.contains(&name.as_str()) || !open(name));
    let trial = |changes: &[(&str, Value)]| {
        let mut settings = base.clone();
        for (name, value) in changes.iter().filter(|(name, _)| open(name)) {
            settings.insert((*name).to_owned(), value.clone());
        }
        tried(inputs, settings)
    };
    let text = |word: &str| Value::Text(word.to_owned());
    if inputs.machine.gpus.is_empty() || !open("num_gpu") {
        return trial(&[]);
    }
    let all = ("num_gpu", text("all"));
    let whole = trial(std::slice::from_ref(&all))?;
    let whole = if whole.probe.fits() || inputs.machine.gpus.len() < 2 {
        whole
    } else {
        let spread = [all, ("sched_spread", Value::Bool(true))];
        trial(&spread)
            .filter(|spread| spread.probe.fits())
            .unwrap_or(whole)
    };
    if ask.residency == Residency::Whole || whole.probe.fits() {
        return Some(whole);
    }
    let processor = || {
        let alone = trial(&[("num_gpu", number(0))]);
        alone.filter(|alone| alone.probe.fits())
    };
    let anywhere = ask.residency == Residency::Anywhere;
    // What main memory holds alone is possible, and cheaper to know than what the server makes of the GPUs.
    let possible = anywhere && ask.effort == Effort::Possible;
    if let Some(alone) = possible.then(processor).flatten() {
        return Some(alone);
    }
    let fitted = trial(&[]).filter(|fitted| fitted.probe.fits());
    if fitted.is_some() {
        return fitted;
    }
    anywhere.then(processor).flatten().or(Some(whole))
}

fn tried(inputs: &Inputs<'_>, settings: Settings) -> Option<Arrangement> {
    let probe = {
        let inputs = super::translate::with_settings(inputs, &settings);
        let translation = translate(&inputs);
        base::probe(&translation.inputs(&inputs))?
    };
    Some(Arrangement { settings, probe })
}
