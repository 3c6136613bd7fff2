//! `plimsoll settings`: every setting of an engine, from its own description.

use std::fmt::Write as _;

use plimsoll::catalog::gpus::GpuCatalog;
use plimsoll::catalog::machines::{self, MachineCatalog};
use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::setting::{Kind, Scope, Setting};
use plimsoll::engine::{self, Engine};
use plimsoll::hardware::Machine;
use plimsoll::model::Model;
use plimsoll::plan::{MachineRef, Settings};
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
    let lists: Vec<String> = engine::ENGINES
        .iter()
        .map(|engine| {
            let names: Vec<&str> = engine
                .settings()
                .iter()
                .map(|setting| setting.name)
                .collect();
            let id = engine.id();
            let names = names.join(" · ");
            format!("Settings of a plan for {id}, explained by `plimsoll settings {id}`:\n{names}")
        })
        .collect();
    lists.join("\n\n")
}

/// The words of a choice, as they are for a model of the catalogue on a machine with nothing but main memory.
struct Sample {
    model: Model,
    machine: Machine,
}

impl Sample {
    fn new() -> anyhow::Result<Self> {
        let models = ModelCatalog::embedded();
        let first = models.ids().next().map(str::to_owned);
        let preset = models.find(&first.unwrap_or_default())?;
        let plain = MachineRef {
            ram_mib: Some(65_536),
            gpus: Some(Vec::new()),
            ..MachineRef::default()
        };
        let (gpus, machines) = (GpuCatalog::embedded()?, MachineCatalog::embedded()?);
        Ok(Self {
            model: preset.model(&serde_json::Map::new())?,
            machine: machines::resolve(Some(&plain), None, &gpus, &machines)?,
        })
    }

    /// What can be written in place of anything else, in the order offered.
    fn words(&self, setting: &Setting) -> Vec<&'static str> {
        match setting.kind {
            Kind::Choice { options } => {
                let scope = Scope {
                    model: &self.model,
                    draft: None,
                    machine: &self.machine,
                    settings: &Settings::new(),
                };
                let choices: Vec<&str> = options(&scope).iter().map(|own| own.word).collect();
                let of_files = setting.of_files.iter().copied();
                let of_files = of_files.filter(|word| !choices.contains(word));
                of_files.chain(choices.iter().copied()).collect()
            }
            Kind::Integer { words, .. } => words.to_vec(),
            _ => Vec::new(),
        }
    }

    /// What a setting takes, its words named.
    fn expectation(&self, setting: &Setting) -> String {
        match (setting.kind, self.words(setting)) {
            (Kind::Choice { .. }, words) if !words.is_empty() => {
                format!("one of {}", words.join(", "))
            }
            _ => setting.expectation(),
        }
    }
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
    let sample = Sample::new().map_err(Failure::input)?;
    if options.json {
        print_json(&json!({
            "schema": 1,
            "engine": engine.id(),
            "settings": engine.settings().iter().map(|setting| object(setting, &sample)).collect::<Value>(),
        }))?;
    } else {
        print(&text(engine, &sample))?;
    }
    Ok(Answer::Yes)
}

/// The identities of the engines, for messages.
pub(super) fn engines() -> String {
    let ids: Vec<&str> = engine::ENGINES.iter().map(|engine| engine.id()).collect();
    ids.join(", ")
}

fn object(setting: &Setting, sample: &Sample) -> Value {
    json!({
        "name": setting.name,
        "aliases": setting.aliases,
        "label": setting.label,
        "group": format!("{:?}", setting.group).to_lowercase(),
        "takes": sample.expectation(setting),
        "values": sample.words(setting),
        "help": setting.help,
        "since": setting.since,
        "until": setting.until,
    })
}

fn text(engine: &dyn Engine, sample: &Sample) -> String {
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
            sample.expectation(setting)
        )
        .ok();
        writeln!(text, "      {}", setting.help).ok();
    }
    text
}
