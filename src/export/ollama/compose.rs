//! A compose file: the server with its environment, and a container beside it that makes the model and loads it.

use super::modelfile::{Line, lines};
use super::{ENGINE, Served};
use crate::engine::launch::{ModelSource, Step, Word};
use crate::export::{Error, Export, Exporter, header, printable};
use crate::hardware::Vendor;
use crate::plan::Value;

/// Docker compose, and what reads the same file.
pub(in crate::export) struct Compose;

const ID: &str = "compose";

/// Where the file and the Modelfile are in the containers.
const MODEL: &str = "/models/model.gguf";
const MODELFILE: &str = "/models/Modelfile";

/// Where the projector is in the containers.
const PROJECTOR: &str = "/models/projector.gguf";

/// The instructions that name files.
const FROM: &str = "FROM ";
const ADAPTER: &str = "ADAPTER ";

/// Where adapters are in the containers, by their place in the plan.
fn adapter_at(index: usize) -> String {
    format!("/models/adapter-{index}.gguf")
}

/// The image listens on every address of its container at this port (`Dockerfile`, v0.33.0-rc2).
const PORT: u16 = 11434;

impl Exporter for Compose {
    fn id(&self) -> &'static str {
        ID
    }

    fn label(&self) -> &'static str {
        "Docker compose"
    }

    fn accepts(&self, engine: &str) -> bool {
        engine == ENGINE
    }

    fn extension(&self) -> &'static str {
        "yaml"
    }

    fn write(&self, export: &Export<'_>) -> Result<String, Error> {
        let served = Served::new(ID, export.launch)?;
        let mut file: Vec<String> = header::comment(export, "#", str::to_owned).collect();
        file.push("services:".to_owned());
        file.extend(server(export, &served)?);
        for client in &served.clients {
            file.extend(one_shot(export, &served, client)?);
        }
        file.extend(["volumes:".to_owned(), "  ollama: {}".to_owned()]);
        file.extend(modelfile(export, &served)?);
        Ok(file.join("\n") + "\n")
    }
}

/// The service that goes on.
fn server(export: &Export<'_>, served: &Served<'_>) -> Result<Vec<String>, Error> {
    let options = &export.plan.launch;
    let host = options.host.as_deref().unwrap_or("127.0.0.1");
    let port = options.port.unwrap_or(PORT);
    let host = if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]")
    } else {
        host.to_owned()
    };
    let mut service = vec![
        "  ollama:".to_owned(),
        format!("    image: {}", image(export)?),
        "    volumes: [\"ollama:/root/.ollama\"]".to_owned(),
        format!("    ports: [{}]", scalar(&format!("{host}:{port}:{PORT}"))?),
    ];
    let environment: Vec<&(String, Word)> = served
        .server
        .environment
        .iter()
        // In its container it listens everywhere, and the port is published.
        .filter(|(name, _)| name != "OLLAMA_HOST")
        .collect();
    if !environment.is_empty() {
        service.push("    environment:".to_owned());
    }
    for (name, value) in environment {
        service.push(format!("      {name}: {}", word(value)?));
    }
    service.extend(accelerator(export.launch.accelerator));
    service.extend(
        [
            "    healthcheck:",
            "      test: [\"CMD\", \"ollama\", \"list\"]",
            "      interval: 5s",
            "      timeout: 5s",
            "      retries: 12",
            "    restart: unless-stopped",
        ]
        .map(str::to_owned),
    );
    Ok(service)
}

