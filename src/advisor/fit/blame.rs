//! Which pinned setting would have to give.

use super::explorer::Explorer;
use super::search::{Checked, checked, fullest};
use super::{Choice, FitRequest, Impossible, ladder};
use crate::engine::search::pinned_choices;
use crate::engine::setting;
use crate::plan::{Settings, Value};
use crate::projection::{Gain, Severity, grouped};
use crate::units::Bytes;

/// Why nothing fits: the pin whose giving way costs least, and by how much.
pub(super) fn impossible(request: &FitRequest<'_>) -> Impossible {
    if Explorer::new(request).is_none() {
        return Impossible {
            pin: None,
            message: unsearchable(request),
            set: Settings::new(),
            gain: None,
        };
    }
    for pin in order(request) {
        let others: Vec<String> = request
            .pinned
            .iter()
            .filter(|pinned| **pinned != pin)
            .cloned()
            .collect();
        if let Some(found) = relaxed(request, &pin, &others) {
            return gives(request, &pin, &found);
        }
    }
    if !request.pinned.is_empty()
        && let Some(found) = relaxed(request, "", &[])
    {
        let change = found.choice(request);
        let mut names = request.pinned.to_vec();
        names.retain(|name| change.set.contains_key(name) || change.unset.contains(name));
        return Impossible {
            pin: None,
            message: format!(
                "Nothing fits with what is pinned; {} would have to give together.",
                listed(&names)
            ),
            set: change.set,
            gain: None,
        };
    }
    Impossible {
        pin: None,
        message: too_small(request),
        set: Settings::new(),
        gain: None,
    }
}

/// Pinned settings, the one whose change costs a person least first: formats of the cache, places, context, users, bits.
fn order(request: &FitRequest<'_>) -> Vec<String> {
    use setting::Group;
    let rank = |name: &String| {
        let known = setting::find(request.engine, name);
        match (known.map(|setting| setting.group), name.as_str()) {
            (_, "weights") => 4,
            (Some(Group::Quantization), _) => 0,
            (Some(Group::Offload), _) => 1,
            (Some(Group::Advanced), _) => 2,
            _ => 3,
        }
    };
    let mut pins = request.pinned.to_vec();
    pins.sort_by_key(rank);
    pins
}

/// What fits without a pin, which stays as near as can be to what it was.
fn relaxed(request: &FitRequest<'_>, pin: &str, pinned: &[String]) -> Option<Checked> {
    let request = FitRequest {
        pinned,
        inputs: request.inputs,
        ..*request
    };
    checked(&request, |explorer| ladder::nearest(explorer, pin))
}

fn gives(request: &FitRequest<'_>, pin: &str, found: &Checked) -> Impossible {
    let change = found.choice(request);
    let before = request.inputs.settings.get(pin);
    let after = change.set.get(pin);
    let words = |value: Option<&Value>| match value {
        Some(value) => written(value),
        None => "the engine's default".to_owned(),
    };
    let message = match (before, after) {
        (Some(Value::Integer(before)), Some(Value::Integer(after))) => {
            let (more, word) = if after < before {
                (before.abs_diff(*after), "less")
            } else {
                (before.abs_diff(*after), "more")
            };
            format!(
                "Nothing fits with `{pin}` pinned to {}: it would have to be {}, {} {word}{}.",
                number(*before),
                number(*after),
                grouped(more),
                beside(request, &change)
            )
        }
        _ => format!(
            "Nothing fits with `{pin}` pinned to {}: it would have to {}.",
            words(before),
            match (after, instead(request, pin, &change.set)) {
                (None, Some((name, value))) => format!("give way to `{name}` = {}", written(value)),
                (Some(_), _) => format!("be {}{}", words(after), beside(request, &change)),
                _ => format!("be {}", words(after)),
            }
        ),
    };
    let gain = match (before, after) {
        (Some(Value::Integer(before)), Some(Value::Integer(after)))
            if request
                .engine
                .load(1, 1)
                .keys()
                .next()
                .is_some_and(|name| name == pin) =>
        {
            Some(Gain::Tokens(after.saturating_sub(*before)))
        }
        _ => None,
    };
    Impossible {
        pin: Some(pin.to_owned()),
        message,
        set: change.set,
        gain,
    }
}

/// What goes with it, where it is a choice of layers: their number follows the weights, the cache and the context.
fn beside(request: &FitRequest<'_>, change: &Choice) -> String {
    if !change.set.keys().any(|name| request.places_layers(name)) {
        return String::new();
    }
    let figures = &change.figures;
    let cache = figures.cache_word();
    let context = grouped(figures.context_per_slot);
    format!(
        ", with {} weights, a {cache} cache and {context} tokens of context",
        figures.weights
    )
}

/// A setting that says the same in another way and is what fits.
fn instead<'a>(
    request: &FitRequest<'_>,
    pin: &str,
    set: &'a Settings,
) -> Option<(&'a String, &'a Value)> {
    let choice = pinned_choices(request.engine, &[pin.to_owned()]);
    set.iter().find(|(name, _)| choice.contains(name))
}

fn number(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

fn written(value: &Value) -> String {
    match value {
        Value::Bool(on) => on.to_string(),
        Value::Integer(whole) => number(*whole),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(written).collect();
            format!("[{}]", items.join(", "))
        }
    }
}

fn listed(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.join(""),
    }
}

/// The engine refuses the plan, or leaves nothing to search.
fn unsearchable(request: &FitRequest<'_>) -> String {
    let engine = request.engine.id();
    refusal(request).unwrap_or_else(|| {
        format!("There is nothing to search for {engine}: it places everything by itself.")
    })
}

fn refusal(request: &FitRequest<'_>) -> Option<String> {
    let outcome = request.engine.project_as_is(&request.inputs);
    let mut notes = outcome.notes.into_iter();
    let error = notes.find(|note| note.severity == Severity::Error)?;
    Some(format!("Nothing fits: {}", error.message))
}

/// Not even the least fits, or the engine refuses.
fn too_small(request: &FitRequest<'_>) -> String {
    let explorer = Explorer::new(request);
    let least = explorer.and_then(|mut explorer| ladder::least(&mut explorer));
    let lacking = least.as_ref().and_then(|least| {
        let (index, left) = fullest(request, &least.settings)?;
        let pooled = request.inputs.machine.pool().is_some();
        let place = match index {
            _ if pooled => "on unified".to_owned(),
            index if index + 1 == least.probe.room.len() => "in main memory".to_owned(),
            index => format!("on gpu{index}"),
        };
        let bytes = Bytes::new(left.unsigned_abs());
        // As a report of it says it: what is to be kept free beside is not lacking.
        let lacks = if left < 0 {
            format!("lacks {bytes} {place}")
        } else {
            format!("leaves {bytes} free {place}, less than is to be kept free")
        };
        (!least.probe.fits()).then_some((lacks, &least.probe))
    });
    match lacking {
        // There are smaller file types than those that are searched, and shorter contexts.
        Some((lacks, probe)) => format!(
            "Nothing fits: even {} with {} tokens of context {lacks}.",
            probe.weights,
            grouped(probe.context_per_slot)
        ),
        None => refusal(request).unwrap_or_else(|| "Nothing fits on this machine.".to_owned()),
    }
}
