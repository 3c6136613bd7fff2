//! `plimsoll settings`: every setting of an engine, from its own description.

use std::fmt::Write as _;

use plimsoll::engine::{self, Engine, setting::Setting};
use serde_json::{Value, json};

use super::answer::{print, print_json};
use super::{Answer, Failure};

/// Options of `settings`.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The engine, the first one unless named.
    engine: Option<String>,
    /// The same as an option.
    #[arg(long = "engine", value_name = "ENGINE", conflicts_with = "engine")]
    named: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Where `project --help` sends a reader.
pub(super) fn reference_hint() -> String {
    let names: Vec<&str> = engine::ENGINES
        .iter()
        .flat_map(|engine| engine.settings())
        .map(|setting| setting.name)
        .collect();
    format!(
        "Settings of a plan, explained by `plimsoll settings`:\n{}",
        names.join(" · ")
    )
}

/// Prints the reference.
pub(super) fn run(options: &Options) -> Result<Answer, Failure> {
    let asked = options.engine.as_ref().or(options.named.as_ref());
    let engine = match asked {
        None => engine::ENGINES.first().copied(),
        Some(id) => engine::find(id),
    };
    let Some(engine) = engine else {
        return Err(Failure::input(anyhow::anyhow!(
            "no engine `{}`; there is {}",
            asked.map_or("", String::as_str),
            engines()
        )));
    };
    if options.json {
        print_json(&json!({
            "schema": 1,
            "engine": engine.id(),
            "settings": engine.settings().iter().map(object).collect::<Value>(),
        }))?;
    } else {
        print(&text(engine))?;
    }
    Ok(Answer::Yes)
}

/// The identities of the engines, for messages.
pub(super) fn engines() -> String {
    let ids: Vec<&str> = engine::ENGINES.iter().map(|engine| engine.id()).collect();
    ids.join(", ")
}

fn object(setting: &Setting) -> Value {
    json!({
        "name": setting.name,
        "aliases": setting.aliases,
        "label": setting.label,
        "group": format!("{:?}", setting.group).to_lowercase(),
        "takes": setting.expectation(),
        "help": setting.help,
        "since": setting.since,
        "until": setting.until,
    })
}

fn text(engine: &dyn Engine) -> String {
    let mut text = format!(
        "Settings of {} (rules of version {})\n",
        engine.id(),
        engine.newest_version()
    );
    let mut group = None;
    let mut settings: Vec<&Setting> = engine.settings().iter().collect();
    settings.sort_by_key(|setting| setting.group);
    for setting in settings {
        if group != Some(setting.group) {
            group = Some(setting.group);
            // Writing to a String cannot fail.
            writeln!(text, "\n{:?}", setting.group).ok();
        }
        let aliases = match setting.aliases {
            [] => String::new(),
            aliases => format!(" (also {})", aliases.join(", ")),
        };
        writeln!(
            text,
            "  {}{aliases}: {}",
            setting.name,
            setting.expectation()
        )
        .ok();
        writeln!(text, "      {}", setting.help).ok();
    }
    text
}