/// Hands the GPUs to the container (`docs/docker.mdx`, v0.33.0-rc2).
fn accelerator(vendor: Option<Vendor>) -> Vec<String> {
    let lines: &[&str] = match vendor {
        Some(Vendor::Nvidia) => &[
            "    deploy:",
            "      resources:",
            "        reservations:",
            "          devices:",
            "            - {driver: nvidia, count: all, capabilities: [gpu]}",
        ],
        Some(Vendor::Amd) => &["    devices: [/dev/kfd, /dev/dri]"],
        Some(Vendor::Intel | Vendor::Other) => &["    devices: [/dev/dri]"],
        // Containers have no way to Apple's GPUs.
        Some(Vendor::Apple) | None => &[],
    };
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// A container that does one step once the server answers and the one before is done.
fn one_shot(export: &Export<'_>, served: &Served<'_>, step: &Step) -> Result<Vec<String>, Error> {
    let words = step.arguments.iter().flat_map(|argument| &argument.words);
    let command: Result<Vec<String>, Error> = words
        .map(|argument| {
            if served.names_modelfile(argument) {
                scalar(MODELFILE)
            } else {
                word(argument)
            }
        })
        .collect();
    let mut service = vec![
        format!("  {}:", step.role),
        format!("    image: {}", image(export)?),
        format!("    command: [{}]", command?.join(", ")),
        format!("    environment: {{OLLAMA_HOST: \"ollama:{PORT}\"}}"),
    ];
    let before = served
        .clients
        .iter()
        .take_while(|client| client.role != step.role)
        .last();
    service.push("    depends_on:".to_owned());
    service.push("      ollama: {condition: service_healthy}".to_owned());
    if let Some(before) = before {
        service.push(format!(
            "      {}: {{condition: service_completed_successfully}}",
            before.role
        ));
    } else {
        service.push("    configs:".to_owned());
        service.push(format!(
            "      - {{source: modelfile, target: {MODELFILE}}}"
        ));
        service.extend(mount(export)?);
    }
    service.push("    restart: \"no\"".to_owned());
    Ok(service)
}

/// The files of the model, for the container that sends them to the server.
fn mount(export: &Export<'_>) -> Result<Vec<String>, Error> {
    let source = match &export.launch.model_source {
        ModelSource::Repository(_) => None,
        ModelSource::Path(path) => Some(scalar(&anchored(path))?),
        ModelSource::Asked => {
            let variable = export.launch.variables.first();
            variable.map(|variable| format!("\"${{{0}:?{0} is not set}}\"", variable.name))
        }
    };
    let model = source.map(|source| (source, MODEL.to_owned()));
    let adapters = export.plan.launch.lora_paths.iter().enumerate();
    let adapters: Result<Vec<_>, Error> = adapters
        .map(|(index, path)| Ok((scalar(&anchored(path))?, adapter_at(index))))
        .collect();
    let projector = projector(export).map(|path| scalar(&anchored(path)));
    let projector = projector.transpose()?;
    let projector = projector.map(|source| (source, PROJECTOR.to_owned()));
    let all = model.into_iter().chain(projector).chain(adapters?);
    let mut mounts: Vec<String> = all
        .map(|(source, target)| {
            format!("      - {{type: bind, source: {source}, target: {target}, read_only: true}}")
        })
        .collect();
    if !mounts.is_empty() {
        mounts.insert(0, "    volumes:".to_owned());
    }
    Ok(mounts)
}

/// The projector that the Modelfile names: beside a model that is downloaded it names none.
fn projector<'a>(export: &'a Export<'_>) -> Option<&'a str> {
    let path = export.plan.launch.mmproj_path.as_deref();
    path.filter(|_| !matches!(export.launch.model_source, ModelSource::Repository(_)))
}

/// Only a path that begins with a dot is relative to compose.
fn anchored(path: &str) -> String {
    let bytes = path.as_bytes();
    let drive = bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.get(1) == Some(&b':');
    if path.starts_with(['/', '\\', '.', '~']) || drive {
        path.to_owned()
    } else {
        format!("./{path}")
    }
}

/// The Modelfile, with the file where it is mounted.
fn modelfile(export: &Export<'_>, served: &Served<'_>) -> Result<Vec<String>, Error> {
    let downloads = matches!(export.launch.model_source, ModelSource::Repository(_));
    let mut text = String::new();
    let mut adapters = 0;
    for line in lines(ID, served.modelfile)? {
        match line {
            Line::Whole(line) if line.starts_with(ADAPTER) => {
                text.push_str(ADAPTER);
                text.push_str(&adapter_at(adapters));
                adapters += 1;
            }
            Line::Whole(line) if downloads || !line.starts_with(FROM) => text.push_str(&line),
            // The model comes first.
            Line::Whole(_) | Line::Asked { .. } => {
                text.push_str(FROM);
                text.push_str(if text.contains(MODEL) {
                    PROJECTOR
                } else {
                    MODEL
                });
            }
        }
        text.push('\n');
    }
    Ok(vec![
        "configs:".to_owned(),
        "  modelfile:".to_owned(),
        format!("    content: {}", scalar_of_lines(&text)),
    ])
}

/// The release that the plan names, else the newest there is.
fn image(export: &Export<'_>) -> Result<String, Error> {
    let version = match export.plan.settings.get("engine_version") {
        Some(Value::Text(version)) => version.trim().trim_start_matches(['v', 'V']),
        _ => "latest",
    };
    let tag = match (export.launch.accelerator, version) {
        (Some(Vendor::Amd), "latest") => "rocm".to_owned(),
        (Some(Vendor::Amd), version) => format!("{version}-rocm"),
        (_, version) => version.to_owned(),
    };
    scalar(&format!("ollama/ollama:{tag}"))
}

fn word(word: &Word) -> Result<String, Error> {
    match word {
        Word::Literal(text) => scalar(text),
        Word::Variable(name) => Ok(format!("\"${{{name}:?{name} is not set}}\"")),
    }
}

/// A double-quoted scalar: strings of JSON are strings of YAML; compose fills in after a single dollar sign.
fn scalar(text: &str) -> Result<String, Error> {
    Ok(scalar_of_lines(printable(ID, text)?))
}

fn scalar_of_lines(text: &str) -> String {
    serde_json::Value::from(text.replace('$', "$$")).to_string()
}
