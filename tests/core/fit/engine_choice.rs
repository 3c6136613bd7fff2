//! Against what the engine's own fit chooses, over every row measured of it: never less context, never fewer layers.

use plimsoll::accuracy::Question;
use plimsoll::advisor::Objective;
use plimsoll::engine::llamacpp::LlamaCpp;
use plimsoll::engine::{Engine as _, Inputs, Margin, Memo, Outcome, room};
use plimsoll::hardware::Machine;
use plimsoll::model::Model;
use plimsoll::plan::{Settings, Value};
use serde_json::Value as Json;

use super::{Case, integer, names};
use crate::modelled::preset_with;

const ROWS: &str = include_str!("../../data/oracle/llamacpp_fit.jsonl");

/// What the engine makes of it.
fn automatic(model: &Model, machine: &Machine, settings: &Settings, memo: &Memo) -> Outcome {
    LlamaCpp.project(&Inputs {
        model,
        draft: None,
        machine,
        settings,
        margin: Margin::DEFAULT,
        memo,
    })
}

/// Layers on GPUs, and layers that leave experts elsewhere.
fn layers(outcome: &Outcome, all: i64) -> (i64, usize) {
    let on_gpus = integer(&outcome.resolved, "n_gpu_layers").unwrap_or(all);
    let rules = match outcome.resolved.get("override_tensor") {
        Some(Value::List(rules)) => rules.len(),
        _ => 0,
    };
    (on_gpus.min(all), rules)
}

/// Whether the engine keeps its margin by what it then allocates, where ours is no worse.
fn check(row: &Json, memo: &Memo) -> Option<Result<bool, String>> {
    let Question {
        preset,
        trained,
        machine,
        mut settings,
        ..
    } = Question::parse(row)?;
    let model = preset_with(&preset, trained)?;
    let theirs = automatic(&model, &machine, &settings, memo);
    // What the engine leaves alone is pinned; so is the number of slots, which it chooses beforehand.
    let mut pinned = names(&[
        "parallel",
        "kv_unified",
        "swa_full",
        "cache_type_k",
        "cache_type_v",
    ]);
    pinned.extend(settings.keys().cloned());
    settings.insert("n_gpu_layers".to_owned(), Value::Text("auto".to_owned()));
    let given = settings.contains_key("ctx_size");
    let objective = if given {
        Objective::Speed
    } else {
        Objective::Context
    };
    let case = Case {
        model: &model,
        machine: &machine,
        settings: &settings,
        pinned: &pinned,
    };
    let ours = match case.fit(objective, memo) {
        Ok(fitted) => fitted.best,
        Err(impossible) => return Some(Err(impossible.message)),
    };
    let (on_gpus, all) = ours.figures.gpu_layers;
    let (their_layers, their_spills) = layers(&theirs, i64::try_from(all).unwrap());
    let context = integer(&theirs.resolved, "ctx_size").unwrap();
    let our_context = integer(&ours.set, "ctx_size").unwrap_or(context);
    let fewer = i64::try_from(on_gpus).unwrap() < their_layers;
    // Layers that are in main memory whole leave their experts there, too.
    let behind = all.saturating_sub(their_layers.unsigned_abs());
    let their_spills = their_spills as u64 + if their_spills > 0 { behind } else { 0 };
    let spills = ours.figures.expert_layers_in_ram > their_spills && our_context <= context;
    // By what its dry run counts the engine may keep less than its margin; then it has more room than we.
    let devices = &theirs.projection.peak_moment().unwrap().devices;
    let kept = room(&machine, Margin::DEFAULT, devices);
    let honest = kept.iter().all(|room| *room >= 0);
    if honest && (our_context < context || fewer || spills) {
        return Some(Err(format!(
            "{context} tokens, {their_layers} layers, {their_spills} without all experts; fitted {our_context}, {on_gpus}, {}",
            ours.figures.expert_layers_in_ram
        )));
    }
    Some(Ok(honest))
}

#[test]
fn never_less_than_the_engine_finds() {
    let memo = Memo::default();
    let (mut rows, mut worse, mut less) = (0, 0, 0);
    for text in ROWS.lines() {
        let row: Json = serde_json::from_str(text).expect("a row is JSON");
        let Some(result) = check(&row, &memo) else {
            continue;
        };
        rows += 1;
        match result {
            Ok(honest) => less += usize::from(!honest),
            Err(reason) => {
                worse += 1;
                println!("{} {} {}: {reason}", row["model"], row["types"], row["set"]);
            }
        }
    }
    println!("{worse} of {rows} are worse; in {less} the engine keeps less than its margin");
    assert_eq!(worse, 0, "of {rows}");
    assert!(rows > 200 && less * 10 < rows, "{less} of {rows}");
}
