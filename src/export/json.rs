//! The launch as JSON, for a deployment script: a contract, described by `assets/launch.schema.json`. Fields are only
//! ever added.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::{Error, Export, Exporter};
use crate::engine::launch::{ConfigFile, Launch, ModelSource, Step, Word};
use crate::projection::Category;
use crate::report::{DeviceReport, Report};
use crate::units::Bytes;

/// JSON.
pub(super) struct Json;

const ID: &str = "json";

impl Exporter for Json {
    fn id(&self) -> &'static str {
        ID
    }

    fn label(&self) -> &'static str {
        "JSON for deployment scripts"
    }

    fn extension(&self) -> &'static str {
        "json"
    }

    fn write(&self, export: &Export<'_>) -> Result<String, Error> {
        let mut steps = export.launch.steps.iter();
        let Some(first) = steps.next() else {
            return Err(Error::NotExpressible {
                target: ID,
                what: "a launch without a step".to_owned(),
            });
        };
        let mut file = Map::new();
        file.insert("schema".to_owned(), json!(1));
        file.insert(
            "made_by".to_owned(),
            json!(format!("plimsoll {}", env!("CARGO_PKG_VERSION"))),
        );
        file.insert("engine".to_owned(), json!(export.report.engine));
        file.insert(
            "engine_version".to_owned(),
            json!(export.report.engine_version),
        );
        file.insert("model".to_owned(), model(export));
        file.extend(step(first));
        file.insert(
            "then".to_owned(),
            steps.map(step).map(Value::Object).collect(),
        );
        file.insert("files".to_owned(), files(export.launch));
        file.extend(conditions(export.launch));
        file.insert("projection".to_owned(), projection(export.report));
        file.insert("settings".to_owned(), json!(export.report.settings));
        serde_json::to_string_pretty(&file)
            .map(|text| text + "\n")
            .map_err(|error| Error::NotExpressible {
                target: ID,
                what: error.to_string(),
            })
    }
}

fn model(export: &Export<'_>) -> Value {
    let (path, repository) = match &export.launch.model_source {
        ModelSource::Asked => (None, None),
        ModelSource::Path(path) => (Some(path), None),
        ModelSource::Repository(repository) => (None, Some(repository)),
    };
    json!({
        "name": export.report.model,
        "file_type": export.report.settings.get("weights"),
        "file_bytes": export.report.derived.file_bytes,
        "path": path,
        "repository": repository,
    })
}

fn step(step: &Step) -> Map<String, Value> {
    let Step {
        node,
        role,
        program,
        arguments,
        environment,
    } = step;
    let words = arguments.iter().flat_map(|argument| &argument.words);
    let environment: IndexMap<&str, Value> = environment
        .iter()
        .map(|(name, value)| (name.as_str(), word(value)))
        .collect();
    let mut map = Map::new();
    map.insert("node".to_owned(), json!(node));
    map.insert("role".to_owned(), json!(role));
    map.insert("program".to_owned(), json!(program));
    map.insert("arguments".to_owned(), words.map(word).collect());
    map.insert("environment".to_owned(), json!(environment));
    map
}

/// What the steps read, line by line, each a list of words that the format quotes as it wants.
fn files(launch: &Launch) -> Value {
    let lines = |file: &ConfigFile| -> Value {
        file.lines
            .iter()
            .map(|line| line.words.iter().map(word).collect::<Value>())
            .collect()
    };
    launch
        .files
        .iter()
        .map(|file| json!({ "name": file.name, "lines": lines(file) }))
        .collect()
}

/// A text, or an object that names the variable whose value goes there: no text can be taken for one.
fn word(word: &Word) -> Value {
    match word {
        Word::Literal(text) => json!(text),
        Word::Variable(name) => json!({ "variable": name }),
    }
}

fn conditions(launch: &Launch) -> Map<String, Value> {
    let variables: Value = launch
        .variables
        .iter()
        .map(|variable| {
            json!({
                "name": variable.name,
                "meaning": variable.meaning,
                "secret": variable.secret,
            })
        })
        .collect();
    let mut map = Map::new();
    map.insert("variables".to_owned(), variables);
    map.insert("remarks".to_owned(), json!(launch.remarks));
    map.insert("not_expressible".to_owned(), json!(launch.not_expressible));
    map
}

fn projection(report: &Report) -> Value {
    json!({
        "verdict": report.verdict,
        "lower_bound": report.lower_bound,
        "devices": report.devices.iter().map(device).collect::<Value>(),
    })
}

fn device(device: &DeviceReport) -> Value {
    let mut categories: IndexMap<Category, Bytes> = IndexMap::new();
    for term in &device.terms.terms {
        let sum = categories.entry(term.category).or_default();
        *sum += term.bytes;
    }
    json!({
        "id": device.id,
        "kind": device.kind,
        "name": device.name,
        "capacity_bytes": device.capacity,
        "in_use_bytes": device.in_use,
        "in_use_by_others_bytes": device.in_use_by_others(),
        "beside": device.beside,
        "total_bytes": device.total(),
        "free_bytes": device.free(),
        "categories": categories
            .iter()
            .map(|(category, bytes)| json!({ "category": category, "bytes": bytes }))
            .collect::<Value>(),
    })
}
