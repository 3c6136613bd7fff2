//! `plimsoll fit`: the best settings of a plan, and other good ones.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use plimsoll::advisor::{Choice, Fitted, Objective};
use plimsoll::plan::{Plan, Value};
use plimsoll::projection::{counted, grouped};
use plimsoll::report::FitError;
use plimsoll::store::{self, Overwrite};
use plimsoll::table::Table;
use plimsoll::units::GIB;
use serde_json::json;

use super::answer::{print, print_json, print_plain};
use super::opened::Opened;
use super::project::written;
use super::{Answer, Failure, PlanArguments};

/// Options of `fit`.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    #[command(flatten)]
    plan: PlanArguments,
    /// What to make best: balanced, context, quality, speed or batch; without it what `[fit] objective` says, else
    /// balanced.
    #[arg(long, value_name = "OBJECTIVE")]
    objective: Option<Objective>,
    /// Print the choices as one JSON object.
    #[arg(long)]
    json: bool,
    /// File to write the fitted plan to; - is standard output. What was chosen is noted in it under `[fit]`, so that a
    /// later fit chooses it anew; what is changed by hand afterwards is asked for.
    #[arg(short, long, value_name = "PLAN")]
    output: Option<PathBuf>,
    /// Replace a file that is already there.
    #[arg(long)]
    force: bool,
}

/// Prints the choices and writes the best.
pub(super) fn run(options: &Options) -> Result<Answer, Failure> {
    let mut opened = Opened::open(&options.plan)?;
    // What is asked for in the same breath is meant to stay.
    opened.pin(&options.plan.set);
    let fitted = match opened.fit(options.objective) {
        Ok(fitted) => fitted,
        Err(FitError::Impossible(impossible)) => {
            if options.json {
                print_json(&json!({ "schema": 1, "impossible": impossible }))?;
                return Ok(Answer::No);
            }
            return Err(Failure::no(impossible));
        }
        Err(error @ FitError::OnlyWeights) => return Err(Failure::no(error)),
        Err(error) => return Err(Failure::input(error)),
    };
    let to_output = options
        .output
        .as_ref()
        .is_some_and(|path| path.as_os_str() == "-");
    if let Some(path) = &options.output {
        if !to_output {
            opened.move_to(path.parent().unwrap_or(Path::new("")))?;
        }
        let text = plan_text(&opened.fitted_plan(&fitted.best))?;
        if to_output {
            print(&text)?;
        } else {
            let overwrite = if options.force {
                Overwrite::Replace
            } else {
                Overwrite::Refuse
            };
            store::save(path, &text, overwrite).map_err(not_written)?;
        }
    }
    match (options.json, to_output) {
        (_, true) => {}
        (true, false) => print_json(&json!({
            "schema": 1,
            "objective": fitted.objective,
            "best": fitted.best,
            "others": fitted.others,
        }))?,
        (false, false) => print_plain(&text(&fitted, opened.shares_memory()))?,
    }
    Ok(Answer::Yes)
}

fn plan_text(plan: &Plan) -> Result<String, Failure> {
    plan.to_toml().map_err(Failure::input)
}

fn not_written(error: store::Error) -> Failure {
    match error {
        store::Error::Exists { .. } => Failure::io(anyhow!("{error} (--force replaces it)")),
        _ => Failure::io(error),
    }
}

fn text(fitted: &Fitted, shared: bool) -> String {
    let Fitted {
        objective: _,
        best,
        others,
    } = fitted;
    let mut text = format!("Best: {}\n\n", best.good_for);
    text.push_str(&table(best, others, shared));
    text.push('\n');
    for (index, other) in others.iter().enumerate() {
        let number = index + 1;
        // Writing to a String cannot fail.
        writeln!(text, "{number}: {}", other.remark()).ok();
    }
    if !others.is_empty() {
        text.push('\n');
    }
    text.push_str("The best, on the command line:\n ");
    for (name, value) in &best.set {
        write!(text, " --set {}", quoted(name, value)).ok();
    }
    for name in &best.unset {
        write!(text, " --unset {name}").ok();
    }
    if best.set.is_empty() && best.unset.is_empty() {
        text.push_str(" nothing to change");
    }
    text.push('\n');
    text
}

/// `name=value` as a shell takes it for one word, the value as in a plan file where it is a list.
fn quoted(name: &str, value: &Value) -> String {
    let text = match value {
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(as_in_a_plan).collect();
            format!("[{}]", items.join(", "))
        }
        value => written(value),
    };
    // Nothing that a fit writes has the one character that cannot be quoted.
    match shlex::try_quote(&text) {
        Ok(quoted) => format!("{name}={quoted}"),
        Err(_) => format!("{name}={text}"),
    }
}

/// One item of a list: texts between single quotes, in which nothing is special.
fn as_in_a_plan(value: &Value) -> String {
    match value {
        Value::Text(text) if !text.contains('\'') => format!("'{text}'"),
        Value::Text(text) => format!("{text:?}"),
        value => written(value),
    }
}

/// `shared`: GPU and processor have one memory, whose free part is the GPU's.
fn table(best: &Choice, others: &[Choice], shared: bool) -> String {
    let mut head = vec![
        "",
        "weights",
        ">bits",
        "cache",
        ">context",
        ">users",
        ">GPU layers",
        ">experts in RAM",
        ">tokens/s",
    ];
    head.extend(if shared {
        &[">shared memory free"][..]
    } else {
        &[">GPU free", ">RAM free"]
    });
    let mut table = Table::new(&head);
    let names = std::iter::once("best".to_owned()).chain((1..).map(|number| number.to_string()));
    for (name, choice) in names.zip(std::iter::once(best).chain(others)) {
        table.row(row(name, choice, shared));
    }
    table.text()
}

fn row(name: String, choice: &Choice, shared: bool) -> Vec<String> {
    let figures = &choice.figures;
    let (on_gpus, all) = figures.gpu_layers;
    let gib = |bytes: i64| format!("{:.2} GiB", bytes as f64 / GIB as f64);
    let (host, gpus) = match figures.free.split_last() {
        Some((host, gpus)) => (Some(*host), gpus),
        None => (None, figures.free.as_slice()),
    };
    let least = gpus.iter().copied().min();
    let free = [least, host.filter(|_| !shared)];
    let mut row = vec![
        name,
        figures.weights.clone(),
        format!("{:.2}", figures.bits_per_weight),
        figures.cache_word(),
        grouped(figures.context_per_slot),
        figures.slots.to_string(),
        format!("{on_gpus}/{all}"),
        match figures.expert_layers_in_ram {
            0 => "-".to_owned(),
            layers => counted(layers, "layer"),
        },
        figures.decode.map_or_else(
            || "-".to_owned(),
            |decode| format!("{:.0} to {:.0}", decode.low, decode.high),
        ),
    ];
    let columns = if shared { 1 } else { free.len() };
    let free = free.into_iter().take(columns);
    row.extend(free.map(|free| free.map_or_else(|| "-".to_owned(), gib)));
    row
}
